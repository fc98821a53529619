"""Losses as pure functions; closed forms of the generative methods are in modules of their own."""

from scale.losses.alignment import alignment_loss
from scale.losses.barlow import barlow_loss
from scale.losses.coding_rate import total_coding_rate
from scale.losses.contrastive import (
    contrastive_loss,
    label_positives,
    pseudo_positives,
    pseudo_positives_of_images,
    stream_and_memory_twins,
    twin_positives,
)
from scale.losses.cross import cross_contrastive_loss
from scale.losses.distillation import contrastive_distillation
from scale.losses.forgetting import Direction, forgetting_loss, relation_distillation
from scale.losses.overlap import overlap_loss
from scale.losses.prediction import twin_prediction
from scale.losses.queue import queue_contrast, similarity_distillation
from scale.losses.sigreg import normality
from scale.losses.similarity import dot_products, image_similarity, symmetric_sne, twins
from scale.losses.vicreg import vicreg_terms

__all__ = [
    "Direction",
    "alignment_loss",
    "barlow_loss",
    "contrastive_distillation",
    "contrastive_loss",
    "cross_contrastive_loss",
    "dot_products",
    "forgetting_loss",
    "image_similarity",
    "label_positives",
    "normality",
    "overlap_loss",
    "pseudo_positives",
    "pseudo_positives_of_images",
    "queue_contrast",
    "relation_distillation",
    "similarity_distillation",
    "stream_and_memory_twins",
    "symmetric_sne",
    "total_coding_rate",
    "twin_positives",
    "twin_prediction",
    "twins",
    "vicreg_terms",
]
