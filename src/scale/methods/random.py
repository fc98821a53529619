"""The floor of methods with an encoder: an encoder with random weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from scale._images import resized
from scale.augment import resize
from scale.methods.core.contrastive import PIXEL_MEAN, PIXEL_STD, EncoderLike
from scale.methods.core.learner import Learner
from scale.methods.core.registry import register_method
from scale.methods.core.seeds import generators
from scale.methods.core.state import Part
from scale.models import ImageShape, build_encoder


@register_method("random")
@dataclass(kw_only=True)
class Random(Learner):
    """The features of the untrained encoder that other methods with this seed start from."""

    learns: ClassVar[bool] = False

    encoder: EncoderLike = "resnet18"
    """Name of a registered encoder; in Python also any torch.nn.Module from images to features."""
    image_side: int | None = None
    """Side that images are resized to; by default they keep their size."""

    def setup(self, image_shape: ImageShape) -> None:
        weights = generators(self.seed, 1)[0]  # the generator of a contrastive learner's weights
        shape = resized(image_shape, self.image_side)
        encoder, _ = build_encoder(self.encoder, shape, weights)
        # Also the layout of a contrastive learner: other layouts round differently.
        encoder = encoder.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.encoder_: torch.nn.Module = encoder.to(self.device).eval()

    def learn(self, batch: Tensor, labels: Tensor | None) -> None:
        pass

    def embed(self, batch: Tensor) -> Tensor:
        pixels = resize(batch.to(self.device), self.image_side)
        pixels = pixels.sub_(PIXEL_MEAN).div_(PIXEL_STD)
        h: Tensor = self.encoder_(pixels.contiguous(memory_format=torch.channels_last))
        return h  # (n, d)

    def parts(self) -> dict[str, Part]:
        return {"encoder": self.encoder_}
