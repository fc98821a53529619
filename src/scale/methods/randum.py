"""The floor of random features: cosines of random projections of the pixels, whitened."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from scale._images import resized
from scale.augment import resize
from scale.methods.core.checks import Count, Positive, check_memory
from scale.methods.core.facts import Costs
from scale.methods.core.learner import Learner
from scale.methods.core.registry import register_method
from scale.methods.core.seeds import generators
from scale.methods.core.state import Part
from scale.methods.dictionary.moments import Moments
from scale.models import ImageShape


@register_method("randum")
@dataclass(kw_only=True)
class RanDumb(Learner):
    """Random Fourier features of the pixels, whitened by the covariance of the stream.

    The features approximate a Gaussian kernel on pixels. Only their mean and covariance are
    learned, exactly and in one pass. The covariance is shrunk towards a multiple of the identity
    (Chen et al.). RanDumb compares an image with the mean of each class by Mahalanobis distance;
    that needs labels, so here evaluation classifies.

    Read in the released code: random Fourier features, the shrinkage, 1000 to 50000 features; its
    command uses 25000. Ours: one covariance of all images, because those within classes need
    labels; features of length 1, because whitening gives rare images so much length that Euclidean
    neighbours mean nothing; 1000 features; a fixed kernel width, which is there one over the
    variance of the data's pixels.

    Attributes
    ----------
    moments_
        Mean and covariance of the features so far.

    References
    ----------
    Prabhu, Sinha, Kumaraguru, Torr, Sener and Dokania (2024), RanDumb: Random Representations
    Outperform Online Continually Learned Representations, NeurIPS.

    Chen, Wiesel, Eldar and Hero (2010), Shrinkage Algorithms for MMSE Covariance Estimation, IEEE
    Transactions on Signal Processing.

    Examples
    --------
    >>> import numpy as np
    >>> images = np.random.default_rng(0).integers(0, 256, (5, 3, 8, 8), dtype=np.uint8)
    >>> RanDumb(features=20).partial_fit(images).transform(images).shape
    (5, 20)
    """

    features: Count = 1000
    """Number of random features. Time to embed grows with its cube."""
    gamma: Positive = 10.0
    """Kernel is exp(-gamma x mean squared difference of pixels). Higher: more local."""
    image_side: Count | None = None
    """Side that images are resized to; by default they keep their size."""

    def costs(self) -> Costs:
        return Costs(memory=f"a {self.features} x {self.features} covariance")

    def setup(self, image_shape: ImageShape) -> None:
        pixels = math.prod(resized(image_shape, self.image_side))
        check_memory(self, "features", 8 * self.features * pixels + 16 * self.features**2)
        rng = generators(self.seed, 1)[0]
        # Frequencies of the kernel: variance 2 gamma / pixels, because it has the mean square.
        # In float64, because whitening would amplify differences of rounding.
        frequencies = torch.randn(pixels, self.features, generator=rng, dtype=torch.float64)
        self.frequencies_ = (math.sqrt(2 * self.gamma / pixels) * frequencies).to(self.device)
        phases = 2 * math.pi * torch.rand(self.features, generator=rng, dtype=torch.float64)
        self.phases_ = phases.to(self.device)
        self.moments_ = Moments(self.features)

    def learn(self, batch: Tensor, labels: Tensor | None) -> None:
        self.moments_.update(self.random_features(batch))

    def random_features(self, batch: Tensor) -> Tensor:
        """Return sqrt(2 / D) cos(w x + b), (n, D): dot products approximate the kernel."""
        pixels = resize(batch.to(self.device), self.image_side).flatten(1).double()
        waves = torch.cos(pixels @ self.frequencies_ + self.phases_)
        return math.sqrt(2 / self.features) * waves

    def embed(self, batch: Tensor) -> Tensor:
        rows = self.random_features(batch).cpu() - self.moments_.mean
        if float(self.moments_.count) < 2:
            return rows.float()
        return F.normalize(rows @ self.whitening(), dim=1).float()  # (n, D)

    def whitening(self) -> Tensor:
        """Return the matrix that whitens centred random features, (D, D)."""
        covariance = shrunk(self.moments_.covariance(), float(self.moments_.count))
        one = torch.eye(self.features, dtype=torch.float64)
        factor = torch.linalg.cholesky(covariance)
        inverse: Tensor = torch.linalg.solve_triangular(factor, one, upper=False)
        return inverse.T.contiguous()

    def parts(self) -> dict[str, Part]:
        return {
            "frequencies": self.frequencies_,
            "phases": self.phases_,
            "moments": self.moments_,
        }


def shrunk(covariance: Tensor, n: float) -> Tensor:
    """Return a covariance of `n` rows shrunk towards a multiple of the identity (OAS).

    Examples
    --------
    >>> shrunk(torch.tensor([[3.0, 0.0], [0.0, 1.0]]), 64)
    tensor([[2.8000, 0.0000],
            [0.0000, 1.2000]])
    """
    dim = len(covariance)
    variance = covariance.diagonal().mean()
    square, of_identity = covariance.square().mean(), variance.square()
    beyond = (n + 1) * (square - of_identity / dim)  # 0 if it is such a multiple already
    share = 1.0 if float(beyond) <= 0 else min(1.0, float((square + of_identity) / beyond))
    identity = torch.eye(dim, dtype=covariance.dtype, device=covariance.device)
    return (1 - share) * covariance + share * variance.clamp(min=1e-12) * identity
