"""Losses as pure functions on one matrix of dot products."""

from scale.losses.contrastive import (
    contrastive_loss,
    pseudo_positives,
    stream_and_memory_twins,
    twin_positives,
)
from scale.losses.forgetting import Direction, forgetting_loss, relation_distillation
from scale.losses.similarity import dot_products, symmetric_sne, twins

__all__ = [
    "Direction",
    "contrastive_loss",
    "dot_products",
    "forgetting_loss",
    "pseudo_positives",
    "relation_distillation",
    "stream_and_memory_twins",
    "symmetric_sne",
    "twin_positives",
    "twins",
]
