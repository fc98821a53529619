"""Encoder, projector, views and updates: what every method with gradients shares."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
import torch
import tyro
from torch import Tensor, nn

from scale._errors import ContractError, NonFiniteLossError
from scale.augment import AUGMENTATIONS, resize, two_views
from scale.methods.core.checks import check_choice, check_numbers
from scale.methods.core.facts import Costs
from scale.methods.core.learner import Learner
from scale.methods.core.seeds import generators
from scale.methods.core.state import Part, check_trained
from scale.models import ENCODERS, ImageShape, build_encoder, build_projector, default_rng

PIXEL_MEAN, PIXEL_STD = 0.5, 0.25  # fixed: the statistics of a stream are not known in advance

if TYPE_CHECKING:
    EncoderLike = str | nn.Module
else:  # the command line takes names only
    EncoderLike = Annotated[str, tyro.conf.arg(metavar=ENCODERS.choices())]


@dataclass(kw_only=True)
class ContrastiveLearner(Learner):
    """A learner with an encoder and a projector, trained by gradient updates.

    A method defines `learn`. It loops over `updates`, which draws two views of every stream image.
    `project` returns their projections z, and `step` makes one SGD update.

    Attributes
    ----------
    encoder_, projector_, heads_, optimizer_
        The parts that learn.
    output_dim_
        Dimension d of the encoder's features.
    start_encoder_
        The initial encoder: its registered name, or a copy of your own module.
    diagnostics_
        Losses given to `step`, averaged over the updates of the last batch.
    features_
        Encoder features h of the last projected views, (2(m+n), d).
    """

    encoder: EncoderLike = "resnet18"
    """Name of a registered encoder; in Python also any torch.nn.Module from images to features."""
    projection_dim: int = 128
    """Dimension of the projections z that the losses compare."""
    tau: float = 0.1
    """Temperature of the contrastive loss; lower values stress the hardest negatives."""
    augmentation: Annotated[str, tyro.conf.arg(metavar=AUGMENTATIONS.choices())] = "cifar"
    """Preset of random views. Choose changes that do not matter to you: cifar changes colours."""
    steps_per_batch: int = 20
    """Updates for each stream batch. Lower it when images arrive faster than they are learned."""
    views: Literal["once", "anew"] = "anew"
    """Draw views of stream images once per batch, or anew for each update; once is faster."""
    lr: float = 0.03
    """Learning rate of SGD. Lower it if the loss becomes NaN."""
    momentum: float = 0.9
    """Momentum of SGD."""
    weight_decay: float = 1e-4
    """Weight decay of SGD."""

    def costs(self) -> Costs:
        drawn = 1 if self.views == "once" else self.steps_per_batch
        return Costs(views=2 * drawn, backwards=self.steps_per_batch)

    @property
    def image_side(self) -> int | None:
        return AUGMENTATIONS[self.augmentation].size

    def setup(self, image_shape: ImageShape) -> None:
        check_numbers(self, "steps_per_batch", "projection_dim", least=1, whole=True)
        check_numbers(self, "lr", "weight_decay", least=0)
        check_numbers(self, "momentum", least=0, most=1)
        check_numbers(self, "tau", above=0)
        check_choice(self, "views", ("once", "anew"))
        self.augmentation_ = AUGMENTATIONS[self.augmentation]
        weights, self._view_rng = generators(self.seed, 2)
        side = self.augmentation_.size
        self.view_shape_ = image_shape if side is None else (image_shape[0], side, side)
        encoder, self.output_dim_ = build_encoder(self.encoder, self.view_shape_, weights)
        projector = build_projector(self.output_dim_, self.projection_dim, weights)
        # Channels-last is the faster layout for small convolutions, on CPUs and on GPUs.
        encoder = encoder.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.encoder_: nn.Module = encoder.to(self.device).train()
        self.projector_ = projector.to(self.device).train()
        # A copy: the caller may change the module, or give `load` one with other weights.
        self.start_encoder_ = deepcopy(self.encoder)
        if isinstance(self.start_encoder_, nn.Module):
            self.start_encoder_.requires_grad_(False)
        with default_rng(weights):
            heads = self.heads()
        self.heads_ = nn.ModuleDict(heads).to(self.device).train()
        self.optimizer_ = self.make_optimizer()
        self._steps, self._totals = 0, dict[str, float]()  # of the last batch

    def heads(self) -> dict[str, nn.Module]:
        """Return the method's additional modules by name; `heads_` trains and saves them."""
        return {}

    def trained(self) -> list[nn.Parameter]:
        """Return the parameters that updates change."""
        modules = (self.encoder_, self.projector_, self.heads_)
        return [p for module in modules for p in module.parameters() if p.requires_grad]

    def make_optimizer(self) -> torch.optim.Optimizer:
        """Return a fresh optimiser of the trained parameters."""
        return torch.optim.SGD(
            self.trained(), lr=self.lr, momentum=self.momentum, weight_decay=self.weight_decay
        )

    def updates(self, batch: Tensor) -> Iterator[Tensor]:
        """Yield the views of a stream batch, (2n, c, h, w), once for each update.

        First views come before second views. Call `step` exactly once for each update.
        """
        self._steps, self._totals = 0, dict[str, float]()
        stream_views = self.draw_views(batch)
        for step in range(self.steps_per_batch):
            if step > 0 and self.views == "anew":
                stream_views = self.draw_views(batch)
            yield stream_views
            if self._steps != step + 1:
                raise ContractError(
                    f"{type(self).__name__}.learn must call step() exactly once for each of "
                    "updates()"
                )
        self.diagnostics_ = {name: sum_ / self._steps for name, sum_ in self._totals.items()}

    def draw_views(self, images: Tensor) -> Tensor:
        """Return two random views of each image, normalised, (2n, c, h, w)."""
        views = two_views(images.to(self.device), self.augmentation_, self._view_rng)
        return views.sub_(PIXEL_MEAN).div_(PIXEL_STD)

    def no_views(self) -> Tensor:
        """Return views of no image, (0, c, h, w)."""
        return torch.empty(0, *self.view_shape_, device=self.device)

    def encode_views(self, views: Tensor) -> Tensor:
        """Return the encoder's features of views, (views, d), in training mode."""
        with default_rng(self._view_rng):  # for dropout in a user's encoder
            h: Tensor = self.encoder_(views)
        return h

    def project(self, views: Tensor) -> Tensor:
        """Return the projections z of views, (views, projection_dim); store `features_`."""
        h = self.encode_views(views)
        self.features_ = h.detach()
        z: Tensor = self.projector_(h)
        return z

    def step(self, losses: Mapping[str, Tensor]) -> None:
        """Make one update by ``losses["loss"]``; all of `losses` go to `diagnostics_`."""
        self.backward(losses["loss"])
        self.apply_gradients(losses)

    def backward(self, loss: Tensor) -> None:
        """Compute the gradients of a loss."""
        self.optimizer_.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]

    def apply_gradients(self, losses: Mapping[str, Tensor]) -> None:
        """Make the optimiser's step, unless loss or gradients are not finite.

        The losses go to `diagnostics_`. Raises `NonFiniteLossError`.
        """
        loss = losses["loss"].detach()
        gradients = [p.grad for p in self.trained() if p.grad is not None]
        norm = torch.nn.utils.get_total_norm(gradients)
        # One transfer from the device for both: a finite loss may have a NaN gradient.
        if not torch.isfinite(loss + norm):
            raise NonFiniteLossError(
                f"the loss became {loss.item()} with a gradient of norm {norm.item()}, and this "
                f"update was not made; a learning rate below {self.lr} usually helps"
            )
        self.optimizer_.step()
        self._steps += 1
        for name, value in losses.items():
            self._totals[name] = self._totals.get(name, 0.0) + float(value.detach())

    def _check_parts(self) -> None:
        super()._check_parts()
        check_trained(self, self.get_params(), self.optimizer_)

    def embed(self, batch: Tensor) -> Tensor:
        return self.encode_images(batch)

    def encode(self, images: object) -> np.ndarray:
        """Return the encoder's features, n x d; a method's `transform` may return others."""
        return self._in_chunks(type(self).encode_images, images)

    def encode_images(self, batch: Tensor) -> Tensor:
        """Return the encoder's features of checked images, (n, d), in evaluation mode."""
        pixels = resize(batch.to(self.device), self.augmentation_.size)
        pixels = (pixels - PIXEL_MEAN).div_(PIXEL_STD)
        self.encoder_.eval()
        try:
            h: Tensor = self.encoder_(pixels.contiguous(memory_format=torch.channels_last))
        finally:
            self.encoder_.train()
        return h

    @property
    def embeds_by_encoder(self) -> bool:
        """Whether `transform` returns the encoder's features unchanged."""
        return type(self).embed is ContrastiveLearner.embed

    def parts(self) -> dict[str, Part]:
        parts: dict[str, Part] = {
            "encoder": self.encoder_,
            "projector": self.projector_,
            "heads": self.heads_,
            "optimizer": self.optimizer_,
            "view_rng": self._view_rng,
        }
        if isinstance(self.start_encoder_, nn.Module):
            parts["start_encoder"] = self.start_encoder_
        return parts
