"""Batches of a finished run's stream, class by class and mixed, with images from its memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from scale.methods import Replay
from scale.streams import Stream

MEMORY_BATCH = 128

Kind = Literal["class-ordered", "iid"]
Positions = NDArray[np.int64]


@dataclass(frozen=True)
class Batch:
    """The views of one update, and the labels, which no learner sees."""

    kind: Kind
    views: Tensor
    """Two views of n stream images, then two of m replayed ones, (2(m+n), c, h, w)."""
    labels: Tensor
    """Class of each stream image, (n,)."""

    @property
    def n(self) -> int:
        """Number of stream images."""
        return len(self.labels)

    @property
    def m(self) -> int:
        """Number of replayed images."""
        return len(self.views) // 2 - self.n


def draw_batches(
    learner: Replay, stream: Stream, labels: NDArray[np.int64], count: int, images: int
) -> Iterator[Batch]:
    """Yield equally many class-ordered and iid batches.

    Parameters
    ----------
    learner
        Its memory is replayed, and its augmentation makes the views.
    stream
        The stream that the learner was trained on.
    labels
        Class of each image in the order of the stream.
    count
        Batches of each kind; fewer when the stream has fewer of one class.
    images
        Images in a batch; fewer when the smallest class has fewer.
    """
    n = min(images, int(np.unique(labels, return_counts=True)[1].min()))
    m = min(MEMORY_BATCH, max(0, len(learner.memory_) - n))
    generator = torch.Generator().manual_seed(learner.seed)
    ordered = class_ordered(labels, n, count)
    mixed = torch.randperm(len(labels), generator=generator).numpy()
    kinds: dict[Kind, list[Positions]] = {
        "class-ordered": ordered,
        "iid": np.split(mixed[: n * len(ordered)], len(ordered)),
    }
    for kind, drawn in kinds.items():
        for positions in drawn:
            new = torch.from_numpy(stream.images[stream.order[positions]])
            replayed = _replay(learner, positions, m, generator)
            views = [learner.draw_views(part) for part in (new, replayed) if len(part)]
            yield Batch(kind, torch.cat(views), torch.from_numpy(labels[positions]))


def class_ordered(labels: NDArray[np.int64], n: int, count: int) -> list[Positions]:
    """Return the positions of `count` batches of `n` images of one class, spread over the stream.

    Classes come in the order of their first image, also if the stream mixes them.
    """
    found = []
    for label in dict.fromkeys(labels.tolist()):
        places = np.flatnonzero(labels == label)
        found += [places[first : first + n] for first in range(0, len(places) - n + 1, n)]
    spread = np.linspace(0, len(found) - 1, min(count, len(found))).round().astype(int)
    return [found[i] for i in spread]


def _replay(learner: Replay, positions: Positions, m: int, generator: torch.Generator) -> Tensor:
    """Return m random images of the memory that are not in the batch."""
    memory = learner.memory_
    others = torch.isin(memory.arrivals, torch.from_numpy(positions), invert=True).nonzero()[:, 0]
    return memory.images[others[torch.randperm(len(others), generator=generator)[:m]]]
