"""Encoders and heads."""

from scale.models import cnn as cnn
from scale.models import efficientnet_lite as efficientnet_lite
from scale.models import mobilenetv2 as mobilenetv2
from scale.models import resnet as resnet
from scale.models._registry import (
    ENCODERS,
    ImageShape,
    build_encoder,
    register_encoder,
)
from scale.models._rng import default_rng, never_draws
from scale.models._rng import forward as forward
from scale.models.autoencoder import build_decoder, build_trunk, network_bytes
from scale.models.columns import Columns
from scale.models.heads import Projector, build_projector
from scale.models.pretrained import FORMS, Encoder, is_pretrained, open_encoder, read_pretrained
from scale.models.weights import Weights

__all__ = [
    "ENCODERS",
    "FORMS",
    "Columns",
    "Encoder",
    "ImageShape",
    "Projector",
    "Weights",
    "build_decoder",
    "build_encoder",
    "build_projector",
    "build_trunk",
    "default_rng",
    "is_pretrained",
    "network_bytes",
    "never_draws",
    "open_encoder",
    "read_pretrained",
    "register_encoder",
]
