"""Losses as pure functions on one matrix of dot products."""

from scale.losses.contrastive import contrastive_loss, pseudo_positives, twin_positives
from scale.losses.forgetting import Direction, forgetting_loss
from scale.losses.similarity import dot_products, symmetric_sne, twins

__all__ = [
    "Direction",
    "contrastive_loss",
    "dot_products",
    "forgetting_loss",
    "pseudo_positives",
    "symmetric_sne",
    "twin_positives",
    "twins",
]
