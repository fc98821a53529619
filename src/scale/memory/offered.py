"""A reservoir of the images that a method offers, not of the whole stream."""

from __future__ import annotations

import torch
from torch import Tensor

from scale.memory._buffer import Buffer


class OfferedMemory(Buffer):
    """At most `size` of the images offered so far, each with the same probability.

    Parameters
    ----------
    size
        Maximum number of images.
    generator
        Source of randomness, owned by the caller.

    Attributes
    ----------
    offered
        Number of images offered so far.

    Examples
    --------
    >>> memory = OfferedMemory(3, torch.Generator())
    >>> memory.update(torch.zeros(5, 1, 8, 8, dtype=torch.uint8), torch.arange(5) > 2)
    >>> len(memory), memory.arrivals.tolist(), memory.seen
    (2, [3, 4], 5)
    """

    def __init__(self, size: int, generator: torch.Generator) -> None:
        super().__init__(size, generator)
        self.offered = 0

    def update(self, batch: Tensor, chosen: Tensor) -> None:
        """Count a stream batch, and offer its images that are `chosen`, (n,) boolean."""
        arrivals = torch.arange(self.seen, self.seen + len(batch))
        self.seen += len(batch)
        for i in chosen.nonzero()[:, 0].tolist() if self.size else []:
            self._offer(batch[i : i + 1], arrivals[i : i + 1])

    def _offer(self, image: Tensor, arrival: Tensor) -> None:
        self.offered += 1
        if len(self) < self.size:
            self.images = torch.cat([self.images, image]) if len(self) else image.clone()
            self.arrivals = torch.cat([self.arrivals, arrival])
            return
        place = int(torch.randint(self.offered, (), generator=self.generator))
        if place < self.size:
            self.images[place], self.arrivals[place] = image[0], arrival[0]

    def state_dict(self) -> dict[str, Tensor]:
        """Return the state as tensors by name, without the generator."""
        return {**super().state_dict(), "offered": torch.tensor(self.offered)}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Restore a `state_dict`."""
        super().load_state_dict(state)
        self.offered = int(state["offered"])
