"""Principal components of the pixels, updated along the stream."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from scale._images import resized
from scale.augment import resize
from scale.methods.core.checks import Count, check_memory
from scale.methods.core.learner import Learner
from scale.methods.core.registry import register_method
from scale.methods.core.seeds import generators
from scale.methods.core.state import Part
from scale.models import ImageShape

UNSEEN = 1e-6  # singular value of a direction that no image has confirmed yet


@register_method("pca")
@dataclass(kw_only=True)
class PCA(Learner):
    """Coordinates of the pixels along their first principal components.

    A singular value decomposition merges each batch with the components so far, as in
    scikit-learn's ``IncrementalPCA``, but batches may have any size. The components start as random
    orthonormal directions with almost no weight; the stream replaces them.

    Attributes
    ----------
    components_
        Orthonormal rows, (k, c * h * w). All three attributes are on the CPU in float64.
    singular_values_
        Singular values of the components, (k,), largest first.
    mean_
        Mean image, (c * h * w,).

    References
    ----------
    Ross, Lim, Lin and Yang (2008), Incremental Learning for Robust Visual Tracking, IJCV.

    Examples
    --------
    >>> import numpy as np
    >>> images = np.random.default_rng(0).integers(0, 256, (5, 3, 8, 8), dtype=np.uint8)
    >>> PCA(components=4).partial_fit(images).transform(images).shape
    (5, 4)
    """

    components: Count = 64
    """Maximum number of components; at most the number of pixels."""
    image_side: Count | None = None
    """Side that images are resized to; by default they keep their size."""

    def setup(self, image_shape: ImageShape) -> None:
        channels, height, width = resized(image_shape, self.image_side)
        d = channels * height * width
        k = min(self.components, d)
        check_memory(self, "components", 8 * d * k)
        draws = torch.randn(d, k, generator=generators(self.seed, 1)[0], dtype=torch.float64)
        self.components_ = torch.linalg.qr(draws).Q.T.contiguous()  # (k, d)
        self.singular_values_ = torch.full((k,), UNSEEN, dtype=torch.float64)
        self.mean_ = torch.zeros(d, dtype=torch.float64)
        self.seen_ = torch.zeros((), dtype=torch.float64)

    def learn(self, batch: Tensor, labels: Tensor | None) -> None:
        pixels = resize(batch, self.image_side).flatten(1).double()  # (n, d)
        n, seen = len(pixels), self.seen_
        mean = pixels.mean(0)
        shift = (mean - self.mean_) * (seen * n / (seen + n)).sqrt()
        past = self.singular_values_[:, None] * self.components_  # (k, d)
        rows = torch.cat([past, pixels - mean, shift[None]])  # (k + n + 1, d)
        _, values, directions = torch.linalg.svd(rows, full_matrices=False)
        k = len(self.components_)
        self.components_.copy_(_with_fixed_signs(directions[:k]))
        self.singular_values_.copy_(values[:k].clamp(min=UNSEEN))
        self.mean_ += (mean - self.mean_) * (n / (seen + n))
        self.seen_ += n

    def embed(self, batch: Tensor) -> Tensor:
        pixels = resize(batch.to(self.device), self.image_side).flatten(1)
        components = self.components_.to(self.device, torch.float32)
        centred: Tensor = pixels - self.mean_.to(self.device, torch.float32)
        features: Tensor = centred @ components.T
        return features  # (n, k)

    def parts(self) -> dict[str, Part]:
        return {
            "components": self.components_,
            "singular_values": self.singular_values_,
            "mean": self.mean_,
            "seen": self.seen_,
        }


def _with_fixed_signs(directions: Tensor) -> Tensor:
    """Return rows with a positive largest entry: a decomposition does not fix the sign."""
    largest = directions.abs().argmax(1, keepdim=True)
    return directions * directions.gather(1, largest).sign()
