"""Losses as pure functions on one matrix of dot products."""

from scale.losses.alignment import alignment_loss
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
from scale.losses.similarity import dot_products, image_similarity, symmetric_sne, twins

__all__ = [
    "Direction",
    "alignment_loss",
    "contrastive_distillation",
    "contrastive_loss",
    "cross_contrastive_loss",
    "dot_products",
    "forgetting_loss",
    "image_similarity",
    "label_positives",
    "pseudo_positives",
    "pseudo_positives_of_images",
    "relation_distillation",
    "stream_and_memory_twins",
    "symmetric_sne",
    "twin_positives",
    "twins",
]
