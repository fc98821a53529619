"""One layer of STAM: short- and long-term memory of patches."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from scale.methods.dictionary.patches import nearest_centroid, nearest_of_each, relative_distances

PER_IMAGE = 10  # patches of an image that fill the first memory, and distances of it to store
NEVER, SPARED = -1, torch.iinfo(torch.int64).max


class PatchLayer(nn.Module):
    """Online clustering of the patches of one size.

    Parameters
    ----------
    dim
        Dimension of a patch.
    delta, limit
        Maximum number of centroids in short-term and in long-term memory.
    theta
        Number of images that must choose a short-term centroid to move it to long-term memory.
    alpha
        Step of a chosen short-term centroid towards the patch, from 0 to 1.
    percentile
        Percentile of the last `window` distances; a patch further from all centroids is novel.
    window
        Number of distances to store.

    Attributes
    ----------
    centroids
        (delta + limit, dim): short-term memory first, then long-term memory.
    half_squares
        Half of their squared lengths; infinity for an empty slot.
    chosen
        Number of images that chose each short-term centroid, (delta,).
    last
        Index of the image that chose each short-term centroid last, (delta,); -1 for none.
    promoted
        Number of centroids that have moved to long-term memory.
    recent, measured
        The last distances to the nearest centroid, (window,), and the number of all so far.
    images
        Number of images learned.
    """

    centroids: Tensor
    half_squares: Tensor
    chosen: Tensor
    last: Tensor
    promoted: Tensor
    recent: Tensor
    measured: Tensor
    images: Tensor

    def __init__(
        self,
        dim: int,
        *,
        delta: int,
        limit: int,
        theta: int,
        alpha: float,
        percentile: float,
        window: int,
    ) -> None:
        super().__init__()
        self.delta, self.limit, self.theta = delta, limit, theta
        self.alpha, self.percentile = alpha, percentile
        self.register_buffer("centroids", torch.zeros(delta + limit, dim))
        self.register_buffer("half_squares", torch.full((delta + limit,), torch.inf))
        self.register_buffer("chosen", torch.zeros(delta, dtype=torch.int64))
        self.register_buffer("last", torch.full((delta,), NEVER))
        self.register_buffer("promoted", torch.tensor(0))
        self.register_buffer("recent", torch.zeros(window))
        self.register_buffer("measured", torch.tensor(0))
        self.register_buffer("images", torch.tensor(0))

    @property
    def short_term(self) -> Tensor:
        """The short-term centroids, (at most delta, dim)."""
        return self.centroids[: self.delta][self.last > NEVER]

    @property
    def long_term(self) -> Tensor:
        """The long-term centroids, (at most limit, dim)."""
        return self.centroids[self.delta :][: int(self.promoted)]

    @property
    def threshold(self) -> Tensor:
        """Distance above which a patch is novel."""
        return self.recent[: int(self.measured)].quantile(self.percentile / 100)

    def learn(self, patches: Tensor, generator: torch.Generator) -> None:
        """Learn from the patches of a few images at once, (n, patches, dim)."""
        if self.measured == 0:
            self._fill(patches, generator)
        else:
            self._cluster(patches, generator)
        self.images += len(patches)

    def embed(self, patches: Tensor) -> Tensor:
        """Return the `relative_distances` of long-term centroids, (n, k).

        Without any, it uses short-term centroids.
        """
        long_term = self.long_term
        centroids = long_term if len(long_term) else self.short_term
        if len(centroids) == 0:
            return patches.new_empty(len(patches), 0)
        return relative_distances(patches, centroids)

    def _fill(self, patches: Tensor, generator: torch.Generator) -> None:
        """Fill short-term memory with random patches of each image."""
        order = torch.rand(patches.shape[:2], generator=generator).argsort(1)[:, :PER_IMAGE]
        each = order.shape[1]
        image = torch.arange(len(patches)).repeat_interleave(each)  # (n * each,)
        sample = patches[image, order.flatten()]  # (n * each, dim)
        free = (self.last == NEVER).nonzero()[:, 0]
        slots = free[: len(sample)]
        self._put(slots, sample[: len(slots)])
        self.last[slots] = self.images + image[: len(slots)].to(slots.device)
        if len(slots) == len(free):
            # The first stored distances are those from centroids to the nearest other one.
            some = torch.randperm(self.delta, generator=generator)[: len(self.recent)]
            some = some.to(slots.device)
            half = torch.addmm(
                self.half_squares[: self.delta],
                self.centroids[some],
                self.centroids[: self.delta].T,
                alpha=-1,
            )  # (window, delta)
            half.scatter_(1, some[:, None], torch.inf)
            squares = 2 * (half.amin(1) + self.half_squares[some])
            self._remember(squares.clamp_(min=0).sqrt_())

    def _cluster(self, patches: Tensor, generator: torch.Generator) -> None:
        n, count, dim = patches.shape
        x = patches.reshape(-1, dim)  # (n * count, dim)
        image = torch.arange(n, device=x.device).repeat_interleave(count)
        used = self.delta + len(self.long_term)
        nearest, distances = nearest_centroid(x, self.centroids[:used], self.half_squares[:used])
        threshold = self.threshold
        novel = distances > threshold
        new = novel.nonzero()[:, 0]
        if len(new):
            self._found(x[new], image[new], nearest, threshold)
        known = (~novel).nonzero()[:, 0]
        if len(known):
            self._move(x[known], image[known], nearest[known], distances[known])
        drawn = torch.randint(count, (n, PER_IMAGE), generator=generator).to(x.device)
        self._remember(distances.view(n, count).gather(1, drawn).flatten())
        self._promote(generator)

    def _found(self, x: Tensor, image: Tensor, nearest: Tensor, threshold: Tensor) -> None:
        """Make centroids of novel patches; they replace those chosen least recently."""
        x, image = x[: self.delta], image[: self.delta]
        # All different novel patches of one image make centroids. Patches of later images of the
        # chunk near such a centroid make none: one image at a time, they would have joined it.
        apart = torch.cdist(x, x, compute_mode="donot_use_mm_for_euclid_dist")  # (k, k)
        reach = torch.where(image[:, None] == image, 0, threshold)
        founders = (~(apart <= reach).tril(-1).any(1)).nonzero()[:, 0]
        last = self.last.clone()
        last[nearest[nearest < self.delta]] = SPARED
        slots = last.argsort(stable=True)[: len(founders)]
        slots = slots[last[slots] < SPARED]
        founders = founders[: len(slots)]
        self._put(slots, x[founders])
        self.last[slots] = self.images + image[founders]
        self.chosen[slots] = 1

    def _move(self, x: Tensor, image: Tensor, nearest: Tensor, distances: Tensor) -> None:
        """Move chosen short-term centroids, once per image, to the nearest patch that chose them.

        One weighted sum makes the k steps by alpha of the images of a chunk, in their order.
        """
        n = int(image[-1]) + 1
        winners = nearest_of_each(nearest * n + image, distances)  # by centroid, then by image
        winners = winners[nearest[winners] < self.delta]
        nearest, x = nearest[winners], x[winners]
        self.last.scatter_reduce_(0, nearest, self.images + image[winners], "amax")
        times = nearest.bincount(minlength=self.delta)  # (delta,)
        self.chosen += times
        following = times.cumsum(0)[nearest] - 1 - torch.arange(len(nearest), device=x.device)
        weights = self.alpha * (1 - self.alpha) ** following  # (k,)
        moved = times.nonzero()[:, 0]
        self.centroids[moved] *= ((1 - self.alpha) ** times[moved])[:, None]
        self.centroids.index_add_(0, nearest, weights[:, None] * x)
        self.half_squares[moved] = self.centroids[moved].square().sum(1) / 2

    def _promote(self, generator: torch.Generator) -> None:
        """Move short-term centroids that `theta` images chose to long-term memory.

        A full long-term memory is a reservoir: all centroids so far are in it with equal chance.
        """
        ripe = (self.chosen >= self.theta).nonzero()[:, 0]
        if len(ripe) == 0:
            return
        places = self.promoted + torch.arange(len(ripe), device=ripe.device)
        full = places >= self.limit
        if full.any():
            drawn = torch.rand(len(ripe), generator=generator, dtype=torch.float64)
            drawn = (drawn * (places.cpu() + 1)).long().to(ripe.device)
            places = places.where(~full, drawn)
            # If several drew the same place, the last one gets it.
            places[(places[:, None] == places).triu(1).any(1)] = self.limit
        stays = places < self.limit
        self._put(self.delta + places[stays], self.centroids[ripe[stays]])
        self.promoted += len(ripe)
        self.centroids[ripe] = 0
        self.half_squares[ripe] = torch.inf
        self.last[ripe] = NEVER
        self.chosen[ripe] = 0

    def _put(self, slots: Tensor, centroids: Tensor) -> None:
        self.centroids[slots] = centroids
        self.half_squares[slots] = centroids.square().sum(1) / 2

    def _remember(self, distances: Tensor) -> None:
        window = len(self.recent)
        places = (self.measured + torch.arange(len(distances), device=distances.device)) % window
        self.recent[places[-window:]] = distances[-window:]
        self.measured += len(distances)
