"""Pseudo labels: clusters of the old model's features become classes for the new one."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from scale.losses import similarity_distillation
from scale.memory.kmeans import kmeans_clusters
from scale.methods.core.checks import Count, Fraction, Positive, check_memory
from scale.methods.core.contrastive import ContrastiveLearner
from scale.methods.core.facts import Costs
from scale.methods.core.learner import CHUNK
from scale.methods.core.novelty import Novelty
from scale.methods.core.past import Past
from scale.methods.core.registry import register_method
from scale.methods.core.replay import Replay
from scale.methods.core.state import Part
from scale.methods.core.updates import check_finite
from scale.models import ImageShape

PSEUDO = "pseudo"  # column of the memory: the pseudo label of each image
CLASSES = "classes"  # the head


class CosineHead(nn.Module):
    """Cosines of projections with one direction per pseudo label, (n, labels)."""

    def __init__(self, dim: int, labels: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(labels, dim))

    def forward(self, z: Tensor) -> Tensor:
        return z @ F.normalize(self.weight, dim=1).T


class Prototypes(nn.Module):
    """A direction in feature space for each pseudo label; the first `opened` are in use.

    Attributes
    ----------
    directions
        Unit length, (most, d).
    support
        Images that each stands for, (most,).
    opened
        Number of labels so far.
    """

    directions: Tensor
    support: Tensor
    opened: Tensor

    def __init__(self, most: int, dim: int) -> None:
        super().__init__()
        self.register_buffer("directions", torch.zeros(most, dim))
        self.register_buffer("support", torch.zeros(most))
        self.register_buffer("opened", torch.tensor(0))

    def nearest(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Return the cosine distance of unit rows to the nearest prototype, and its label."""
        distance = 1 - rows @ self.directions[: int(self.opened)].T  # (n, opened)
        found = distance.min(dim=1)
        return found.values, found.indices

    def add(self, centre: Tensor, images: int, label: int | None) -> int:
        """Move a label's prototype to include a cluster; None opens a label. Return the label."""
        if label is None:
            label = int(self.opened)
            self.opened += 1
        total = self.support[label] * self.directions[label] + images * centre
        self.support[label] += images
        self.directions[label] = F.normalize(total, dim=0)
        return label


@register_method("pseudo-labels")
@dataclass(kw_only=True)
class PseudoLabels(Replay, ContrastiveLearner):
    """Classify clusters that k-means finds in the features before each batch; keep old answers.

    Before the updates of a batch, k-means clusters its features. A cluster near a stored prototype
    takes its label, another one opens a label. The learner classifies two random views of stream
    and replayed images, and keeps the answers that the model before the batch gives for old
    labels. Classes are directions in the space of projections; logits are cosines over `tau`.

    After He and Zhu: only the two abstracts were read, no code was found. From them: k-means on
    features of the last model, pseudo labels, distillation and stored images. Details are the
    usual ones of that family, and ours: the cosine classifier, two views of an image, temperature
    and weight of the distillation, features of the first step (the random start). Ours too: every
    stream batch is a step, prototypes persist, and novelty decides about new labels; the authors
    are told steps and the number of classes. If a batch holds one class, the clusters inside it are
    arbitrary.

    Attributes
    ----------
    prototypes_
        The pseudo labels.
    novelty_
        Recent distances of images to the nearest prototype.
    diagnostics_
        Losses, and the number of ``pseudo_labels``.

    References
    ----------
    He and Zhu (2021), Unsupervised Continual Learning via Pseudo Labels, CSSL at IJCAI.
    """

    clusters: Count = 4
    """Clusters of a batch: a granularity, not the number of classes."""
    max_classes: Count = 256
    """Maximum number of pseudo labels; beyond it, every cluster takes the nearest one."""
    novelty: Fraction = 0.95
    """Quantile of recent distances to prototypes above which a cluster opens a label."""
    novelty_window: Count = 1000
    """Number of recent distances for that quantile."""
    distillation: Fraction = 0.5
    """Largest weight of the old answers; it is old / (old + clusters) if that is less."""
    kappa: Positive = 2.0
    """Temperature of the distillation."""

    def costs(self) -> Costs:
        costs = super().costs()
        return replace(costs, memory=f"{costs.memory} with pseudo labels")

    def setup(self, image_shape: ImageShape) -> None:
        check_memory(self, "novelty_window", 4 * self.novelty_window)
        super().setup(image_shape)
        check_memory(self, "max_classes", 8 * self.max_classes * self.output_dim_)
        self.prototypes_ = Prototypes(self.max_classes, self.output_dim_).to(self.device)
        self.novelty_ = Novelty(self.novelty_window, least=1)
        self.past_ = Past(self.encoder_, nn.Sequential(self.projector_, self.heads_[CLASSES]))

    def heads(self) -> dict[str, nn.Module]:
        check_memory(self, "max_classes", 16 * self.max_classes * self.projection_dim)
        return {CLASSES: CosineHead(self.projection_dim, self.max_classes)}

    def learn(self, batch: Tensor, labels: Tensor | None) -> None:
        old = int(self.prototypes_.opened)
        features = self.unit_features(batch)
        check_finite(self, features.sum(), [])
        self.renew_prototypes()
        pseudo = self.label(features)  # (n,)
        self.past_.freeze()
        weight = min(self.distillation, old / (old + self.clusters))
        for stream_views in self.updates(batch):
            memory_views = self.replay_views()
            targets = pseudo.repeat(2)
            if len(memory_views):
                replayed = self.memory_.columns[PSEUDO][self.replayed_]
                targets = torch.cat([targets, replayed.to(targets).repeat(2)])
            views = torch.cat([stream_views, memory_views])
            self.step(self.losses(views, targets, old, weight))
        self.diagnostics_["pseudo_labels"] = int(self.prototypes_.opened)
        self.remember(batch, labels, columns={PSEUDO: pseudo})

    def losses(self, views: Tensor, targets: Tensor, old: int, weight: float) -> dict[str, Tensor]:
        """Return the losses of an update.

        Parameters
        ----------
        views
            Of stream and replayed images.
        targets
            Pseudo label of each view.
        old
            Number of labels before this batch.
        weight
            Weight of the distillation.
        """
        logits = self.logits(self.project(views))
        classes = F.cross_entropy(logits[:, : int(self.prototypes_.opened)], targets)
        if weight == 0:
            return {"loss": classes, "classes": classes}
        past = self.past_.project(views, self.no_views(), reuse=False) / self.tau
        kept = similarity_distillation(logits[:, :old], past[:, :old], self.kappa, self.kappa)
        distillation = self.kappa**2 * kept
        loss = (1 - weight) * classes + weight * distillation
        return {"loss": loss, "classes": classes, "distillation": distillation}

    def logits(self, z: Tensor) -> Tensor:
        """Return logits of projections for all labels, opened or not, (n, max_classes)."""
        logits: Tensor = self.heads_[CLASSES](z) / self.tau
        return logits

    @torch.no_grad()
    def label(self, features: Tensor) -> Tensor:
        """Return the pseudo label of each unit row, (n,); open labels for novel clusters."""
        # The same seed for every batch: equal features give equal clusters.
        rng = torch.Generator().manual_seed(self.seed)
        cluster = kmeans_clusters(features, self.clusters, rng).to(features.device)
        pseudo = torch.empty_like(cluster)
        limit = self.novelty_.quantile(self.novelty)
        before = int(self.prototypes_.opened)
        for one in sorted(set(cluster.tolist())):
            members = cluster == one
            centre = F.normalize(features[members].mean(0), dim=0)
            known = self._known_label(centre, limit) if before else None
            full = int(self.prototypes_.opened) == self.max_classes
            if known is None and full:
                known = int(self.prototypes_.nearest(centre[None])[1])
            pseudo[members] = self.prototypes_.add(centre, int(members.sum()), known)
        self.novelty_.push(self.prototypes_.nearest(features)[0].cpu())
        return pseudo

    def _known_label(self, centre: Tensor, limit: float) -> int | None:
        distance, label = self.prototypes_.nearest(centre[None])
        return int(label) if float(distance) <= limit else None

    @torch.no_grad()
    def renew_prototypes(self) -> None:
        """Embed the images in memory again; a label's prototype is the mean of its images."""
        if len(self.memory_) == 0:
            return
        labels = self.memory_.columns[PSEUDO].to(self.device)
        features = self.unit_features(self.memory_.images)
        sums = torch.zeros_like(self.prototypes_.directions).index_add_(0, labels, features)
        held = torch.bincount(labels, minlength=self.max_classes) > 0
        self.prototypes_.directions[held] = F.normalize(sums[held], dim=1)

    @torch.no_grad()
    def unit_features(self, images: Tensor) -> Tensor:
        """Return the encoder's features of images at unit length, (n, d)."""
        chunks = [self.encode_images(part) for part in torch.split(images, CHUNK)]
        return F.normalize(torch.cat(chunks), dim=1)

    def parts(self) -> dict[str, Part]:
        return {
            **super().parts(),
            "prototypes": self.prototypes_,
            "novelty": self.novelty_,
        }
