"""What every method with an encoder, a projector and gradient updates shares."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import torch
from torch import Tensor, nn

from scale._errors import InputError, NonFiniteLossError
from scale.augment import AUGMENTATIONS, resize, two_views
from scale.methods._base import Learner
from scale.methods._checks import check_numbers
from scale.methods._facts import Costs
from scale.methods._seeds import generators
from scale.methods._state import Part, State, flatten, unflatten
from scale.models import ImageShape, build_encoder, build_projector, default_rng

PIXEL_MEAN, PIXEL_STD = 0.5, 0.25  # the same for every stream: nothing is known of it beforehand

if TYPE_CHECKING:
    EncoderLike = str | nn.Module
else:
    EncoderLike = str  # all that the command line can give


@dataclass(kw_only=True)
class ContrastiveLearner(Learner):
    """Encoder, projector, views and optimiser; a method adds its loss.

    Per stream batch of n images, `steps_per_batch` times: each image gets two views, one forward
    pass takes them, and what is replayed beside them, to features h and projections z, `_losses`
    turns them into a loss, and one SGD step follows.

    Attributes
    ----------
    encoder_, projector_, optimizer_
        The parts that learn.
    diagnostics_
        Mean over the updates of the last batch of what `_losses` returned.
    features_
        Features h of the views of the last update, (2(m+n), d).
    """

    encoder: EncoderLike = "resnet18"
    """Registered name (resnet18, resnet18_cifar, cnn), or in Python any torch.nn.Module."""
    projection_dim: int = 128
    """Dimension of z, in which the losses compare."""
    tau: float = 0.1
    """Temperature of the contrastive loss."""
    augmentation: str = "cifar"
    """Law of the random views: cifar, tinyimagenet, tinyimagenet-paper, mnist, digits, none."""
    steps_per_batch: int = 20
    """Updates for each stream batch."""
    views: Literal["once", "anew"] = "anew"
    """Stream views are drawn once per batch and reused, or anew for each update."""
    lr: float = 0.03
    """Learning rate of SGD."""
    momentum: float = 0.9
    """Momentum of SGD."""
    weight_decay: float = 1e-4
    """Weight decay of SGD."""

    def costs(self) -> Costs:
        drawn = 1 if self.views == "once" else self.steps_per_batch
        return Costs(views=2 * drawn, backwards=self.steps_per_batch)

    def _start(self, image_shape: ImageShape) -> None:
        check_numbers(self, "steps_per_batch", "projection_dim", least=1, whole=True)
        check_numbers(self, "lr", "weight_decay", least=0)
        check_numbers(self, "momentum", least=0, most=1)
        check_numbers(self, "tau", above=0)
        if self.views not in ("once", "anew"):
            raise InputError(f"views must be 'once' or 'anew', got {self.views!r}")
        self.augmentation_ = AUGMENTATIONS[self.augmentation]
        weights, self._view_rng, self._memory_rng = generators(self.seed, 3)
        side = self.augmentation_.size
        self._view_shape = image_shape if side is None else (image_shape[0], side, side)
        encoder, self.output_dim_ = build_encoder(self.encoder, self._view_shape, weights)
        projector = build_projector(self.output_dim_, self.projection_dim, weights)
        # On small convolutions channels-last is the faster layout, on CPUs and on GPUs.
        encoder = encoder.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.encoder_: nn.Module = encoder.to(self.device).train()
        self.projector_ = projector.to(self.device).train()
        self._build_heads(weights)
        self.optimizer_ = self._make_optimizer()
        self.diagnostics_: dict[str, float] = {}
        self.features_: Tensor | None = None

    def _make_optimizer(self) -> torch.optim.SGD:
        return torch.optim.SGD(
            self._trained(), lr=self.lr, momentum=self.momentum, weight_decay=self.weight_decay
        )

    def _learn(self, batch: Tensor, labels: Tensor | None) -> None:
        self._before_batch(batch, labels)
        stream_views = self._draw_views(batch)
        totals: dict[str, float] = {}
        for step in range(self.steps_per_batch):
            if step > 0 and self.views == "anew":
                stream_views = self._draw_views(batch)
            losses = self._losses(stream_views, self._memory_views(stream_views), step)
            self._update(losses["loss"])
            for name, value in losses.items():
                totals[name] = totals.get(name, 0.0) + float(value.detach())
        self.diagnostics_ = {name: v / self.steps_per_batch for name, v in totals.items()}
        self._after_batch(batch, labels)

    @abstractmethod
    def _losses(self, stream_views: Tensor, memory_views: Tensor, step: int) -> dict[str, Tensor]:
        """Return ``loss`` and whatever else is worth showing.

        Parameters
        ----------
        stream_views, memory_views
            (2n, c, h, w) and (2m, c, h, w): all first views, then all second ones. Without a
            memory, and in the first batch, m is 0.
        step
            Number of this update within the batch.
        """

    def _before_batch(self, batch: Tensor, labels: Tensor | None) -> None:
        """Do what has to be done once per batch, before its first update."""

    def _after_batch(self, batch: Tensor, labels: Tensor | None) -> None:
        """Do what has to be done once per batch, after its last update."""

    def _after_backward(self) -> None:
        """Add to the gradients what is known without a backward pass."""

    def _memory_views(self, stream_views: Tensor) -> Tensor:
        """Draw views of what is replayed in this update, (2m, c, h, w)."""
        return stream_views[:0]

    def _build_heads(self, weights: torch.Generator) -> None:
        """Make what learns beside encoder and projector, with weights drawn from `weights`."""

    def _trained(self) -> list[nn.Parameter]:
        """Return the parameters that the optimiser changes."""
        return [*self.encoder_.parameters(), *self.projector_.parameters()]

    def _forward(self, views: Tensor) -> Tensor:
        """Return the projections z of views, and keep their features."""
        with default_rng(self._view_rng):  # dropout in a module of the user's own
            h = self.encoder_(views)  # (2(m+n), d)
        self.features_ = h.detach()
        z: Tensor = self.projector_(h)
        return z  # (2(m+n), 128)

    def _draw_views(self, images: Tensor) -> Tensor:
        views = two_views(images.to(self.device), self.augmentation_, self._view_rng)
        return views.sub_(PIXEL_MEAN).div_(PIXEL_STD)

    def _update(self, loss: Tensor) -> None:
        self.optimizer_.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        self._after_backward()
        gradients = [p.grad for p in self._trained() if p.grad is not None]
        size = torch.nn.utils.get_total_norm(gradients)
        # One look at the device tells of both; a NaN loss has a NaN gradient, but not the reverse.
        if not torch.isfinite(loss.detach() + size):
            raise NonFiniteLossError(
                f"the loss became {loss.item()} with a gradient of norm {size.item()}, and this "
                f"update was not made; a learning rate below {self.lr} usually helps"
            )
        self.optimizer_.step()

    def encode(self, images: object) -> np.ndarray:
        """Return the encoder's own features, n x d; `transform` may make others of them."""
        return self._in_chunks(type(self)._encode, images)

    @property
    def embeds_by_encoder(self) -> bool:
        """Whether `transform` gives the encoder's features as they are."""
        return type(self)._embed is ContrastiveLearner._embed

    def _embed(self, batch: Tensor) -> Tensor:
        return self._encode(batch)

    def _encode(self, batch: Tensor) -> Tensor:
        """Return the encoder's features h of checked images or views; changes nothing."""
        pixels = resize(batch.to(self.device), self.augmentation_.size)
        pixels = (pixels - PIXEL_MEAN).div_(PIXEL_STD)
        self.encoder_.eval()
        try:
            h: Tensor = self.encoder_(pixels.contiguous(memory_format=torch.channels_last))
        finally:
            self.encoder_.train()
        return h  # (n, d)

    def _parts(self) -> dict[str, Part]:
        """Everything with a state; a method with more parts adds them."""
        return {
            "encoder": self.encoder_,
            "projector": self.projector_,
            "optimizer": self.optimizer_,
            "view_rng": self._view_rng,
        }

    def state_dict(self) -> State:
        return flatten(self._parts())

    def load_state_dict(self, state: State) -> None:
        unflatten(self._parts(), state)
