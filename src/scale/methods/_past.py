"""What every method that compares itself with its own past shares."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from scale.methods._contrastive import ContrastiveLearner
from scale.methods._replay import ReplayLearner
from scale.models import ImageShape


@dataclass(kw_only=True)
class WithPast(ContrastiveLearner):
    """A contrastive learner that keeps encoder and projector as they were before this batch."""

    def _start(self, image_shape: ImageShape) -> None:
        super()._start(image_shape)
        self._model = nn.Sequential(self.encoder_, self.projector_)
        self._past = deepcopy(self._model).eval().requires_grad_(False)
        self._past_stream_h: Tensor | None = None

    def _before_batch(self, batch: Tensor, labels: Tensor | None) -> None:
        super()._before_batch(batch, labels)
        self._past.load_state_dict(self._model.state_dict())
        self._past_stream_h = None

    def _past_z(self, stream_views: Tensor, memory_views: Tensor) -> Tensor:
        """Projections by the model as it was before this batch, (2(m+n), 128)."""
        with torch.no_grad():
            z: Tensor = self._past_projector(self._past_h(stream_views, memory_views))
        return z

    @property
    def _past_projector(self) -> nn.Module:
        return self._past[1]

    def _past_h(self, stream_views: Tensor, memory_views: Tensor) -> Tensor:
        """Features by the encoder as it was before this batch; of reused views only once."""
        encoder = self._past[0]
        if self.views == "anew":
            h: Tensor = encoder(torch.cat([stream_views, memory_views]))
            return h  # (2(m+n), d)
        if self._past_stream_h is None:
            self._past_stream_h = encoder(stream_views)
        if len(memory_views) == 0:
            return self._past_stream_h
        return torch.cat([self._past_stream_h, encoder(memory_views)])


@dataclass(kw_only=True)
class PastLearner(WithPast, ReplayLearner):
    """A replaying learner that keeps encoder and projector as they were before this batch."""
