"""The floor of methods with an encoder: an encoder with random weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from scale.augment import resize
from scale.methods.core.checks import Count
from scale.methods.core.encoders import WithEncoder
from scale.methods.core.learner import Learner
from scale.methods.core.registry import register_method
from scale.methods.core.seeds import generators
from scale.methods.core.state import Part
from scale.models import ImageShape


@register_method("random")
@dataclass(kw_only=True)
class Random(WithEncoder, Learner):
    """The features of the untrained encoder that other methods with this seed start from."""

    learns: ClassVar[bool] = False

    image_side: Count | None = None
    """Side that images are resized to; by default they keep their size."""

    def setup(self, image_shape: ImageShape) -> None:
        weights = generators(self.seed, 1)[0]  # the generator of a contrastive learner's weights
        self.encoder_ = self.open_encoder(image_shape, self.image_side, weights).eval()

    def learn(self, batch: Tensor, labels: Tensor | None) -> None:
        pass

    def embed(self, batch: Tensor) -> Tensor:
        pixels = resize(batch.to(self.device), self.input_side_)
        h: Tensor = self.encoder_(self.normalise(pixels))
        return h  # (n, d)

    def parts(self) -> dict[str, Part]:
        return {"encoder": self.encoder_}
