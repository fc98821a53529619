"""A bounded buffer of raw images, and the memory whose policy fills it."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from scale._errors import InputError
from scale.memory._policy import POLICIES, Candidates


class Buffer:
    """At most `size` raw uint8 images of the past.

    It keeps images, not features, because features change while the encoder learns.

    Parameters
    ----------
    size
        Maximum number of images (the paper's M).
    generator
        Source of randomness; owned by the caller.

    Attributes
    ----------
    images
        The images in memory, (len, c, h, w) uint8.
    arrivals
        Position of each image in the stream, (len,).
    columns
        Other values kept with each image, one row per image: labels, features, ...
    seen
        Number of stream images so far.
    """

    def __init__(self, size: int, generator: torch.Generator) -> None:
        if size < 0:
            raise InputError(f"memory_size must be 0 or more, got {size}")
        self.size = size
        self.generator = generator
        self.images = torch.empty(0, dtype=torch.uint8)
        self.arrivals = torch.empty(0, dtype=torch.int64)
        self.columns: dict[str, Tensor] = {}
        self.seen = 0

    def __len__(self) -> int:
        return len(self.images)

    def sample(self, m: int) -> Tensor:
        """Return `m` images drawn without replacement, or all if there are fewer."""
        return self.images[self.draw(m)]

    def draw(self, m: int) -> Tensor:
        """Return the indices of `m` images drawn without replacement, or of all, shuffled."""
        return torch.randperm(len(self), generator=self.generator)[:m]

    def state_dict(self) -> dict[str, Tensor]:
        """Return the state as tensors by name, without the generator."""
        return {
            "images": self.images,
            "arrivals": self.arrivals,
            "seen": torch.tensor(self.seen),
            **{f"columns.{name}": rows for name, rows in self.columns.items()},
        }

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Restore a `state_dict`."""
        self.images = state["images"].clone()
        self.arrivals = state["arrivals"].clone()
        self.columns = {
            name.removeprefix("columns."): rows.clone()
            for name, rows in state.items()
            if name.startswith("columns.")
        }
        self.seen = int(state["seen"])


class Memory(Buffer):
    """A buffer whose images are chosen by a policy.

    Parameters
    ----------
    size
        Maximum number of images (the paper's M).
    policy
        Name of a registered policy.
    generator
        Source of randomness for sampling and for the policy; owned by the caller.
    clusters
        Number of clusters for a policy that clusters.

    Examples
    --------
    >>> memory = Memory(3, "fifo", torch.Generator())
    >>> memory.update(torch.zeros(5, 1, 8, 8, dtype=torch.uint8))
    >>> len(memory), memory.arrivals.tolist()
    (3, [2, 3, 4])
    """

    def __init__(
        self, size: int, policy: str, generator: torch.Generator, clusters: int = 1
    ) -> None:
        super().__init__(size, generator)
        if clusters < 1:
            raise InputError(f"memory_clusters must be 1 or more, got {clusters}")
        self.policy = POLICIES[policy]()
        self.clusters = clusters

    def wants_features(self, n: int) -> bool:
        """Return whether `update` with `n` more images needs features."""
        return self.policy.knows.features and 0 < self.size < len(self) + n

    def update(
        self,
        batch: Tensor,
        features: Tensor | None = None,
        columns: Mapping[str, Tensor] | None = None,
    ) -> None:
        """Add a stream batch; if memory is full, the policy chooses the images to keep.

        Parameters
        ----------
        batch
            Images, (n, c, h, w) uint8.
        features
            Features of memory and batch, in this order, (len + n, d), if `wants_features`.
        columns
            Other values to keep with each image, (n, ...) each. Use the same names every time.
        """
        arrivals = torch.arange(self.seen, self.seen + len(batch))
        self.seen += len(batch)
        if self.size == 0:
            return
        stored = len(self)
        images = torch.cat([self.images, batch]) if stored else batch.clone()
        arrivals = torch.cat([self.arrivals, arrivals])
        rows = {name: self._with(name, new) for name, new in (columns or {}).items()}
        if len(images) > self.size:
            labels = rows.get("labels")
            candidates = Candidates(stored, arrivals, features, labels, self.clusters, rows)
            kept = self.policy(candidates, self.size, self.generator)
            images, arrivals = images[kept], arrivals[kept]
            rows = {name: row[kept] for name, row in rows.items()}
        self.images, self.arrivals, self.columns = images, arrivals, rows

    def _with(self, name: str, new: Tensor) -> Tensor:
        new = new.detach().cpu()
        return torch.cat([self.columns[name], new]) if len(self) else new.clone()
