"""A short memory in segments of time, and a long one that takes what leaves it."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from scale._errors import InputError
from scale.memory._buffer import Memory

SEGMENT = "segment"  # column: which segment of time an image belongs to


class StoryboardMemory(Memory):
    """The last images in order, and a reservoir of all that came before them.

    Parameters
    ----------
    size
        Maximum number of images in both.
    short
        Images of the short memory, at most `size`.
    generator
        Source of randomness, owned by the caller.

    Attributes
    ----------
    long
        Number of images in the long memory; they come first.
    """

    def __init__(self, size: int, short: int, generator: torch.Generator) -> None:
        super().__init__(size, "reservoir", generator)
        if short > size:
            raise InputError(f"the short memory has {short} images, more than all {size}")
        self.short, self.long = short, 0

    def update(
        self,
        batch: Tensor,
        features: Tensor | None = None,
        columns: Mapping[str, Tensor] | None = None,
    ) -> None:
        """Add a stream batch to the short memory; what leaves it goes to the long one."""
        first, self.seen = self.seen, self.seen + len(batch)
        if self.size == 0:
            return
        arrivals = torch.arange(first, self.seen)
        new = {SEGMENT: arrivals, **(columns or {})}
        stored = len(self)
        images = torch.cat([self.images, batch]) if stored else batch.clone()
        arrivals = torch.cat([self.arrivals, arrivals])
        rows = {name: self._with(name, values) for name, values in new.items()}
        leaving = max(0, len(images) - self.long - self.short)
        kept = self._keep(leaving, len(images))
        self.images, self.arrivals = images[kept], arrivals[kept]
        self.columns = {name: values[kept] for name, values in rows.items()}
        self.long = len(kept) - (len(images) - self.long - leaving)

    def _keep(self, leaving: int, total: int) -> Tensor:
        """Return the images to keep: a reservoir of long and leaving ones, then the short ones."""
        room = self.size - self.short
        before = self.long + leaving
        if before <= room:
            return torch.arange(total)
        late = torch.arange(room, before)
        # All images leave in order, so a leaving image's place among them is its arrival.
        gone = self.seen - (total - before)
        t = torch.arange(gone - len(late), gone) + 1
        u = torch.rand(len(late), generator=self.generator, dtype=torch.float64)
        slot = (u * t).long()
        hit = slot < room
        kept = torch.arange(room)
        kept.scatter_reduce_(0, slot[hit], late[hit], "amax")
        return torch.cat([kept, torch.arange(before, total)])

    def draw(self, m: int) -> Tensor:
        """Return the indices of `m` images, half of them of the short memory, shuffled."""
        short = self.long + torch.randperm(len(self) - self.long, generator=self.generator)
        long = torch.randperm(self.long, generator=self.generator)[: m // 2]
        return torch.cat([short[: m - len(long)], long])

    def name_segments(self, starts: Tensor) -> None:
        """Set the segments of the short memory from the indices in it at which they start.

        A segment is named by the arrival of its first image. The first one keeps its name: a part
        of it may be in the long memory.
        """
        names = self.arrivals[self.long + starts].clone()
        names[0] = self.columns[SEGMENT][self.long]
        lengths = torch.diff(starts, append=torch.tensor([len(self) - self.long]))
        self.columns[SEGMENT][self.long :] = names.repeat_interleave(lengths)

    def state_dict(self) -> dict[str, Tensor]:
        """Return the state as tensors by name, without the generator."""
        return {**super().state_dict(), "long": torch.tensor(self.long)}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Restore a `state_dict`."""
        super().load_state_dict(state)
        self.long = int(state["long"])


def segment_starts(similarity: Tensor, segments: int) -> Tensor:
    """Return where segments of time start, from the similarities of images in their order.

    Change points are added one by one, each where it makes the sum over segments of (sum of
    similarities within) / (length) greatest.

    Parameters
    ----------
    similarity
        (n, n).
    segments
        Number of segments; n if there are fewer images.

    Examples
    --------
    >>> kind = torch.tensor([0, 0, 0, 1, 1, 2, 2, 2])
    >>> segment_starts((kind[:, None] == kind).float(), 3).tolist()
    [0, 3, 5]
    """
    n = len(similarity)
    sums = torch.zeros(n + 1, n + 1, dtype=torch.float64)
    sums[1:, 1:] = similarity.double().cumsum(0).cumsum(1)

    def value(begin: Tensor, end: Tensor) -> Tensor:
        total = sums[end, end] - sums[begin, end] - sums[end, begin] + sums[begin, begin]
        return total / (end - begin)

    starts = torch.tensor([0])
    while len(starts) < min(segments, n):
        inner = torch.ones(n, dtype=torch.bool)
        inner[starts] = False
        points = inner.nonzero()[:, 0]
        place = torch.searchsorted(starts, points, right=True)
        begin = starts[place - 1]
        end = torch.cat([starts, torch.tensor([n])])[place]
        gain = value(begin, points) + value(points, end) - value(begin, end)
        starts = torch.cat([starts, points[gain.argmax()][None]]).sort().values
    return starts
