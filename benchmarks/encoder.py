"""256 views of 32x32 through ResNet-18; an update has 512."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy

import torch
from torch import Tensor, nn

from benchmarks._learner import multiply_adds, plain_convolutions
from benchmarks._measure import Row, median_of, multiply_adds_per_second, row
from scale.models import build_encoder


def main(quick: bool = False) -> list[Row]:
    """Time our encoder, plain convolutions, and the other memory layout."""
    views = torch.randn(8 if quick else 256, 3, 32, 32)
    nets = encoders()
    least = multiply_adds(nets["ours"], views[:1]) * len(views) / multiply_adds_per_second()
    rows = []
    for what, run, passes in (
        ("forward", forward, 1),
        ("forward and backward", forward_backward, 3),
    ):
        best = median_of(
            {name: bind(run, net, views, name) for name, net in nets.items()}, 1 if quick else 2
        )
        limit = ("direct convolution at the rate of a 1024^3 fp32 product", least * passes * 1e3)
        for name, alternative in (
            ("plain", "nn.Conv2d for every convolution"),
            ("contiguous", "ours, channels first"),
        ):
            title = f"{what} of {len(views)} views"
            rows.append(row(title, best["ours"] * 1e3, (alternative, best[name] * 1e3), limit))
    return rows


def encoders() -> dict[str, nn.Module]:
    """Return the same network with our convolutions, plain ones, and channels first."""
    net, _ = build_encoder("resnet18", (3, 32, 32), torch.Generator().manual_seed(0))
    last = torch.channels_last
    return {
        "ours": deepcopy(net).to(memory_format=last),  # type: ignore[call-overload]
        "plain": plain_convolutions(deepcopy(net).to(memory_format=last)),  # type: ignore[call-overload]
        "contiguous": net,
    }


def bind(
    run: Callable[[nn.Module, Tensor], None], net: nn.Module, views: Tensor, name: str
) -> Callable[[], None]:
    """Return a function that runs one network on views in its memory layout."""
    layout = torch.contiguous_format if name == "contiguous" else torch.channels_last
    laid_out = views.contiguous(memory_format=layout)
    return lambda: run(net, laid_out)


def forward(net: nn.Module, views: Tensor) -> None:
    """Compute features as for memory and evaluation."""
    with torch.no_grad():
        net.eval()(views)


def forward_backward(net: nn.Module, views: Tensor) -> None:
    """Compute features and gradients as for an update."""
    net.zero_grad()
    net.train()(views).square().mean().backward()
