"""Centroids that open for what is far from all of them, allocated at the start."""

from __future__ import annotations

import torch
from torch import Tensor, nn

WEAK, STRONG, BESIDE = 2, 50, 0.007  # support of a centroid to move, of its target, and the step


class Centroids(nn.Module):
    """Running means of rows, with the mean and deviation of the distances to each.

    The nearest centroid takes a row: it moves to the mean of its rows, and the row's distance joins
    its statistics. If the distance D is above mean + (2 exp(-D) + 2) x deviation, a new centroid
    opens at the row. When all slots are taken, it replaces the one with least support, among equals
    the one chosen longest ago.

    Parameters
    ----------
    most
        Maximum number of centroids.
    dim
        Dimension of a row.

    Attributes
    ----------
    points
        (most, dim).
    support, distance, spread
        Rows that each took, and mean and summed squared deviation of their distances, (most,).
    last
        Time at which each was chosen last, (most,).
    count, time
        Number of centroids, and of chunks so far.
    """

    points: Tensor
    support: Tensor
    distance: Tensor
    spread: Tensor
    last: Tensor
    count: Tensor
    time: Tensor

    def __init__(self, most: int, dim: int) -> None:
        super().__init__()
        self.register_buffer("points", torch.zeros(most, dim))
        for name in ("support", "distance", "spread"):
            self.register_buffer(name, torch.zeros(most))
        self.register_buffer("last", torch.zeros(most, dtype=torch.int64))
        self.register_buffer("count", torch.tensor(0))
        self.register_buffer("time", torch.tensor(0))

    def __len__(self) -> int:
        return int(self.count)

    def nearest(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Return the distance of each row to its nearest centroid, and which it is, (n,) each."""
        found = torch.cdist(rows, self.points[: len(self)]).min(dim=1)
        return found.values, found.indices

    @torch.no_grad()
    def start(self, rows: Tensor) -> None:
        """Make the first centroids: the rows that differ from all earlier ones."""
        for row in rows:
            if len(self) == 0 or float(self.nearest(row[None])[0]) > 1e-6:
                self._open(row)

    @torch.no_grad()
    def learn(self, rows: Tensor, *, opens: bool = True, chunk: int = 1) -> Tensor:
        """Learn rows in their order, `chunk` at a time; return which opened a centroid, (n,).

        All rows of a chunk choose among the centroids before it, and each is compared with the
        distances before it. Only later rows that are nearer to a centroid which the chunk has
        opened choose that one.
        """
        opened = [self._learn_chunk(part, opens) for part in torch.split(rows, chunk)]
        return torch.cat(opened) if opened else torch.zeros(0, dtype=torch.bool)

    def _learn_chunk(self, rows: Tensor, opens: bool) -> Tensor:
        self.time += 1
        distance, winner = self.nearest(rows)
        novel = opens & self._is_far(distance, winner)
        opened, order = torch.zeros_like(novel), torch.arange(len(rows), device=rows.device)
        own = torch.full_like(winner, -1)  # the row that opened a row's centroid, or -1
        while bool(novel.any()):
            first = int(novel.nonzero()[0])
            gap = (rows - rows[first]).norm(dim=1)
            joins = (order > first) & (gap < distance)
            distance, own = torch.where(joins, gap, distance), own.masked_fill(joins, first)
            opened[first] = True
            novel &= ~joins & ~opened
        kept = own < 0
        self._move(rows[kept], distance[kept], winner[kept])
        for first in opened.nonzero()[:, 0].tolist():
            place, joined = self._open(rows[first]), own == first
            self._move(rows[joined], distance[joined], winner[joined].fill_(place))
        return opened.cpu()

    def _is_far(self, distance: Tensor, winner: Tensor) -> Tensor:
        """Return whether each distance is unusual for its centroid, itself included, (n,)."""
        total = self.support[winner] + 1
        gap = distance - self.distance[winner]
        mean = self.distance[winner] + gap / total
        deviation = ((self.spread[winner] + gap * (distance - mean)) / total).clamp(min=0).sqrt()
        return distance > mean + (2 * (-distance).exp() + 2) * deviation

    def _move(self, rows: Tensor, distance: Tensor, winner: Tensor) -> None:
        """Add rows to their centroids: support, position, mean and spread of distances."""
        n = len(self.support)
        new = torch.bincount(winner, minlength=n).to(rows)
        total = self.support + new
        some = new > 0
        sums = torch.zeros_like(self.points).index_add_(0, winner, rows)
        share = total.clamp(min=1)[:, None]
        moved = self.points + (sums - new[:, None] * self.points) / share
        self.points[some] = moved[some]
        # Mean and spread of two sets together (Chan et al.).
        mean = torch.zeros_like(new).index_add_(0, winner, distance) / new.clamp(min=1)
        within = torch.zeros_like(new).index_add_(0, winner, (distance - mean[winner]).square())
        gap = mean - self.distance
        between = gap.square() * self.support * new / total.clamp(min=1)
        self.spread[some] += (within + between)[some]
        self.distance[some] += (gap * new / total.clamp(min=1))[some]
        self.support[some] = total[some]
        self.last[some] = self.time

    def _open(self, row: Tensor) -> int:
        """Open a centroid at a row; return its index."""
        most = len(self.points)
        if len(self) < most:
            place = len(self)
            self.count += 1
        else:
            weakest = self.support == self.support.min()
            place = int(self.last.masked_fill(~weakest, torch.iinfo(torch.int64).max).argmin())
        self.points[place] = row
        self.support[place], self.last[place] = 1, self.time
        self.distance[place] = self.spread[place] = 0
        return place

    @torch.no_grad()
    def settle(self, generator: torch.Generator) -> None:
        """Move centroids with almost no support next to random ones with much."""
        held = self.support[: len(self)].cpu()
        weak, strong = (held <= WEAK).nonzero()[:, 0], (held > STRONG).nonzero()[:, 0]
        if len(weak) and len(strong):
            chosen = strong[torch.randint(len(strong), (len(weak),), generator=generator)]
            self.points[weak] = self.points[chosen] + BESIDE

    def forget(self, coordinate: int) -> None:
        """Remove a coordinate from every centroid; its place stays, at zero."""
        self.points[:, coordinate] = 0
