"""Memory Storyboard: recent images in segments of time, whose images are positives."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from scale._numbers import Range
from scale.losses import (
    contrastive_loss,
    dot_products,
    label_positives,
    stream_and_memory_twins,
)
from scale.memory.storyboard import SEGMENT, StoryboardMemory, segment_starts
from scale.methods.core.checks import Count, Weight
from scale.methods.core.contrastive import ContrastiveLearner
from scale.methods.core.facts import Costs
from scale.methods.core.learner import CHUNK
from scale.methods.core.registry import register_method
from scale.methods.core.replay import Replay


@register_method("storyboard")
@dataclass(kw_only=True)
class Storyboard(Replay, ContrastiveLearner):
    """Experience replay with two losses: twins, and images of one segment of time.

    The last images are a short memory in the order of time. After each batch it is cut into
    segments where the features change. What leaves it goes to a long memory, a reservoir, and
    keeps its segment. Positives of the second loss are all replayed views of the same segment, on
    a projector of its own. It is made for video; on a shuffled stream, segments mean nothing.

    Read in the released code: the two memories, a tenth of the images in the short one, greedy
    segmentation by the sum of cosine similarities within a segment over its length, a fixed number
    of segments, the second projector, both losses, their equal weights and their temperature. Ours:
    stream images instead of images drawn from the short memory; half of the replayed images from
    each memory, not all from the long one; a long memory of what has left the short one, not of all
    images; segments of 16 images instead of thousands of frames; one encoding of the short memory
    after each batch. The code's later merging of similar segments is left out.

    Attributes
    ----------
    memory_
        Long memory, then short memory.
    heads_
        The second projector, ``segment_projector``.
    diagnostics_
        Losses, and the number of ``segments`` in the short memory.

    References
    ----------
    Yang and Ren (2025), Memory Storyboard: Leveraging Temporal Segmentation for Streaming
    Self-Supervised Learning from Egocentric Videos, CoLLAs.
    """

    memory_policy: ClassVar[str] = "reservoir"  # type: ignore[misc]  # no parameter: both are fixed
    memory_clusters: ClassVar[int] = 1  # type: ignore[misc]
    short_share: Annotated[float, Range(least=0, most=1)] = 0.1
    """Part of memory_size that holds the last images in order."""
    segment_length: Count = 16
    """Mean number of images in a segment. Set it to about the length of a scene."""
    temporal: Weight = 1.0
    """Weight of the loss between images of one segment; 0 gives replay alone."""

    def costs(self) -> Costs:
        return replace(super().costs(), memory=f"{self.memory_size} images with their segments")

    def heads(self) -> dict[str, nn.Module]:
        return {"segment_projector": deepcopy(self.projector_)}

    def make_memory(self) -> StoryboardMemory:
        short = round(self.short_share * self.memory_size)
        return StoryboardMemory(self.memory_size, short, self._memory_rng)

    def learn(self, batch: Tensor, labels: Tensor | None) -> None:
        memory = self.memory_
        assert isinstance(memory, StoryboardMemory)
        for stream_views in self.updates(batch):
            memory_views = self.replay_views()
            segments = torch.empty(0, dtype=torch.int64)
            if len(self.replayed_):
                segments = memory.columns[SEGMENT][self.replayed_]
            self.step(self.losses(stream_views, memory_views, segments.to(self.device)))
        memory.update(batch)
        self.diagnostics_["segments"] = self._segment(memory)

    def _segment(self, memory: StoryboardMemory) -> int:
        """Cut the short memory into segments; return how many."""
        images = memory.images[memory.long :]
        if len(images) == 0:
            return 0
        with torch.no_grad():
            chunks = [self.encode_images(part).cpu() for part in torch.split(images, CHUNK)]
        unit = F.normalize(torch.cat(chunks), dim=1)
        starts = segment_starts(unit @ unit.T, max(1, len(images) // self.segment_length))
        memory.name_segments(starts)
        return len(starts)

    def losses(
        self, stream_views: Tensor, memory_views: Tensor, segments: Tensor
    ) -> dict[str, Tensor]:
        """Return the losses of an update; `segments` are those of the replayed images, (m,)."""
        n, m = len(stream_views) // 2, len(memory_views) // 2
        h = self.encode_views(torch.cat([stream_views, memory_views]))  # (2(m+n), d)
        self.features_ = h.detach()
        dots = dot_products(self.projector_(h))
        twins = stream_and_memory_twins(n, m).to(dots.device)
        frames = contrastive_loss(dots, twins, self.tau)
        if m == 0 or self.temporal == 0:
            return {"loss": frames, "frames": frames}
        of_memory = dot_products(self.heads_["segment_projector"](h[2 * n :]))  # (2m, 2m)
        temporal = contrastive_loss(of_memory, label_positives(segments.repeat(2)), self.tau)
        loss = frames + self.temporal * temporal
        return {"loss": loss, "frames": frames, "temporal": temporal}
