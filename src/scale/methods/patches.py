"""Clusters of small patches, learned online without gradients: a floor that is hard to beat."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from scale._errors import InputError
from scale.augment import resize
from scale.memory import Memory
from scale.methods._base import Learner
from scale.methods._contrastive import _generators
from scale.methods._facts import Costs
from scale.methods._images import resized
from scale.methods._moments import Moments
from scale.methods._registry import register_method
from scale.methods._state import Part, State, flatten, unflatten
from scale.methods._windows import windows
from scale.models import ImageShape

CONTRAST = 10 / 255**2  # added to a patch's variance, so that noise in flat patches stays small
DEAD = 0.1  # a centroid with less than this share of the mean count is put elsewhere
RIDGE = 0.1  # added to the features' covariance, relative to their mean variance
ELEMENTS = 2**20  # distances held at once: more leave the processor's cache, at half the speed


@register_method("patches")
@dataclass(kw_only=True)
class Patches(Learner):
    """Gives, for each quadrant of an image, how near its patches come to each centroid.

    Patches are brought to mean 0 and variance 1, whitened, and clustered by k-means in mini-batches
    in which each centroid is the mean of the patches it ever won. A patch at distances z of the
    centroids activates centroid k by max(0, mean(z) - z_k), and activations are averaged over the
    four quadrants.

    Features are whitened by the covariance that those of a random sample of the stream have. The
    sample is kept as images, because its features change while the centroids move; a covariance
    summed up along the stream is worth less.

    Attributes
    ----------
    centroids_
        (K, p), as patches before whitening. Whitening follows the stream and is linear, so the
        whitened mean of patches is the mean of whitened patches, whatever it has become meanwhile.
    counts_
        Patches that each centroid won, (K,).
    patch_moments_
        Mean and covariance of the patches so far.
    memory_
        The sample of the stream.
    diagnostics_
        Of the last batch: mean distance of a patch to its centroid, and centroids put elsewhere.

    References
    ----------
    Coates, Lee and Ng (2011), An Analysis of Single-Layer Networks in Unsupervised Feature
    Learning, AISTATS.

    Examples
    --------
    >>> import numpy as np
    >>> images = np.random.default_rng(0).integers(0, 256, (5, 3, 16, 16), dtype=np.uint8)
    >>> Patches(clusters=10).partial_fit(images).transform(images).shape
    (5, 40)
    """

    clusters: int = 400
    """Centroids (K); there are four features for each."""
    patch_side: int = 6
    """Side of the patches."""
    patches_per_image: int = 16
    """Patches drawn of each stream image to cluster."""
    epsilon: float = 0.1
    """Added to the variances of patches when they are whitened."""
    normalise: bool = True
    """Whiten the features too, and give them length 1."""
    memory_size: int = 1280
    """Most images in the sample by which features are whitened."""
    image_side: int | None = None
    """Side that images are brought to; as they come when not given."""

    def costs(self) -> Costs:
        return Costs(memory=f"{self.clusters} centroids and {self.memory_size} images")

    def _start(self, image_shape: ImageShape) -> None:
        channels, height, width = resized(image_shape, self.image_side)
        for name in ("clusters", "patch_side", "patches_per_image"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} must be 1 or more, got {getattr(self, name)}")
        if self.epsilon <= 0:
            raise InputError(f"epsilon must be above 0, got {self.epsilon}")
        if self.patch_side >= min(height, width):
            raise InputError(
                f"images are {height} x {width}, too small for patches of side {self.patch_side}; "
                "lower patch_side"
            )
        self._rng, self._memory_rng = _generators(self.seed, 2)
        p, K = channels * self.patch_side**2, self.clusters
        self.centroids_ = torch.randn(K, p, generator=self._rng, dtype=torch.float64)
        self.counts_ = torch.zeros(K, dtype=torch.float64)
        self.patch_moments_ = Moments(p)
        self.memory_ = Memory(self.memory_size, "reservoir", self._memory_rng)
        self._whitening: tuple[Tensor, Tensor] | None = None  # of features; made when asked for
        self.diagnostics_: dict[str, float] = {}

    def _learn(self, batch: Tensor, labels: Tensor | None) -> None:
        pixels = resize(batch, self.image_side)
        patches = self._draw_patches(pixels).double()  # (patches, p)
        self.patch_moments_.update(patches)
        whitener = self._whitener()
        reseeded = self._reseed(patches, whitener)
        distance = self._cluster(patches, whitener)
        self.diagnostics_ = {"distance": distance, "reseeded": reseeded}
        self.memory_.update(batch)
        self._whitening = None

    def _draw_patches(self, pixels: Tensor) -> Tensor:
        grid = windows(pixels, self.patch_side)  # (n, rows, columns, c, side, side)
        n, rows, columns = grid.shape[:3]
        image = torch.arange(n).repeat_interleave(self.patches_per_image)  # (patches,)
        row = torch.randint(rows, image.shape, generator=self._rng)
        column = torch.randint(columns, image.shape, generator=self._rng)
        return _normalise(grid[image, row, column].flatten(1))

    def _reseed(self, patches: Tensor, whitener: Tensor) -> int:
        """Put centroids that win next to nothing, at first all, where patches have none near."""
        dead = self.counts_ <= DEAD * self.counts_.mean()
        moved = dead.nonzero()[: len(patches), 0]
        if len(moved) == 0:
            return 0
        weights = patches.new_full((len(patches),), torch.finfo(patches.dtype).eps)
        if not dead.all():
            # As in k-means++: drawn uniformly, they would fall into an empty background once more.
            living = self.centroids_[~dead] @ whitener
            weights += torch.cdist(patches @ whitener, living).amin(1).square()
            # As in scikit-learn's MiniBatchKMeans: a count that keeps them from dying at once.
            self.counts_[moved] = self.counts_[~dead].min()
        chosen = torch.multinomial(weights, len(moved), generator=self._rng)
        self.centroids_[moved] = patches[chosen]
        return len(moved)

    def _cluster(self, patches: Tensor, whitener: Tensor) -> float:
        """Move each centroid to the mean of the patches it ever won."""
        distances = torch.cdist(patches @ whitener, self.centroids_ @ whitener)  # (patches, K)
        nearest, winner = distances.min(1)
        won = F.one_hot(winner, self.clusters).double()  # (patches, K)
        hits = won.sum(0)
        self.counts_ += hits
        moves = won.T @ patches - hits[:, None] * self.centroids_
        self.centroids_ += moves / self.counts_.clamp(min=1)[:, None]
        return float(nearest.mean())

    def _whitener(self) -> Tensor:
        """Return the symmetric whitening matrix of patches, (p, p)."""
        variances, axes = torch.linalg.eigh(self.patch_moments_.covariance())
        whitener: Tensor = (axes * (variances.clamp(min=0) + self.epsilon).rsqrt()) @ axes.T
        return whitener

    def _embed(self, batch: Tensor) -> Tensor:
        features = self._pool(resize(batch, self.image_side))
        if not self.normalise:
            return features  # (n, 4K)
        if self._whitening is None and len(self.memory_):
            self._whitening = self._whiten_sample()
        if self._whitening is not None:
            mean, whitener = self._whitening
            features = (features - mean) @ whitener
        return F.normalize(features)

    def _whiten_sample(self) -> tuple[Tensor, Tensor]:
        """Return the mean of the features and a matrix that whitens them, (4K,) and (4K, 4K)."""
        rows = self._pool(resize(self.memory_.images, self.image_side)).cpu().double()  # (M, 4K)
        mean = rows.mean(0)
        rows -= mean
        covariance = rows.T @ rows / len(rows)
        ridge = RIDGE * covariance.diagonal().mean() + torch.finfo(torch.float32).tiny
        covariance.diagonal().add_(ridge)
        # All whitening matrices give the same distances; the Cholesky factor's is cheap.
        factor = torch.linalg.cholesky(covariance)
        identity = torch.eye(len(factor), dtype=factor.dtype)
        inverse: Tensor = torch.linalg.solve_triangular(factor, identity, upper=False)
        return mean.to(self.device, torch.float32), inverse.T.to(self.device, torch.float32)

    def _pool(self, pixels: Tensor) -> Tensor:
        """Return the activations of the centroids, averaged over quadrants, (n, 4K)."""
        pixels = pixels.to(self.device)
        whitener = self._whitener()
        to_white = whitener.to(self.device, torch.float32)
        centroids = (self.centroids_ @ whitener).to(self.device, torch.float32)  # (K, p)
        rows, columns = (side - self.patch_side + 1 for side in pixels.shape[2:])
        quadrants = _quadrants(rows, columns).to(self.device)  # (4, rows * columns)
        pooled = []
        for part in torch.split(pixels, max(1, ELEMENTS // (rows * columns * self.clusters))):
            patches = windows(part, self.patch_side).reshape(-1, centroids.shape[1])
            distances = _distances(_normalise(patches) @ to_white, centroids)
            active = (distances.mean(1, keepdim=True) - distances).relu_()
            pooled.append(quadrants @ active.view(len(part), rows * columns, -1))  # (n, 4, K)
        return torch.cat(pooled).flatten(1)

    def _parts(self) -> dict[str, Part]:
        return {
            "centroids": self.centroids_,
            "counts": self.counts_,
            "patch_moments": self.patch_moments_,
            "memory": self.memory_,
            "rng": self._rng,
            "memory_rng": self._memory_rng,
        }

    def state_dict(self) -> State:
        return flatten(self._parts())

    def load_state_dict(self, state: State) -> None:
        unflatten(self._parts(), state)
        self._whitening = None


def _normalise(patches: Tensor) -> Tensor:
    """Bring patches, (n, p), to mean 0 and, unless they are flat, to variance 1."""
    centred = patches - patches.mean(1, keepdim=True)
    return centred.div_((centred.square().mean(1, keepdim=True) + CONTRAST).sqrt_())


def _distances(rows: Tensor, centroids: Tensor) -> Tensor:
    """Return Euclidean distances, (n, K), by one matrix product; `torch.cdist` takes longer."""
    squares = rows.square().sum(1, keepdim=True)
    products = torch.addmm(centroids.square().sum(1), rows, centroids.T, alpha=-2)
    return products.add_(squares).clamp_(min=0).sqrt_()


def _quadrants(rows: int, columns: int) -> Tensor:
    """Return the averages over the quadrants of a map as a matrix, (4, rows * columns)."""
    top = torch.arange(rows) < (rows + 1) // 2
    left = torch.arange(columns) < (columns + 1) // 2
    vertical = torch.stack([top, ~top]).float()  # (2, rows)
    horizontal = torch.stack([left, ~left]).float()  # (2, columns)
    members = torch.einsum("ar,bc->abrc", vertical, horizontal).reshape(4, -1)
    return members / members.sum(1, keepdim=True)
