"""Checks of the contract of encoders."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from scale.models import ENCODERS, ImageShape, build_encoder, default_rng
from scale.testing._tools import (
    differences,
    disturb_global_generators,
    global_random_state,
    listed,
    require,
)

Builder = Callable[[ImageShape], nn.Module]
SHAPES: tuple[ImageShape, ...] = ((3, 32, 32), (1, 28, 28), (3, 64, 48))


def check_encoder(encoder: str | Builder, image_shapes: Sequence[ImageShape] = SHAPES) -> None:
    """Check that an encoder keeps every rule of the contract.

    Parameters
    ----------
    encoder
        A registered name, or the function that makes the module.
    image_shapes
        Channels, height and width of images that it must accept.

    Raises
    ------
    AssertionError
        A rule is broken; the message says which, and what to do.
    """
    for check in ENCODER_CHECKS:
        check(encoder, image_shapes)


def check_weights(encoder: str | Builder, image_shapes: Sequence[ImageShape] = SHAPES) -> None:
    """Initial weights depend only on the seed."""
    name, builder = _named(encoder)
    first = _build(builder, image_shapes[0], 1).state_dict()
    disturb_global_generators()
    before = global_random_state()
    again = _build(builder, image_shapes[0], 1).state_dict()
    require(
        global_random_state() == before,
        f"{name}: building it draws from a generator other than torch's default one",
    )
    changed = differences(first, again)
    require(not changed, f"{name}: {listed(changed)} differs between two builds of one seed")
    other = _build(builder, image_shapes[0], 2).state_dict()
    require(
        not first or bool(differences(first, other)),
        f"{name}: every seed gives the same weights; use torch's initialisers",
    )


def check_features(encoder: str | Builder, image_shapes: Sequence[ImageShape] = SHAPES) -> None:
    """It maps (n, c, h, w) images to finite (n, d) features, with d equal to `output_dim`."""
    name, builder = _named(encoder)
    for shape in image_shapes:
        module = _build(builder, shape, 0)
        _, dim = build_encoder(module, shape, torch.Generator())  # tries it, and says what is wrong
        pixels = torch.randn(4, *shape, generator=torch.Generator().manual_seed(0))
        before = {key: value.clone() for key, value in module.state_dict().items()}
        with torch.no_grad():
            features: Tensor = module.eval()(pixels)
            again: Tensor = module(pixels)
        require(
            features.shape == (4, dim) and bool(torch.isfinite(features).all()),
            f"{name}: images of shape {shape} give no finite (n, {dim}) features",
        )
        require(torch.equal(features, again), f"{name}: two passes in eval mode differ")
        changed = differences(before, module.state_dict())
        require(not changed, f"{name}: a pass in eval mode changes {listed(changed)}")


def check_gradients(encoder: str | Builder, image_shapes: Sequence[ImageShape] = SHAPES) -> None:
    """Every weight that requires a gradient gets one."""
    name, builder = _named(encoder)
    module = _build(builder, image_shapes[0], 0).train()
    pixels = torch.randn(4, *image_shapes[0], generator=torch.Generator().manual_seed(0))
    module(pixels).square().sum().backward()
    without = [key for key, p in module.named_parameters() if p.requires_grad and p.grad is None]
    require(
        not without,
        f"{name}: {listed(without)} gets no gradient; use it in forward, or freeze it with "
        "requires_grad_(False)",
    )


ENCODER_CHECKS: tuple[Callable[..., None], ...] = (check_weights, check_features, check_gradients)
"""The rules one by one: ``check(my_encoder)``; `check_encoder` runs all of them."""


def _named(encoder: str | Builder) -> tuple[str, Builder]:
    if isinstance(encoder, str):
        return encoder, ENCODERS[encoder]
    return getattr(encoder, "__name__", "encoder"), encoder


def _build(builder: Builder, image_shape: ImageShape, seed: int) -> nn.Module:
    with default_rng(torch.Generator().manual_seed(seed)):
        return builder(image_shape)
