"""Care for pretrained weights: learning that starts from them and does not fall below them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from scale.losses import contrastive_loss, dot_products, stream_and_memory_twins
from scale.methods.core.learner import CHUNK
from scale.methods.core.state import Part, State
from scale.methods.readout.start import DIRECTIONS, FEATURES, FEWEST_IMAGES, VIEWS, fit_start, root
from scale.methods.readout.whitening import Whitening
from scale.models import ImageShape
from scale.models.stages import keep_statistics, train_last_stages

if TYPE_CHECKING:
    from scale.methods.core.replay import Replay as Host
    from scale.methods.dictionary.patch_dictionary import PatchDictionary
    from scale.methods.readout.readout import Readout
else:
    Host = object

SLOWER = 0.1  # factor of the learning rate: 0.03 becomes 0.003
SOFTER = 2.0  # factor of the temperature: 0.1 becomes 0.2
ANCHOR = 5.0  # weight of the loss that keeps features near the start's
CHECK_EVERY = 10  # batches between two looks at which parts help, after the first EARLY
EARLY = (1, 2, 4, 8)  # a first batch may show one class only
CHECKED = 256  # memory images in such a look
PATCH_WEIGHTS = (0.0, 0.5, 1.0, 2.0)
READOUT = 0.7  # length of the read-out block, relative to the features of the encoder


class FromPretrained(Host):
    """What `scale-plus` does differently when its encoder starts from pretrained weights.

    Learning is careful. BatchNorm keeps its statistics, only the last stages learn, the learning
    rate is a tenth and the temperature twice the given one, and features of views are pulled
    towards the start's features of their image, also for images in memory.

    An embedding has three blocks of fixed length: encoder, read-out and patches. The encoder's is
    the mean of the start's and the learned features. The read-out is fitted to the start's features
    of memory images. Every few batches the learner draws views of memory images and looks how many
    find their image. If they find fewer with the learned features than without, it holds back and
    embeds with the start alone. Patches get the least weight with which views find about as many as
    with the best.

    Attributes
    ----------
    trust_
        Weight of the learned features, 0 or 1, and of the patches.
    looked_
        Fraction of views that found their image at the last look: by the start alone, and with the
        learned features.
    """

    if TYPE_CHECKING:  # of the learner
        dictionary_: PatchDictionary | None
        clusters: int
        readout_: Readout

        def _patch_features(self, batch: Tensor) -> Tensor: ...

    def open_encoder(
        self, image_shape: ImageShape, usual_side: int | None, generator: torch.Generator
    ) -> nn.Module:
        module = super().open_encoder(image_shape, usual_side, generator)
        if not self.pretrained_:
            return module
        return train_last_stages(keep_statistics(module))

    def make_optimizer(self) -> torch.optim.Optimizer:
        optimizer = super().make_optimizer()
        if self.pretrained_:
            for group in optimizer.param_groups:
                group["lr"] *= SLOWER
        return optimizer

    def setup_care(self) -> None:
        """Make the state of this class, after the learner's own."""
        self.trust_ = torch.tensor([1.0, 0.0])
        self.looked_ = torch.zeros(2)
        self._of_start: Whitening | None = None  # fitted on demand

    def update_carefully(self, batch: Tensor, labels: Tensor | None) -> None:
        """Make the updates of a batch, and take it into memory."""
        self._of_start = None
        with torch.no_grad():
            start = self.start_features(batch)  # (n, d)
            view = self.augmentation_(batch.to(self.device), self._view_rng)
            columns = {FEATURES: start, VIEWS: self.start_features(view)}
        for stream_views in self.updates(batch):
            memory_views = self.replay_views()
            self.step(self._careful_losses(stream_views, memory_views, start))
        self.remember(batch, labels, columns=columns)

    def look_at_times(self) -> None:
        """Look at times which parts help, and say what was found."""
        due = self.step_ % CHECK_EVERY == 0 or self.step_ + 1 in EARLY
        if len(self.memory_) >= FEWEST_IMAGES and due:
            with torch.no_grad():
                self._look()
        learned, patches = self.trust_.tolist()
        by_start, by_both = (100 * self.looked_).tolist()
        self.diagnostics_ |= {
            "held_back": 1.0 - learned,
            "patch_weight": patches,
            "start_retrieval": by_start,
            "retrieval": by_both,
        }

    def _careful_losses(
        self, stream_views: Tensor, memory_views: Tensor, start: Tensor
    ) -> dict[str, Tensor]:
        """Return NT-Xent and the distance to the start's features of the views' images."""
        n, m = len(stream_views) // 2, len(memory_views) // 2
        h = self.encode_views(torch.cat([stream_views, memory_views]))  # (2(m+n), d)
        self.features_ = h.detach()
        targets = start.repeat(2, 1)
        if m:
            replayed = self.memory_.columns[FEATURES][self.replayed_].to(self.device)
            targets = torch.cat([targets, replayed.repeat(2, 1)])
        positives = stream_and_memory_twins(n, m).to(h.device)
        contrast = contrastive_loss(dot_products(self.projector_(h)), positives, SOFTER * self.tau)
        anchor = 1 - F.cosine_similarity(h, targets).mean()
        return {"loss": contrast + ANCHOR * anchor, "contrast": contrast, "anchor": anchor}

    def embed_carefully(self, batch: Tensor) -> Tensor:
        """Return the embeddings of images, (n, d + 256 + patches)."""
        start = self.start_features(batch)
        learned = self.encode_images(batch) if self.trust_[0] else start
        if len(self.memory_) < FEWEST_IMAGES:
            return self._joined(start, learned, None, None)
        of_start, of_patches = self.fitted_maps()
        patches = None
        if of_patches is not None and self.trust_[1]:
            patches = of_patches(self._patch_features(batch))
        return self._joined(start, learned, of_start(root(start)), patches)

    def _joined(
        self, start: Tensor, learned: Tensor, readout: Tensor | None, patches: Tensor | None
    ) -> Tensor:
        """Return the blocks of an embedding side by side; those that are missing are 0."""
        n = len(start)
        mixed = F.normalize(F.normalize(start) + self.trust_[0] * F.normalize(learned))
        directions = min(DIRECTIONS, self.output_dim_)
        if readout is None:
            readout = start.new_zeros(n, directions)
        blocks = [mixed, READOUT * F.normalize(readout)]
        if self.dictionary_ is not None:
            none = start.new_zeros(n, self.clusters)
            weighed = none if patches is None else self.trust_[1] * F.normalize(patches)
            blocks.append(weighed)
        return F.normalize(torch.cat(blocks, 1))

    def fitted_maps(self) -> tuple[Whitening, Whitening | None]:
        """Return the read-outs of the start's features and of patches, fitted to memory."""
        if self._of_start is None:
            self._of_start = fit_start(self.memory_, self.device)
        return self._of_start, self.readout_.map_of("patches", self.device)

    def _look(self) -> None:
        """Decide by view retrieval in memory whether learned features and patches help."""
        chosen = self._spread(CHECKED)
        images, views = self._views_of(chosen)
        of_start, of_patches = self.fitted_maps()
        start = self.memory_.columns[FEATURES][chosen].to(self.device)
        of_both = [start, self._in_parts(self.start_features, views)]  # of images, and of views
        readout = [READOUT * F.normalize(of_start(root(h))) for h in of_both]
        learned = [self._in_parts(self.encode_images, x) for x in (images, views)]
        alone = [F.normalize(h) for h in of_both]
        mixed = [F.normalize(a + F.normalize(h)) for a, h in zip(alone, learned, strict=True)]
        without = _found(*map(_beside, alone, readout))
        found = _found(*map(_beside, mixed, readout))
        self.trust_[0] = float(found >= without)
        self.trust_[1] = 0.0
        if of_patches is not None:
            patches = [
                F.normalize(of_patches(self._in_parts(self._patch_features, x)))
                for x in (images, views)
            ]
            base = map(_beside, mixed if self.trust_[0] else alone, readout)
            self.trust_[1] = _earned(list(base), patches)
        self.looked_[:] = torch.tensor([without, found])

    def _spread(self, most: int) -> Tensor:
        """Return indices of memory images, evenly spaced: they may be in the stream's order."""
        count = min(most, len(self.memory_))
        return torch.arange(count) * len(self.memory_) // count

    def _views_of(self, chosen: Tensor) -> tuple[Tensor, Tensor]:
        """Return memory images and one view of each, the same in every call."""
        images = self.memory_.images[chosen].to(self.device)
        rng = torch.Generator().manual_seed(2)
        return images, torch.cat([self.augmentation_(x, rng) for x in torch.split(images, CHUNK)])

    @staticmethod
    def _in_parts(features: Callable[[Tensor], Tensor], images: Tensor) -> Tensor:
        return torch.cat([features(part) for part in torch.split(images, CHUNK)])

    def care_parts(self) -> dict[str, Part]:
        """Return the state of this class."""
        return {"trust": self.trust_, "looked": self.looked_}

    def load_state_dict(self, state: State) -> None:
        super().load_state_dict(state)
        if self.pretrained_:
            self._of_start = None


def _beside(left: Tensor, right: Tensor) -> Tensor:
    return torch.cat([left, right], 1)


def _found(images: Tensor, views: Tensor) -> float:
    """Return the fraction of views whose nearest image, by dot product, is their own."""
    nearest = (views @ images.T).argmax(1)
    return float((nearest == torch.arange(len(nearest), device=nearest.device)).float().mean())


def _earned(base: list[Tensor], patches: list[Tensor]) -> float:
    """Return the least weight of patches at which views find about as many as with the best.

    That is, at most one standard error fewer.

    Examples
    --------
    >>> alike, apart = torch.ones(64, 1), torch.eye(64)
    >>> _earned([alike, alike], [apart, apart]), _earned([apart, apart], [alike, alike])
    (0.5, 0.0)
    """
    scores = [
        _found(*(_beside(b, weight * p) for b, p in zip(base, patches, strict=True)))
        for weight in PATCH_WEIGHTS
    ]
    best = max(scores)
    error = math.sqrt(best * (1 - best) / len(base[0]))
    good = (w for w, score in zip(PATCH_WEIGHTS, scores, strict=True) if score >= best - error)
    return next(good)
