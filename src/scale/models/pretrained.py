"""Encoders that start from pretrained weights: ``NETWORK@FILE`` and ``hf:OWNER/NAME``."""

from __future__ import annotations

import contextlib
import math
from typing import NamedTuple

import torch
from torch import nn

from scale._errors import InputError
from scale._images import resized
from scale.models._registry import ENCODERS, ImageShape, build_encoder
from scale.models._rng import default_rng, source_of
from scale.models.hub import TRANSFORMERS, read_hub
from scale.models.weight_files import Found, find_weights, fit_state, read_weight_file
from scale.models.weights import IMAGENET, UNKNOWN, Input, Tensors, Weights

HUB = "hf:"
COLOUR: ImageShape = (3, 224, 224)  # pretrained networks see red, green and blue
VIT_INPUT = Input(*IMAGENET, least=224, most=224)
ANY_INPUT = Input((0.0, 0.0, 0.0), (1.0, 1.0, 1.0), least=1, most=8192)
FORMS = {
    "NAME": "a registered network with random weights",
    "NETWORK@FILE": "a registered network with the weights of a .safetensors, .pth or .pt file, "
    "also one in $SCALE_WEIGHTS; a .json of the same name may give mean, std, side, licence, "
    "sha256",
    "hf:OWNER/NAME": "weights of the Hugging Face hub: ResNet, MobileNetV2 or EfficientNet-Lite0 "
    "of timm, a ViT or DINOv2 of transformers",
}
"""The forms of an encoder's specification."""


class Encoder(NamedTuple):
    """An encoder before its first batch."""

    module: nn.Module
    features: int
    """Dimension of its features."""
    side: int | None
    """Side that images are resized to; None keeps their size."""
    weights: Weights | None
    """Facts about its pretrained weights; None for one that starts from nothing."""


def is_pretrained(encoder: object) -> bool:
    """Return whether an encoder's specification names pretrained weights.

    Examples
    --------
    >>> [is_pretrained(one) for one in ("resnet18", "resnet18@w.safetensors", "hf:timm/resnet18")]
    [False, True, True]
    """
    return isinstance(encoder, str) and (encoder.startswith(HUB) or "@" in encoder)


def open_encoder(
    encoder: str | nn.Module,
    image_shape: ImageShape,
    generator: torch.Generator,
    *,
    side: int | None = None,
    usual_side: int | None = None,
    known: Weights | None = None,
) -> Encoder:
    """Return an encoder for images of that shape: a name, a specification or a module.

    Parameters
    ----------
    encoder
        One of `FORMS`, or a module.
    image_shape
        Channels, height and width of the stream's images.
    generator
        Source of random weights.
    side
        Side that images are resized to, if the user chose one.
    usual_side
        Side for an encoder without pretrained weights; None keeps the images' size.
    known
        Facts about the weights of an encoder whose state is restored later. Its weights are then
        random, and no file is read.
    """
    if known is None and not is_pretrained(encoder):
        chosen = side or usual_side
        shape = resized(image_shape, chosen)
        return Encoder(*build_encoder(encoder, shape, generator), chosen, None)
    if image_shape[0] not in (1, 3):
        raise InputError(
            f"pretrained encoders take grey or RGB images, and these have {image_shape[0]} "
            "channels; convert them, or choose another encoder"
        )
    state: Tensors | None = None
    if known is None:
        assert isinstance(encoder, str)
        known, state = read_pretrained(encoder)
    suited = side or known.side_for(image_shape)
    factory = network_of if known.network == TRANSFORMERS else ENCODERS[known.network]
    with source_of(factory, generator):
        module = network_of(known)
    if state is not None:
        module.load_state_dict(state)
    # Tries it: some networks take only certain sides.
    return Encoder(*build_encoder(module, (3, suited, suited), generator), suited, known)


def read_pretrained(spec: str) -> tuple[Weights, Tensors]:
    """Return the facts about weights, and the weights under the names of their network."""
    if spec.startswith(HUB):
        found = read_hub(spec.removeprefix(HUB))
    else:
        network, _, file = spec.partition("@")
        ENCODERS[network]  # raises for an unknown name
        found = read_weight_file(network, find_weights(file))
    if found.network == TRANSFORMERS:
        return _record(spec, found, VIT_INPUT, found.config["hidden_size"]), found.state
    with default_rng(torch.Generator()):
        module = ENCODERS[found.network](COLOUR)
    usual: Input | None = getattr(module, "usual_input", None)
    if usual is None and (found.facts.mean is None or found.facts.std is None):
        raise InputError(
            f"nothing says which pixels {spec} expects; put a .json beside the weights with "
            '"mean" and "std", three numbers each'
        )
    try:
        state = fit_state(module, found.state, spec)
    except InputError as error:
        raise InputError(f"{error}; {_advice(found.state)}") from error
    features = build_encoder(module, COLOUR, torch.Generator())[1]
    return _record(spec, found, usual or ANY_INPUT, features), state


def network_of(weights: Weights) -> nn.Module:
    """Return the network of a record, with random weights."""
    if weights.network == TRANSFORMERS:
        from scale.models.vit import ViT

        return ViT(weights.config)
    return ENCODERS[weights.network](COLOUR)


def _advice(state: Tensors) -> str:
    """Return what to do about weights that do not fit: the network that they belong to, if any."""
    for name in ENCODERS:
        # Networks of others may raise anything. On the device meta, no weight is drawn.
        with contextlib.suppress(Exception), torch.device("meta"):
            fit_state(ENCODERS[name](COLOUR), state, name)
            return f"they are weights of {name}: write {name}@FILE"
    return "name the network that they belong to, see scale encoders"


def _record(spec: str, found: Found, usual: Input, features: int) -> Weights:
    facts = found.facts
    mean, std = facts.mean or usual.mean, facts.std or usual.std
    if not all(map(math.isfinite, mean + std)) or min(std) <= 0:
        raise InputError(
            f"mean and std of {spec} must be numbers, and std above 0, got {mean} and {std}; a "
            ".json beside the weights can correct them"
        )
    return Weights(
        network=found.network,
        source=spec,
        sha256=facts.sha256 or "",
        mean=mean,
        std=std,
        least_side=facts.side or usual.least,
        most_side=facts.side or usual.most,
        licence=facts.licence or UNKNOWN,
        features=features,
        config=found.config,
    )
