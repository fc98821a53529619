from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from scale.models import _conv
from scale.models._conv import (
    STRIDED_SIDE,
    WINOGRAD_BATCH,
    WINOGRAD_SIDES,
    Conv3x3,
    Shortcut1x1,
)


def pair(c_in: int, c_out: int, stride: int) -> tuple[Conv3x3, nn.Conv2d]:
    """Ours and torch's with the same weights, in double precision."""
    ours = Conv3x3(c_in, c_out, stride).double()
    theirs = nn.Conv2d(c_in, c_out, 3, stride=stride, padding=1, bias=False).double()
    theirs.load_state_dict(ours.state_dict())
    return ours, theirs


def shortcuts(c_in: int, c_out: int, stride: int) -> tuple[Shortcut1x1, nn.Conv2d]:
    """Ours of a shortcut and torch's with the same weights, in double precision."""
    ours = Shortcut1x1(c_in, c_out, stride).double()
    theirs = nn.Conv2d(c_in, c_out, 1, stride=stride, bias=False).double()
    theirs.load_state_dict(ours.state_dict())
    return ours, theirs


def draw(*shape: int, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def outputs_and_gradients(conv: nn.Conv2d, maps: torch.Tensor) -> list[torch.Tensor]:
    maps = maps.clone().requires_grad_()
    out = conv(maps)
    out.backward(draw(*out.shape, seed=1))
    return [out.detach(), maps.grad, conv.weight.grad]


@given(
    n=st.integers(1, 4),
    channels=st.tuples(st.integers(1, 5), st.integers(1, 5)),
    height=st.integers(1, STRIDED_SIDE + 1),
    width=st.integers(1, STRIDED_SIDE + 1),
    stride=st.integers(1, 2),
)
def test_results_and_gradients_are_those_of_torch(n, channels, height, width, stride):
    maps = draw(n, channels[0], height, width)
    ours, theirs = pair(*channels, stride)
    for a, b in zip(
        outputs_and_gradients(ours, maps), outputs_and_gradients(theirs, maps), strict=True
    ):
        assert a.shape == b.shape
        torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-12)


@given(
    n=st.integers(1, 4),
    channels=st.tuples(st.integers(1, 5), st.integers(1, 5)),
    height=st.integers(1, STRIDED_SIDE + 1),
    width=st.integers(1, STRIDED_SIDE + 1),
    stride=st.integers(1, 2),
)
def test_shortcuts_and_their_gradients_are_those_of_torch(n, channels, height, width, stride):
    maps = draw(n, channels[0], height, width)
    ours, theirs = shortcuts(*channels, stride)
    for a, b in zip(
        outputs_and_gradients(ours, maps), outputs_and_gradients(theirs, maps), strict=True
    ):
        assert a.shape == b.shape
        torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-12)


KINDS = [(pair, 1, 1), (pair, 2, 1), (pair, 2, 2), (pair, 8, 2), (shortcuts, 8, 2)]


@pytest.mark.parametrize(("make", "side", "stride"), KINDS)
def test_in_bf16_results_and_gradients_lose_no_more_than_those_of_torch(make, side, stride):
    maps = draw(32, 16, side, side).float()
    ours, theirs = (conv.float() for conv in make(16, 24, stride))
    exact = outputs_and_gradients(theirs, maps)
    with torch.autocast("cpu", torch.bfloat16):
        rounded = [conv(maps.requires_grad_()) for conv in (ours, theirs)]
    gradient = draw(*rounded[0].shape, seed=1).bfloat16()
    errors = []
    for conv, out in zip((ours, theirs), rounded, strict=True):
        gradients = torch.autograd.grad(out, [maps, conv.weight], gradient)
        assert [out.dtype, *(g.dtype for g in gradients)] == [torch.bfloat16, *2 * [torch.float32]]
        errors.append(
            [
                float((found - right).detach().norm() / right.norm())
                for found, right in zip((out, *gradients), exact, strict=True)
            ]
        )
    assert all(mine < 1.5 * other for mine, other in zip(*errors, strict=True))
    assert max(map(max, errors)) < 0.01


@pytest.mark.parametrize(("make", "side", "stride"), KINDS)
def test_gradients_of_gradients_are_those_of_torch(make, side, stride):
    maps, seconds = draw(2, 3, side, side).requires_grad_(), []
    for conv in make(3, 4, stride):
        out = conv(maps)
        (first,) = torch.autograd.grad((out**3).sum(), maps, create_graph=True)
        seconds.append(torch.autograd.grad((first**2).sum(), [maps, conv.weight]))
    for a, b in zip(*seconds, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("size", [(1, 1), (2, 2), (1, 2), (2, 1)])
def test_tiny_maps_in_channels_last_layout_are_those_of_torch(size, stride):
    maps = draw(3, 4, *size).contiguous(memory_format=torch.channels_last)
    ours, theirs = pair(4, 6, stride)
    for a, b in zip(
        outputs_and_gradients(ours, maps), outputs_and_gradients(theirs, maps), strict=True
    ):
        torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
@pytest.mark.parametrize("side", WINOGRAD_SIDES)
def test_small_maps_of_a_large_batch_are_those_of_torch(side, layout, monkeypatch):
    monkeypatch.setattr(_conv, "WINOGRAD_PAYS", True)  # on every processor
    maps = draw(WINOGRAD_BATCH, 3, side, side).contiguous(memory_format=layout)
    ours, theirs = pair(3, 5, 1)
    for a, b in zip(
        outputs_and_gradients(ours, maps), outputs_and_gradients(theirs, maps), strict=True
    ):
        torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-10)


def test_single_precision_loses_no_more_than_a_few_bits_on_small_maps(monkeypatch):
    monkeypatch.setattr(_conv, "WINOGRAD_PAYS", True)
    maps = draw(WINOGRAD_BATCH, 64, 4, 4)
    ours, theirs = pair(64, 64, 1)
    exact = theirs(maps)
    error = (ours.float()(maps.float()) - exact).abs().max() / exact.abs().max()
    assert error < 1e-5


def test_parameters_have_the_names_and_shapes_of_torch():
    ours, theirs = pair(3, 7, 1)
    assert {k: v.shape for k, v in ours.state_dict().items()} == {
        k: v.shape for k, v in theirs.state_dict().items()
    }
