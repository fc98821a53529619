"""The floor of pretrained encoders: their features, without learning."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, cast

import torch.nn.functional as F
import tyro
from torch import Tensor, nn

from scale.augment import AUGMENTATIONS, resize
from scale.memory import Memory
from scale.methods.core.checks import Count, check_memory
from scale.methods.core.encoders import WithEncoder
from scale.methods.core.facts import Costs
from scale.methods.core.learner import Learner
from scale.methods.core.registry import register_method
from scale.methods.core.seeds import generators
from scale.methods.core.state import Part, State
from scale.methods.readout.start import FEATURES, FEWEST_IMAGES, VIEWS, fit_start, root
from scale.methods.readout.whitening import Whitening
from scale.models import ImageShape


@register_method("frozen")
@dataclass(kw_only=True)
class Frozen(WithEncoder, Learner):
    """The features of the encoder as it starts, scaled to length 1.

    With pretrained weights it is the floor of every learner that starts from them. Euclidean
    distances of features of length 1 are in the order of cosines, which suit them better.

    Attributes
    ----------
    memory_
        With `readout`, a sample of the stream, and the features of its images.

    Examples
    --------
    >>> import numpy as np
    >>> images = np.random.default_rng(0).integers(0, 256, (20, 1, 28, 28), dtype=np.uint8)
    >>> learner = Frozen(encoder="cnn", readout=True, augmentation="mnist")
    >>> learner.partial_fit(images).transform(images).shape
    (20, 128)
    """

    learns: ClassVar[bool] = False

    readout: bool = False
    """Pass the features through a read-out: linear discriminant analysis of memory images, each its
    own class. The read-out learns from the stream, the encoder does not."""
    augmentation: Annotated[str, tyro.conf.arg(metavar=AUGMENTATIONS.choices())] = "cifar"
    """Preset of the random views that fit the read-out."""
    memory_size: Count = 1280
    """Maximum number of images in memory, which fit the read-out."""

    memory_ = cast("Memory", None)

    def costs(self) -> Costs:
        if not self.readout:
            return Costs()
        return Costs(memory=f"{self.memory_size} images and their features", views=1)

    @property
    def image_side(self) -> int | None:
        return AUGMENTATIONS[self.augmentation].size

    def setup(self, image_shape: ImageShape) -> None:
        check_memory(self, "memory_size", self.memory_size * math.prod(image_shape))
        weights, *others = generators(self.seed, 3)
        encoder = self.open_encoder(image_shape, self.image_side, weights)
        self.encoder_: nn.Module = encoder.eval().requires_grad_(False)
        self.augmentation_ = replace(AUGMENTATIONS[self.augmentation], size=self.input_side_)
        self._map: Whitening | None = None  # fitted on demand
        if self.readout:
            self._view_rng, self._memory_rng = others
            self.memory_ = Memory(self.memory_size, "reservoir", self._memory_rng)

    def learn(self, batch: Tensor, labels: Tensor | None) -> None:
        if not self.readout:
            return
        self._map = None
        views = self.augmentation_(batch.to(self.device), self._view_rng)
        columns = {FEATURES: self._features(batch), VIEWS: self._features(views)}
        self.memory_.update(batch, None, columns)

    def embed(self, batch: Tensor) -> Tensor:
        h = self._features(batch)
        if self.readout and len(self.memory_) >= FEWEST_IMAGES:
            if self._map is None:
                self._map = fit_start(self.memory_, self.device)
            h = self._map(root(h))
        return F.normalize(h)  # (n, d)

    def _features(self, batch: Tensor) -> Tensor:
        h: Tensor = self.encoder_(self.normalise(resize(batch.to(self.device), self.input_side_)))
        return h

    def parts(self) -> dict[str, Part]:
        parts: dict[str, Part] = {"encoder": self.encoder_}
        if self.readout:
            parts |= {"memory": self.memory_}
            parts |= {"view_rng": self._view_rng, "memory_rng": self._memory_rng}
        return parts

    def load_state_dict(self, state: State) -> None:
        super().load_state_dict(state)
        self._map = None
