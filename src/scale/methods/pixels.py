"""The lowest floor: raw pixels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from scale._images import resized
from scale.augment import resize
from scale.methods.core.checks import Count
from scale.methods.core.learner import Learner
from scale.methods.core.registry import register_method
from scale.models import ImageShape


@register_method("pixels")
@dataclass(kw_only=True)
class Pixels(Learner):
    """The pixels, scaled to [0, 1]; it learns nothing.

    Examples
    --------
    >>> import numpy as np
    >>> Pixels(image_side=4).transform(np.zeros((2, 3, 8, 8), np.uint8)).shape
    (2, 48)
    """

    learns: ClassVar[bool] = False
    seeded: ClassVar[bool] = False

    image_side: Count | None = None
    """Side that images are resized to; by default they keep their size."""

    def setup(self, image_shape: ImageShape) -> None:
        resized(image_shape, self.image_side)  # raises for a wrong image_side

    def learn(self, batch: Tensor, labels: Tensor | None) -> None:
        pass

    def embed(self, batch: Tensor) -> Tensor:
        return resize(batch.to(self.device), self.image_side).flatten(1)  # (n, c * h * w)
