"""A memory that groups images around centroids, short-term and long-term."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from scale.memory._balance import rank_in_group
from scale.memory._buffer import Buffer

OWNER = "owner"  # column: which centroid an image belongs to


class CentroidMemory(Buffer):
    """At most `size` raw images, each in the group of the centroid nearest to its features.

    An image starts a short-term centroid if its cosine distance to every centroid exceeds a
    quantile of recent distances. Any other image joins the nearest centroid. A short-term centroid
    moves towards the images that join it, and becomes long-term when its group is full. If there
    are too many short-term centroids, the one joined least recently is dropped. If there are too
    many long-term ones, the two most similar merge. When memory is full, each short-term centroid
    keeps only its oldest image.

    Parameters
    ----------
    size
        Maximum number of images.
    generator
        Source of randomness, owned by the caller.
    each
        Maximum number of images of one centroid; fewer if `size` is small.
    short_share, long_share
        Maximum number of short-term centroids, and of images of long-term ones, as fractions of
        `size`; together below 1.
    rate
        Step of a short-term centroid towards an image that joins it.
    novelty
        The quantile of recent distances above which an image is new.
    window
        Number of recent distances.

    Attributes
    ----------
    centroids
        Running features of each centroid, (centroids, d).
    long
        Whether each centroid is long-term, (centroids,).
    joined
        Stream position of the last image that joined each centroid, (centroids,).
    distances
        Recent distances of images to their nearest centroid, at most `window`.
    """

    def __init__(
        self,
        size: int,
        generator: torch.Generator,
        *,
        each: int = 30,
        short_share: float = 0.04,
        long_share: float = 0.7,
        rate: float = 0.1,
        novelty: float = 0.95,
        window: int = 1000,
    ) -> None:
        super().__init__(size, generator)
        # Long-term images and one for each short-term centroid always fit into `size`.
        self.short_most = max(1, int(short_share * size))
        self.each = max(1, min(each, size - self.short_most))
        self.long_most = max(1, int(long_share * size) // self.each)
        self.rate, self.novelty, self.window = rate, novelty, window
        self.centroids = torch.empty(0, 0)
        self.long = torch.empty(0, dtype=torch.bool)
        self.joined = torch.empty(0, dtype=torch.int64)
        self.distances = torch.empty(0)

    @property
    def owner(self) -> Tensor:
        """The centroid of each image, (len,)."""
        return self.columns.get(OWNER, torch.empty(0, dtype=torch.int64))

    def draw(self, m: int) -> Tensor:
        """Return the indices of `m` images, half of them long-term if there are enough."""
        order = torch.randperm(len(self), generator=self.generator)
        is_long = self.long[self.owner[order]]
        long, short = order[is_long], order[~is_long]
        long = long[: max(m // 2, m - len(short))]
        return torch.cat([long, short[: m - len(long)]])

    def update(self, batch: Tensor, features: Tensor) -> None:
        """Add a stream batch.

        Parameters
        ----------
        batch
            Images, (n, c, h, w) uint8.
        features
            Features of the batch, (n, d).
        """
        arrivals = torch.arange(self.seen, self.seen + len(batch))
        self.seen += len(batch)
        if self.size == 0:
            return
        z = F.normalize(features.detach().cpu(), dim=1)  # (n, d)
        owner = self._assign(z)  # (n,)
        self._move(owner, z, torch.where(self.long, 0.0, self.rate))
        self.joined.scatter_reduce_(0, owner, arrivals, "amax")
        self.images = torch.cat([self.images, batch]) if len(self) else batch.clone()
        self.arrivals = torch.cat([self.arrivals, arrivals])
        self.columns = {OWNER: torch.cat([self.owner, owner])}
        self._limit_each()
        self._promote()
        self._forget_short()
        self._merge_long()
        self._keep_first_of_short()

    def follow(self, places: Tensor, features: Tensor) -> None:
        """Move centroids at most half way to the current features of their replayed images.

        Parameters
        ----------
        places
            Indices of the replayed images, (m,).
        features
            Their features, (m, d).
        """
        if len(places):
            z = F.normalize(features.detach().cpu(), dim=1)
            self._move(self.owner[places], z, 0.5 / self._held())

    def _assign(self, z: Tensor) -> Tensor:
        """Return the centroid of each image, (n,); novel images start new centroids."""
        others = len(self.centroids) == 0  # the very first images have only each other
        alike = z @ F.normalize(z if others else self.centroids, dim=1).T  # (n, centroids)
        if others:
            alike.fill_diagonal_(-torch.inf)
        likeness, owner = alike.max(dim=1)
        distance = 1 - likeness
        threshold = self._threshold(distance)
        owner[(distance > threshold) | others] = -1
        first = []
        while (owner < 0).any():  # once per new centroid
            first.append(int((owner < 0).nonzero()[0]))
            near = 1 - z @ z[first[-1]] <= threshold
            near[first[-1]] = True
            owner[near & (owner < 0)] = len(self.centroids) + len(first) - 1
        self.centroids = z[first] if others else torch.cat([self.centroids, z[first]])
        self.long = torch.cat([self.long, torch.zeros(len(first), dtype=torch.bool)])
        self.joined = torch.cat([self.joined, torch.zeros(len(first), dtype=torch.int64)])
        return owner

    def _threshold(self, distance: Tensor) -> float:
        """Return the novelty threshold from earlier distances, then add these to them."""
        distance = distance[distance.isfinite()]  # a single first image has no distance
        recent = self.distances if len(self.distances) else distance
        self.distances = torch.cat([self.distances, distance])[-self.window :]
        return float(torch.quantile(recent, self.novelty)) if len(recent) else -torch.inf

    def _move(self, owner: Tensor, z: Tensor, rate: Tensor) -> None:
        """Move each centroid towards the mean of its rows of z, by `rate` once for each row."""
        count = torch.bincount(owner, minlength=len(self.centroids))
        total = torch.zeros_like(self.centroids).index_add_(0, owner, z)
        mean = total / count.clamp(min=1)[:, None]  # (centroids, d)
        self.centroids = self.centroids.lerp(mean, (1 - (1 - rate) ** count)[:, None])

    def _held(self) -> Tensor:
        return torch.bincount(self.owner, minlength=len(self.centroids))

    def _limit_each(self) -> None:
        """Let each excess image replace a random one of its centroid, or drop it, by chance 1/2."""
        beyond = rank_in_group(self.owner, -self.arrivals) >= self.each
        chance = torch.rand(len(self), generator=self.generator)
        refused = torch.rand(len(self), generator=self.generator) < 0.5
        chance = chance + beyond.float() - 2 * (beyond & refused).float()
        self._keep(rank_in_group(self.owner, chance) < self.each)

    def _promote(self) -> None:
        self.long |= self._held() >= self.each

    def _forget_short(self) -> None:
        """Drop the short-term centroids that images joined least recently."""
        rank = rank_in_group(self.long.long(), self.joined)
        self._keep_centroids(self.long | (rank < self.short_most))

    def _merge_long(self) -> None:
        """Merge the two most similar long-term centroids while there are too many."""
        while (excess := int(self.long.sum()) - self.long_most) > 0:
            place = self.long.nonzero().flatten()
            unit = F.normalize(self.centroids[place], dim=1)
            alike = (unit @ unit.T).fill_diagonal_(-torch.inf)
            a, b = place[torch.stack(torch.unravel_index(alike.argmax(), alike.shape))]
            self.centroids[a] = (self.centroids[a] + self.centroids[b]) / 2
            self.joined[a] = torch.maximum(self.joined[a], self.joined[b])
            self.columns[OWNER][self.owner == b] = a
            self._keep_centroids(torch.arange(len(self.long)) != b)
            if excess == 1:
                chance = torch.rand(len(self), generator=self.generator)
                self._keep(rank_in_group(self.owner, chance) < self.each)

    def _keep_first_of_short(self) -> None:
        if len(self) > self.size:
            first = rank_in_group(self.owner, -self.arrivals) == 0
            self._keep(self.long[self.owner] | first)

    def _keep(self, images: Tensor) -> None:
        self.images, self.arrivals = self.images[images], self.arrivals[images]
        self.columns = {OWNER: self.owner[images]}

    def _keep_centroids(self, kept: Tensor) -> None:
        self._keep(kept[self.owner])
        self.columns = {OWNER: (kept.cumsum(0) - 1)[self.owner]}
        self.centroids, self.long, self.joined = (
            self.centroids[kept],
            self.long[kept],
            self.joined[kept],
        )

    def state_dict(self) -> dict[str, Tensor]:
        """Return the state as tensors by name, without the generator."""
        return {
            **super().state_dict(),
            "centroids": self.centroids,
            "long": self.long,
            "joined": self.joined,
            "distances": self.distances,
        }

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Restore a `state_dict`."""
        super().load_state_dict(state)
        for name in ("centroids", "long", "joined", "distances"):
            setattr(self, name, state[name].clone())
