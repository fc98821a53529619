"""Encoders and heads."""

from scale.models import cnn as cnn
from scale.models import resnet as resnet
from scale.models._registry import (
    ENCODERS,
    ImageShape,
    build_encoder,
    default_rng,
    register_encoder,
)
from scale.models.columns import Columns
from scale.models.heads import Projector, build_projector

__all__ = [
    "ENCODERS",
    "Columns",
    "ImageShape",
    "Projector",
    "build_encoder",
    "build_projector",
    "default_rng",
    "register_encoder",
]
