"""Encoder, projector, views and updates: what every method with gradients shares."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, cast

import numpy as np
import torch
import tyro
from torch import Tensor, nn

from scale._errors import ContractError, InputError
from scale.augment import AUGMENTATIONS, resize, two_views
from scale.methods.core.checks import Count, Fraction, Positive, Weight, check_memory
from scale.methods.core.encoders import WithEncoder
from scale.methods.core.facts import Costs
from scale.methods.core.group import Group
from scale.methods.core.learner import Learner
from scale.methods.core.muon import Muon
from scale.methods.core.past import Past
from scale.methods.core.precision import Precision, chosen, compute_in, in_fp32
from scale.methods.core.seeds import generators
from scale.methods.core.state import Part, check_trained
from scale.methods.core.updates import check_finite
from scale.models import ImageShape, build_projector, default_rng, forward


@dataclass(kw_only=True)
class ContrastiveLearner(WithEncoder, Learner):
    """A learner with an encoder and a projector, trained by gradient updates.

    A method defines `learn`. It loops over `updates`, which draws two views of every stream image.
    `project` returns their projections z, and `step` makes one update.

    Attributes
    ----------
    encoder_, projector_, heads_, optimizer_
        The parts that learn.
    precision_
        fp32 or bf16: what `precision` means on this machine.
    start_encoder_
        The initial encoder: its registered name, or a copy of your own or pretrained module.
    diagnostics_
        Losses given to `step`, averaged over the updates of the last batch.
    features_
        Encoder features h of the last projected views, (2(m+n), d).
    group_
        The processes that learn together; None if this one is alone.
    """

    projection_dim: Count = 128
    """Dimension of the projections z that the losses compare."""
    tau: Positive = 0.1
    """Temperature of the contrastive loss; lower values stress the hardest negatives."""
    augmentation: Annotated[str, tyro.conf.arg(metavar=AUGMENTATIONS.choices())] = "cifar"
    """Preset of random views. Choose changes that do not matter to you: cifar changes colours."""
    steps_per_batch: Count = 20
    """Updates for each stream batch. Lower it when images arrive faster than they are learned."""
    views: Literal["once", "anew"] = "anew"
    """Draw views of stream images once per batch, or anew for each update; once is faster."""
    optimizer: Literal["sgd", "muon"] = "sgd"
    """SGD with momentum, or Muon: orthogonal steps, which learn more from each update."""
    lr: Weight = 0.03
    """Learning rate. Lower it if the loss becomes NaN."""
    momentum: Fraction = 0.9
    """Momentum of the optimiser."""
    weight_decay: Weight = 1e-4
    """Weight decay of the optimiser."""
    precision: Precision = "auto"
    """Numbers that encoder and projector multiply in updates. bf16 is faster where the processor
    has it in hardware; auto uses it there. Weights, losses and embeddings are always fp32."""

    group_ = cast("Group | None", None)  # not annotated: it is no parameter

    def costs(self) -> Costs:
        drawn = 1 if self.views == "once" else self.steps_per_batch
        return Costs(views=2 * drawn, backwards=self.steps_per_batch)

    @property
    def image_side(self) -> int | None:
        return AUGMENTATIONS[self.augmentation].size

    def setup(self, image_shape: ImageShape) -> None:
        self.augmentation_ = AUGMENTATIONS[self.augmentation]
        weights, self._view_rng = generators(self.seed, 2)
        encoder = self.open_encoder(image_shape, self.augmentation_.size, weights)
        self.augmentation_ = replace(self.augmentation_, size=self.input_side_)
        # Weights and gradients.
        check_memory(self, "projection_dim", 8 * self.output_dim_ * self.projection_dim)
        projector = build_projector(self.output_dim_, self.projection_dim, weights)
        self.encoder_: nn.Module = encoder.train()
        self.projector_ = projector.to(self.device).train()
        # A copy: the caller may change the module, or give `load` one with other weights.
        self.start_encoder_ = deepcopy(self.encoder if self.weights_ is None else self.encoder_)
        if isinstance(self.start_encoder_, nn.Module):
            self.start_encoder_.to(self.device).eval().requires_grad_(False)
        self.precision_ = chosen(self.precision, self.device)
        for module in (self.encoder_, self.projector_):
            compute_in(module, self.precision_)
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
        lr, momentum, decay = self.lr, self.momentum, self.weight_decay
        if self.optimizer == "muon":
            dtype = torch.bfloat16 if self.precision_ == "bf16" else torch.float32
            return Muon(self.trained(), lr=lr, momentum=momentum, weight_decay=decay, dtype=dtype)
        return torch.optim.SGD(self.trained(), lr=lr, momentum=momentum, weight_decay=decay)

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
        return self.normalise(views)

    def no_views(self) -> Tensor:
        """Return views of no image, (0, c, h, w)."""
        return torch.empty(0, *self.view_shape_, device=self.device)

    def encode_views(self, views: Tensor) -> Tensor:
        """Return the encoder's features of views, (views, d), in training mode."""
        if self.group_ is not None:
            return self.group_.encode(self.encoder_, views)
        return forward(self.encoder_, views, self._view_rng)

    def join(self, group: Group) -> None:
        self.group_ = group
        for part in vars(self).values():
            if isinstance(part, Past):
                part.group = group

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
        check_finite(self, losses["loss"], self.trained())
        self.optimizer_.step()
        self._steps += 1
        for name, value in losses.items():
            self._totals[name] = self._totals.get(name, 0.0) + float(value.detach())

    def describe(self) -> dict[str, Any]:
        described = super().describe()
        return (
            described if self.image_shape_ is None else {**described, "precision": self.precision_}
        )

    def _check_parts(self) -> None:
        super()._check_parts()
        check_trained(self, self.get_params(), self.optimizer_)

    def embed(self, batch: Tensor) -> Tensor:
        return self.encode_images(batch)

    def encode(self, images: object) -> np.ndarray:
        """Return the encoder's features, n x d; a method's `transform` may return others."""
        with self.reading() as still:
            return still._in_chunks(type(self).encode_images, images)

    def encode_images(self, batch: Tensor) -> Tensor:
        """Return the encoder's features of checked images, (n, d), in evaluation mode."""
        pixels = resize(batch.to(self.device), self.input_side_)
        self.encoder_.eval()
        try:
            with in_fp32():
                h: Tensor = self.encoder_(self.normalise(pixels))
        finally:
            self.encoder_.train()
        return h

    def encode_by_start(self, images: object) -> np.ndarray:
        """Return the features, n x d, of the module or the pretrained weights that it began with.

        An encoder that began with random weights is the method `random`.
        """
        with self.reading() as still:
            return still._in_chunks(type(self).start_features, images)

    def start_features(self, batch: Tensor) -> Tensor:
        """Return the start's features of checked images, (n, d)."""
        if not isinstance(self.start_encoder_, nn.Module):
            raise InputError("the encoder began with random weights; use the method random")
        pixels = resize(batch.to(self.device), self.input_side_)
        h: Tensor = self.start_encoder_(self.normalise(pixels))
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
