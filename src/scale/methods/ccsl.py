"""CCSL: contrast with a queue of keys, a second queue of replayed keys, and a slow teacher."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import torch
import tyro
from torch import Tensor, nn
from torch.nn import functional as F

from scale.augment import resize
from scale.losses import (
    contrastive_loss,
    dot_products,
    queue_contrast,
    similarity_distillation,
    stream_and_memory_twins,
)
from scale.memory import POLICIES, Memory
from scale.memory.minvar import DEVIATION, MinVar
from scale.methods.core.alignment import follow, make_teacher
from scale.methods.core.checks import Amount, Count, Fraction, Positive, Weight, check_memory
from scale.methods.core.contrastive import ContrastiveLearner
from scale.methods.core.facts import Costs
from scale.methods.core.registry import register_method
from scale.methods.core.replay import Replay
from scale.methods.core.ring import Ring
from scale.methods.core.seeds import generators
from scale.methods.core.state import Part
from scale.models import ImageShape, forward

VIEWS = 6  # random views of an image, beside the plain one, whose features are compared


@register_method("ccsl")
@dataclass(kw_only=True)
class CCSL(Replay, ContrastiveLearner):
    """MoCo with replay: an extra queue of replayed keys, and similarities kept by a slow teacher.

    A query is the projection of one view, its key that of the other view by a momentum encoder.
    Negatives are the keys in a queue. A second contrast of all queries takes the keys in an extra
    queue, which holds replayed images only. A teacher gives the similarities of replayed views and
    plain replayed images, which the learner keeps. Memory keeps the images of each cluster whose
    features change least between views. With `queue` 0, negatives are the other views of the
    update, as in SimCLR; those of the second contrast are the replayed views.

    Read in the released code: losses, queues, teacher, sampling; published for ImageNet, with
    tasks of 200 epochs. Its settings for CIFAR-100 were not found. Ours: every stream batch is a
    task, so the teacher follows after each batch and the key encoder is never reset; extra losses
    begin when memory holds images; a smaller queue, faster momentum and the temperature of the
    other methods here; memory_size / 20 clusters instead of the number of classes. The released
    code is told boundaries and the number of classes; this is told neither.

    Attributes
    ----------
    key_, teacher_
        Slow copies of encoder and projector.
    queue_, extra_
        The last keys of all images, and of replayed ones.

    References
    ----------
    Lin, Wang and Lin (2022), Continual Contrastive Learning for Image Classification, ICME.
    """

    presets: ClassVar = {"simclr": {"queue": 0}}

    memory_policy: Annotated[str | None, tyro.conf.arg(metavar=POLICIES.choices())] = None  # type: ignore[assignment]
    """Which images stay in memory; by default those whose features vary least between views."""
    queue: Amount = 4096
    """Keys that are negatives; 0 takes the other views of the update instead."""
    extra_queue: Count = 256
    """Keys of replayed images that are negatives in the second contrast."""
    key_momentum: Fraction = 0.99
    """Part of the key encoder's weights that an update keeps."""
    teacher_momentum: Fraction = 0.9
    """Part of the teacher's weights that a batch keeps."""
    extra_weight: Weight = 0.1
    """Weight of the second contrast, with replayed images as negatives."""
    distillation: Weight = 0.1
    """Weight of the distance from the teacher's similarities."""
    kappa: Positive = 0.07
    """Temperature of the learner's similarities."""
    kappa_teacher: Positive = 0.04
    """Temperature of the teacher's similarities."""

    def costs(self) -> Costs:
        costs = super().costs()
        keys = f", {self.queue} keys" if self.queue else ""
        return replace(costs, memory=f"{costs.memory}{keys}, a teacher")

    def setup(self, image_shape: ImageShape) -> None:
        super().setup(image_shape)
        for name in ("queue", "extra_queue"):
            check_memory(self, name, 4 * getattr(self, name) * self.projection_dim)
        self.key_ = make_teacher(self.encoder_, self.projector_)
        self.teacher_ = make_teacher(self.encoder_, self.projector_)
        shape, start = (self.projection_dim,), generators(self.seed, 4)[3]
        self.queue_ = Ring(max(1, self.queue), shape).to(self.device)
        self.queue_.push(F.normalize(torch.randn(self.queue, *shape, generator=start), dim=1))
        self.extra_ = Ring(self.extra_queue, shape).to(self.device)

    def make_memory(self) -> Memory:
        if self.memory_policy is not None:
            return super().make_memory()
        memory = Memory(self.memory_size, "reservoir", self._memory_rng)
        memory.policy = MinVar()
        return memory

    @property
    def needs_labels(self) -> bool:
        return self.memory_policy is not None and super().needs_labels

    def learn(self, batch: Tensor, labels: Tensor | None) -> None:
        for stream_views in self.updates(batch):
            self.step(self.losses(stream_views, self.replay_views()))
            follow(self.key_, self.encoder_, self.projector_, self.key_momentum)
        follow(self.teacher_, self.encoder_, self.projector_, self.teacher_momentum)
        columns = {}
        if self.memory_policy is None and self.memory_size > 0:
            columns[DEVIATION] = self.view_deviation(batch)
        self.remember(batch, labels, columns=columns)

    def losses(self, stream_views: Tensor, memory_views: Tensor) -> dict[str, Tensor]:
        """Return the losses of an update; memory views are those of the images `replayed_`."""
        if self.queue == 0:
            found = self._contrast_of_batch(stream_views, memory_views)
        else:
            found = self._contrast_of_queue(stream_views, memory_views)
        if len(memory_views) and self.distillation > 0:
            found["distillation"] = self._distillation(memory_views[: len(memory_views) // 2])
        weights = {"extra": self.extra_weight, "distillation": self.distillation}
        loss = found["contrastive"]
        for name in found.keys() & weights.keys():
            loss = loss + weights[name] * found[name]
        return {"loss": loss, **found}

    def _contrast_of_queue(self, stream_views: Tensor, memory_views: Tensor) -> dict[str, Tensor]:
        (a, b), (c, d) = _halves(stream_views), _halves(memory_views)
        q = self.project_all(torch.cat([a, c]))  # (n + m, 128)
        with torch.no_grad():
            k = self._slow(self.key_, torch.cat([b, d]))
        found = {"contrastive": queue_contrast(q, k, self.queue_.latest(), self.tau)}
        keys = k[len(a) :]  # of replayed images
        if len(keys) and self.extra_weight > 0:
            found["extra"] = queue_contrast(q, k, self.extra_.latest(), self.tau)
        self.queue_.push(k)
        # Before anything is replayed, the extra queue begins with keys of the stream.
        self.extra_.push(keys if len(keys) else k)
        return found

    def _contrast_of_batch(self, stream_views: Tensor, memory_views: Tensor) -> dict[str, Tensor]:
        n, m = len(stream_views) // 2, len(memory_views) // 2
        dots = dot_products(self.project(torch.cat([stream_views, memory_views])))
        twins = stream_and_memory_twins(n, m).to(dots.device)
        found = {"contrastive": contrastive_loss(dots, twins, self.tau)}
        if m and self.extra_weight > 0:
            of_stream = torch.arange(len(dots), device=dots.device) < 2 * n
            replayed = dots.masked_fill(of_stream & ~twins, -torch.inf)  # and each one's twin
            found["extra"] = contrastive_loss(replayed, twins, self.tau)
        return found

    def _distillation(self, views: Tensor) -> Tensor:
        """Return the distance of similarities of replayed views with plain replayed images."""
        plain = self._plain(self.memory_.images[self.replayed_])
        both = torch.cat([views, plain])  # (2m, c, h, w)
        z = self.project_all(both)
        with torch.no_grad():
            past = self._slow(self.teacher_, both)
        m = len(views)
        dots, past_dots = z[:m] @ z[m:].T, past[:m] @ past[m:].T
        return similarity_distillation(dots, past_dots, self.kappa, self.kappa_teacher)

    def project_all(self, views: Tensor) -> Tensor:
        """Return projections, (views, 128), also of a single view, which BatchNorm refuses."""
        return self.project(views if len(views) > 1 else views.repeat(2, 1, 1, 1))[: len(views)]

    def _slow(self, model: nn.Module, views: Tensor) -> Tensor:
        doubled = views if len(views) > 1 else views.repeat(2, 1, 1, 1)
        return forward(model, doubled, self._view_rng)[: len(views)]

    def _plain(self, images: Tensor) -> Tensor:
        return self.normalise(resize(images.to(self.device), self.input_side_))

    @torch.no_grad()
    def view_deviation(self, batch: Tensor) -> Tensor:
        """Return the sum of squares of features of views around their mean direction, (n,)."""
        views = [self._plain(batch)]
        for _ in range(VIEWS // 2):
            views += self.draw_views(batch).chunk(2)
        self.encoder_.eval()
        try:
            features = torch.stack([F.normalize(self.encoder_(view), dim=1) for view in views])
        finally:
            self.encoder_.train()
        centre = F.normalize(features.mean(0), dim=1)  # (n, d)
        return (features - centre).square().sum(dim=(0, 2))

    def parts(self) -> dict[str, Part]:
        return {
            **super().parts(),
            "key": self.key_,
            "teacher": self.teacher_,
            "queue": self.queue_,
            "extra": self.extra_,
        }


def _halves(views: Tensor) -> tuple[Tensor, Tensor]:
    """Return first views and second views, also of none."""
    m = len(views) // 2
    return views[:m], views[m:]
