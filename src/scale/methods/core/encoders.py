"""Learners with an encoder: from nothing, from pretrained weights, or a module of the user."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, cast

import msgspec
import torch
import tyro
from torch import Tensor, nn

from scale._errors import DamagedFileError
from scale._images import resized
from scale.methods.core.checks import Count, check_memory
from scale.methods.core.pixels import normalisation
from scale.models import ENCODERS, FORMS, ImageShape, Weights, open_encoder
from scale.models.stages import is_trained

if TYPE_CHECKING:
    from scale.methods.core.learner import Learner as Host

    EncoderLike = str | nn.Module
else:  # the command line takes texts only
    Host = object
    _choices = "|".join([ENCODERS.choices(), *list(FORMS)[1:]])
    EncoderLike = Annotated[str, tyro.conf.arg(metavar=_choices)]


@dataclass(kw_only=True)
class WithEncoder(Host):
    """Adds an encoder to a learner: ``class Mine(WithEncoder, Learner)``.

    `open_encoder` makes it, and `normalise` its input.

    Attributes
    ----------
    weights_
        Facts about the pretrained weights that it started from; None without any.
    pretrained_
        Whether it started from trained weights: `weights_`, or a module that was trained before.
    pixel_mean_, pixel_std_
        Normalisation of pixels in [0, 1] before the encoder, (1, c, 1, 1) each. Grey images become
        three equal channels where c is 3.
    input_side_
        Side that images are resized to for the encoder; None keeps their size.
    view_shape_
        Channels, height and width of the encoder's input.
    output_dim_
        Dimension d of the encoder's features.
    """

    encoder: EncoderLike = "resnet18"
    """The encoder: a registered name, pretrained weights (NETWORK@FILE, hf:OWNER/NAME; see
    `scale encoders`), or in Python any torch.nn.Module from images to features."""
    encoder_side: Count | None = None
    """Side that images are resized to for the encoder. By default the one that suits pretrained
    weights, and else that of the views."""

    weights_ = cast("Weights | None", None)
    pretrained_ = False  # not annotated: it is no parameter

    def open_encoder(
        self, image_shape: ImageShape, usual_side: int | None, generator: torch.Generator
    ) -> nn.Module:
        """Return the encoder, and store the facts about it."""
        if self.encoder_side is not None:
            check_memory(self, "encoder_side", 4 * image_shape[0] * self.encoder_side**2)
        module, self.output_dim_, self.input_side_, self.weights_ = open_encoder(
            self.encoder,
            image_shape,
            generator,
            side=self.encoder_side,
            usual_side=usual_side,
            known=vars(self).get("_known_weights"),
        )
        self.pretrained_ = self.weights_ is not None or self._brings_trained_module()
        channels = image_shape[0] if self.weights_ is None else len(self.weights_.mean)
        self.view_shape_ = resized((channels, *image_shape[1:]), self.input_side_)
        self.pixel_mean_, self.pixel_std_ = normalisation(self.weights_, channels, self.device)
        # Channels-last is the faster layout for small convolutions, on CPUs and on GPUs.
        module = module.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        placed: nn.Module = module.to(self.device)
        return placed

    def _brings_trained_module(self) -> bool:
        if not isinstance(self.encoder, nn.Module):
            return False
        known: bool | None = vars(self).pop("_known_trained", None)  # of a file, for this setup
        return is_trained(self.encoder) if known is None else known

    def normalise(self, pixels: Tensor) -> Tensor:
        """Return the encoder's input from pixels in [0, 1], channels last in memory."""
        ready = (pixels - self.pixel_mean_).div_(self.pixel_std_)  # (n, 1, h, w) becomes 3 channels
        return ready.contiguous(memory_format=torch.channels_last)

    def describe(self) -> dict[str, Any]:
        described = super().describe()
        weights = self.weights_ or vars(self).get("_known_weights")
        if isinstance(self.encoder, nn.Module):
            described["trained_module"] = self.pretrained_
        return described if weights is None else {**described, "weights": weights.to_json()}

    def recall(self, description: Mapping[str, Any]) -> None:
        super().recall(description)
        if isinstance(description.get("trained_module"), bool):
            self._known_trained = description["trained_module"]
        kept = description.get("weights")
        if kept is None:
            return
        try:
            self._known_weights = Weights.from_json(kept)
        except msgspec.ValidationError as error:
            raise DamagedFileError(f"its record of weights is damaged: {error}") from error
