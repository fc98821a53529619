"""The floor of methods with an encoder: its random weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from scale._images import resized
from scale.augment import resize
from scale.methods._base import Learner
from scale.methods._contrastive import PIXEL_MEAN, PIXEL_STD, EncoderLike
from scale.methods._registry import register_method
from scale.methods._seeds import generators
from scale.methods._state import State, flatten, unflatten
from scale.models import ImageShape, build_encoder


@register_method("random")
@dataclass(kw_only=True)
class Random(Learner):
    """Gives the features of the encoder that other methods with this seed start from."""

    learns: ClassVar[bool] = False

    encoder: EncoderLike = "resnet18"
    """Registered name (resnet18, resnet18_cifar, cnn), or in Python any torch.nn.Module."""
    image_side: int | None = None
    """Side that images are brought to; as they come when not given."""

    def _start(self, image_shape: ImageShape) -> None:
        weights = generators(self.seed, 1)[0]  # the first of a contrastive learner's
        shape = resized(image_shape, self.image_side)
        encoder, _ = build_encoder(self.encoder, shape, weights)
        # The same layout too: other layouts round differently.
        encoder = encoder.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.encoder_: torch.nn.Module = encoder.to(self.device).eval()

    def _learn(self, batch: Tensor, labels: Tensor | None) -> None:
        pass

    def _embed(self, batch: Tensor) -> Tensor:
        pixels = resize(batch.to(self.device), self.image_side)
        pixels = pixels.sub_(PIXEL_MEAN).div_(PIXEL_STD)
        h: Tensor = self.encoder_(pixels.contiguous(memory_format=torch.channels_last))
        return h  # (n, d)

    def state_dict(self) -> State:
        return flatten({"encoder": self.encoder_})

    def load_state_dict(self, state: State) -> None:
        unflatten({"encoder": self.encoder_}, state)
