"""What every method that replays images from a memory shares."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from scale._errors import InputError
from scale.memory import Memory
from scale.methods._base import CHUNK
from scale.methods._contrastive import ContrastiveLearner
from scale.methods._state import Part
from scale.models import ImageShape


@dataclass(kw_only=True)
class ReplayLearner(ContrastiveLearner):
    """A contrastive learner with a memory: m of its images are replayed in each update.

    After the updates of a batch the memory takes it in, and its policy decides what stays.

    Attributes
    ----------
    memory_
        The images of the past.
    """

    memory_size: int = 1280
    """Most images kept in memory (the paper's M)."""
    memory_batch: int = 128
    """Images drawn from memory for each update (the paper's m)."""
    memory_policy: str = "reservoir"
    """Which images stay in memory: psa, random, reservoir, fifo."""

    def _start(self, image_shape: ImageShape) -> None:
        if self.memory_batch < 0:
            raise InputError(f"memory_batch must be 0 or more, got {self.memory_batch}")
        super()._start(image_shape)
        self.memory_ = Memory(self.memory_size, self.memory_policy, self._memory_rng)

    def _memory_views(self, stream_views: Tensor) -> Tensor:
        replayed = self.memory_.sample(self.memory_batch)
        return self._draw_views(replayed) if len(replayed) else stream_views[:0]

    def _after_batch(self, batch: Tensor) -> None:
        features = None
        if self.memory_.wants_features(len(batch)):
            candidates = torch.cat([self.memory_.images, batch])
            with torch.no_grad():
                features = torch.cat([self._embed(c) for c in torch.split(candidates, CHUNK)])
        self.memory_.update(batch, features)

    def _parts(self) -> dict[str, Part]:
        return {**super()._parts(), "memory": self.memory_, "memory_rng": self._memory_rng}
