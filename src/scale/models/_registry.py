"""Build encoders from registered names or from a user's module."""

from __future__ import annotations

import copy
from collections.abc import Callable

import torch
from torch import Tensor, nn

from scale._errors import InputError
from scale._registry import Registry
from scale.models._rng import source_of

ImageShape = tuple[int, int, int]  # channels, height, width

ENCODERS: Registry[Callable[[ImageShape], nn.Module]] = Registry("encoder")
register_encoder = ENCODERS.register


def build_encoder(
    encoder: str | nn.Module, image_shape: ImageShape, generator: torch.Generator
) -> tuple[nn.Module, int]:
    """Return an encoder for images of that shape, and the dimension of its features.

    Parameters
    ----------
    encoder
        A registered name, or a module that maps (n, c, h, w) float images to (n, d) features. A
        module is copied, weights included; a forward pass finds ``d``.
    image_shape
        Channels, height and width.
    generator
        Source of the initial weights.
    """
    if isinstance(encoder, nn.Module):
        module = copy.deepcopy(encoder)  # the caller's module must not change
    elif not isinstance(encoder, str):
        raise InputError(f"encoder must be a registered name or a torch.nn.Module, got {encoder!r}")
    else:
        factory = ENCODERS[encoder]
        with source_of(factory, generator):
            module = factory(image_shape)
    dim = getattr(module, "output_dim", None)
    if isinstance(encoder, str) and isinstance(dim, int):
        return module, dim
    found = _try_dimension(module, image_shape)
    if isinstance(dim, int) and dim != found:
        raise InputError(
            f"the encoder's output_dim is {dim}, but it returned {found} features; correct or "
            "remove output_dim"
        )
    return module, found


def _try_dimension(module: nn.Module, image_shape: ImageShape) -> int:
    was_training = module.training
    try:
        with torch.no_grad():
            features = module.eval()(torch.zeros(1, *image_shape))
    except Exception as error:  # a user's module may raise anything
        raise InputError(
            f"the encoder does not accept images of shape {image_shape}: {error}"
        ) from error
    finally:
        module.train(was_training)
    if not isinstance(features, Tensor) or features.ndim != 2:
        raise InputError(
            "an encoder must map (n, c, h, w) images to (n, d) features; this one returned "
            f"{tuple(features.shape) if isinstance(features, Tensor) else type(features).__name__}"
        )
    return features.shape[1]
