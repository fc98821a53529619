"""Centroids of small patches, learned online and without gradients."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from scale._errors import InputError
from scale.methods.dictionary.moments import Moments
from scale.methods.dictionary.windows import windows

CONTRAST = 10 / 255**2  # added to a patch's variance, so that noise in flat patches stays small
DEAD = 0.1  # a centroid below this fraction of the mean count is reseeded
SETTLED = 100  # unless it has won this many patches, so that old classes keep their centroids
FEWEST_TO_THIN = 8  # rows and columns of positions; with fewer, all are used
ELEMENTS = 2**20  # distances held at once: more do not fit the processor's cache, at half the speed


class PatchDictionary(nn.Module):
    """Clusters patches of a stream, and returns the activations of the clusters in an image.

    Patches are normalised to mean 0 and variance 1, whitened, and clustered by mini-batch k-means:
    each centroid is the mean of all patches it has won. Centroids are on the CPU in float64,
    because sums over a long stream exceed float32's precision.

    Parameters
    ----------
    image_shape
        Channels, height and width.
    clusters
        Number of centroids (K).
    patch_side
        Side of the patches.
    patches_per_image
        Patches drawn from each stream image.
    epsilon
        Added to the variances of patches before whitening.
    generator
        Draws the patches, and the first centroids.
    thin
        Take activations at every second position only, at half the cost.

    Attributes
    ----------
    centroids
        (K, p), before whitening. Whitening changes along the stream but is linear, so a whitened
        mean of patches is the mean of whitened patches.
    counts
        Patches that each centroid won, (K,).
    moments
        Mean and covariance of the patches so far.
    reseeded
        Indices of the centroids that the last batch moved to other patches.

    References
    ----------
    Coates, Lee and Ng (2011), An Analysis of Single-Layer Networks in Unsupervised Feature
    Learning, AISTATS.
    """

    centroids: Tensor
    counts: Tensor

    def __init__(
        self,
        image_shape: tuple[int, int, int],
        *,
        clusters: int,
        patch_side: int,
        patches_per_image: int,
        epsilon: float,
        generator: torch.Generator,
        thin: bool = False,
    ) -> None:
        super().__init__()
        channels, height, width = image_shape
        named = {
            "clusters": clusters,
            "patch_side": patch_side,
            "patches_per_image": patches_per_image,
        }
        for name, value in named.items():
            if value < 1:
                raise InputError(f"{name} must be 1 or more, got {value}")
        if epsilon <= 0:
            raise InputError(f"epsilon must be above 0, got {epsilon}")
        if patch_side >= min(height, width):
            raise InputError(
                f"images are {height} x {width}, too small for patches of side {patch_side}; "
                "lower patch_side"
            )
        self.patch_side, self.patches_per_image = patch_side, patches_per_image
        self.epsilon, self.generator, self.thin = epsilon, generator, thin
        p = channels * patch_side**2
        self.register_buffer(
            "centroids", torch.randn(clusters, p, generator=generator, dtype=torch.float64)
        )
        self.register_buffer("counts", torch.zeros(clusters, dtype=torch.float64))
        self.moments = Moments(p)
        self.reseeded = torch.empty(0, dtype=torch.int64)

    def learn(self, pixels: Tensor) -> dict[str, float]:
        """Learn from stream images, (n, c, h, w) in [0, 1].

        Returns
        -------
        dict
            Mean distance of a patch to its centroid, and the number of reseeded centroids.
        """
        patches = self._draw(pixels).double()  # (patches, p)
        self.moments.update(patches)
        whitener = self._whitener()
        self.reseeded = self._reseed(patches, whitener)
        return {"distance": self._cluster(patches, whitener), "reseeded": len(self.reseeded)}

    def activations(self, pixels: Tensor) -> Tensor:
        """Return the activations of the centroids, averaged over the quadrants of each image.

        A patch at distances z from the centroids activates centroid k by max(0, mean(z) - z_k).

        Parameters
        ----------
        pixels
            (n, c, h, w) in [0, 1], on any device.

        Returns
        -------
        Tensor
            (n, 4K).
        """
        device, side = pixels.device, self.patch_side
        whitener = self._whitener()
        to_white = whitener.to(device, torch.float32)
        centroids = (self.centroids @ whitener).to(device, torch.float32)  # (K, p)
        rows, columns = (length - side + 1 for length in pixels.shape[2:])
        thin = self.thin and min(rows, columns) >= FEWEST_TO_THIN
        averages = _averages(rows, columns, thin).to(device)  # (4, positions)
        positions = averages.shape[1]
        pooled = []
        for part in torch.split(pixels, max(1, ELEMENTS // (positions * len(centroids)))):
            patches = _patches(part, side, thin).reshape(-1, centroids.shape[1])
            distances = _distances(_normalise(patches) @ to_white, centroids)
            active = torch.sub(distances.mean(1, keepdim=True), distances, out=distances).relu_()
            pooled.append(averages @ active.view(len(part), positions, -1))  # (n, 4, K)
        return torch.cat(pooled).flatten(1)

    def columns(self, centroids: Tensor) -> Tensor:
        """Return the columns of `activations` that belong to centroids, (4 * len,)."""
        return (torch.arange(4)[:, None] * len(self.centroids) + centroids).flatten()

    def _draw(self, pixels: Tensor) -> Tensor:
        grid = windows(pixels, self.patch_side)  # (n, rows, columns, c, side, side)
        n, rows, columns = grid.shape[:3]
        image = torch.arange(n).repeat_interleave(self.patches_per_image)  # (patches,)
        row = torch.randint(rows, image.shape, generator=self.generator)
        column = torch.randint(columns, image.shape, generator=self.generator)
        return _normalise(grid[image, row, column].flatten(1))

    def _reseed(self, patches: Tensor, whitener: Tensor) -> Tensor:
        """Move centroids that win few patches, at first all, to patches far from the others.

        Return their indices.
        """
        dead = self.counts <= (DEAD * self.counts.mean()).clamp(max=SETTLED)
        moved = dead.nonzero()[: len(patches), 0]
        if len(moved) == 0:
            return moved
        weights = patches.new_full((len(patches),), torch.finfo(patches.dtype).eps)
        if not dead.all():
            # As in k-means++: a uniform draw would pick empty background again.
            living = self.centroids[~dead] @ whitener
            weights += torch.cdist(patches @ whitener, living).amin(1).square()
            # As in scikit-learn's MiniBatchKMeans: this count keeps them for a while.
            self.counts[moved] = self.counts[~dead].min()
        chosen = torch.multinomial(weights, len(moved), generator=self.generator)
        self.centroids[moved] = patches[chosen]
        return moved

    def _cluster(self, patches: Tensor, whitener: Tensor) -> float:
        """Move each centroid to the mean of all patches it has won."""
        distances = torch.cdist(patches @ whitener, self.centroids @ whitener)  # (patches, K)
        nearest, winner = distances.min(1)
        won = F.one_hot(winner, len(self.centroids)).double()  # (patches, K)
        hits = won.sum(0)
        self.counts += hits
        moves = won.T @ patches - hits[:, None] * self.centroids
        self.centroids += moves / self.counts.clamp(min=1)[:, None]
        return float(nearest.mean())

    def _whitener(self) -> Tensor:
        """Return the symmetric whitening matrix of patches, (p, p)."""
        variances, axes = torch.linalg.eigh(self.moments.covariance())
        whitener: Tensor = (axes * (variances.clamp(min=0) + self.epsilon).rsqrt()) @ axes.T
        return whitener


def dictionary_bytes(clusters: int, channels: int, patch_side: int) -> int:
    """Return the bytes that centroids, and the covariance of their 4K activations, need at least.

    Examples
    --------
    >>> dictionary_bytes(400, channels=3, patch_side=6)
    20825600
    """
    return 8 * clusters * (channels * patch_side**2 + 16 * clusters)


def _normalise(patches: Tensor) -> Tensor:
    """Normalise patches, (n, p), to mean 0 and, unless they are flat, variance 1."""
    centred = patches - patches.mean(1, keepdim=True)
    return centred.div_((centred.square().mean(1, keepdim=True) + CONTRAST).sqrt_())


def _distances(rows: Tensor, centroids: Tensor) -> Tensor:
    """Return Euclidean distances, (n, K), by one matrix product; `torch.cdist` is slower."""
    squares = rows.square().sum(1, keepdim=True)
    products = torch.addmm(centroids.square().sum(1), rows, centroids.T, alpha=-2)
    return products.add_(squares).clamp_(min=0).sqrt_()


def _patches(pixels: Tensor, side: int, thin: bool) -> Tensor:
    """Return patches, (n, positions, c, side, side); if `thin`, at every second position."""
    if not thin:
        return windows(pixels, side).flatten(1, 2)
    # The black fields of a chessboard: even rows and columns, then odd ones.
    fields = (windows(pixels[:, :, i:, i:], side, 2).flatten(1, 2) for i in range(2))
    return torch.cat(list(fields), 1)


def _averages(rows: int, columns: int, thin: bool) -> Tensor:
    """Return averages over the quadrants of a map as a matrix, (4, positions); see `_patches`."""
    top = torch.arange(rows) < (rows + 1) // 2
    left = torch.arange(columns) < (columns + 1) // 2
    vertical = torch.stack([top, ~top]).float()  # (2, rows)
    horizontal = torch.stack([left, ~left]).float()  # (2, columns)
    members = torch.einsum("ar,bc->abrc", vertical, horizontal).flatten(0, 1)
    fields = [members[:, i::2, i::2] for i in range(2)] if thin else [members]
    members = torch.cat([field.flatten(1) for field in fields], 1)
    return members / members.sum(1, keepdim=True)
