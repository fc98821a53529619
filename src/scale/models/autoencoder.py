"""Trunks from images to hidden units, and decoders from codes to images, without BatchNorm."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from scale.models._checks import check_dim, check_network
from scale.models._registry import ImageShape

STRIDE = 16  # of the four convolutions together


class ConvTrunk(nn.Sequential):
    """Four convolutions of 4x4 with stride 2, then a linear layer; ReLU after each.

    Images are padded with zeros to a multiple of 16.

    Parameters
    ----------
    image_shape
        Channels, height and width.
    width
        Channels of the first two convolutions; the last two have twice as many, the linear layer
        has four times as many units.
    """

    def __init__(self, image_shape: ImageShape, width: int = 64) -> None:
        channels, height, width_in = image_shape
        rows, columns = _cells(height), _cells(width_in)
        layers: list[nn.Module] = []
        for inner, outer in itertools.pairwise((channels, width, width, 2 * width, 2 * width)):
            layers += [nn.Conv2d(inner, outer, 4, stride=2, padding=1), nn.ReLU()]
        last = nn.Linear(2 * width * rows * columns, 4 * width)
        super().__init__(*layers, nn.Flatten(), last, nn.ReLU())
        start_weights(self)
        self.output_dim: int = 4 * width
        self._pad = (0, columns * STRIDE - width_in, 0, rows * STRIDE - height)

    def forward(self, input: Tensor) -> Tensor:
        hidden: Tensor = super().forward(F.pad(input, self._pad))  # type: ignore[no-untyped-call]
        return hidden  # (n, 4 * width)


class ConvDecoder(nn.Module):
    """The mirror image of `ConvTrunk`: from codes to an image of logits.

    Parameters
    ----------
    in_dim
        Dimension of the codes.
    image_shape, width
        As for `ConvTrunk`.
    """

    def __init__(self, in_dim: int, image_shape: ImageShape, width: int = 64) -> None:
        super().__init__()
        self.image_shape = image_shape
        channels, height, width_out = image_shape
        self._map = (2 * width, _cells(height), _cells(width_out))
        cells = self._map[1] * self._map[2]
        self.linear = nn.Sequential(
            nn.Linear(in_dim, 4 * width),
            nn.ReLU(),
            nn.Linear(4 * width, 2 * width * cells),
            nn.ReLU(),
        )
        layers: list[nn.Module] = []
        for inner, outer in itertools.pairwise((2 * width, 2 * width, width, width, channels)):
            layers += [nn.ConvTranspose2d(inner, outer, 4, stride=2, padding=1), nn.ReLU()]
        self.convs = nn.Sequential(*layers[:-1])
        start_weights(self)

    def forward(self, codes: Tensor) -> Tensor:
        _, height, width = self.image_shape
        maps = self.linear(codes).view(len(codes), *self._map)
        logits: Tensor = self.convs(maps)[:, :, :height, :width]
        return logits  # (n, c, h, w)


class MLPTrunk(nn.Sequential):
    """Linear layers with ReLU on the pixels."""

    def __init__(self, image_shape: ImageShape, units: Sequence[int]) -> None:
        channels, height, width = image_shape
        super().__init__(nn.Flatten(), *_linear(channels * height * width, units))
        start_weights(self)
        self.output_dim: int = units[-1]


class MLPDecoder(nn.Sequential):
    """Linear layers with ReLU from codes to an image of logits."""

    def __init__(self, in_dim: int, image_shape: ImageShape, units: Sequence[int]) -> None:
        channels, height, width = image_shape
        last = nn.Linear([in_dim, *units][-1], channels * height * width)
        super().__init__(*_linear(in_dim, units), last, nn.Unflatten(1, image_shape))
        start_weights(self)


def build_trunk(
    image_shape: ImageShape, width: int, units: Sequence[int] = ()
) -> ConvTrunk | MLPTrunk:
    """Return a trunk of convolutions, or of linear layers if `units` names any."""
    check_network(image_shape, width, units)
    return MLPTrunk(image_shape, units) if units else ConvTrunk(image_shape, width)


def build_decoder(
    in_dim: int, image_shape: ImageShape, width: int, units: Sequence[int] = ()
) -> ConvDecoder | MLPDecoder:
    """Return a decoder of convolutions, or of linear layers if `units` names any."""
    check_network(image_shape, width, units)
    check_dim("in_dim", in_dim)
    if units:
        return MLPDecoder(in_dim, image_shape, units)
    return ConvDecoder(in_dim, image_shape, width)


def network_bytes(image_shape: ImageShape, width: int, units: Sequence[int] = ()) -> int:
    """Return about how many bytes a trunk, its gradients and Adam's moments need.

    Examples
    --------
    >>> network_bytes((1, 28, 28), 64) // 2**20
    9
    """
    check_network(image_shape, width, units)
    channels, height, side = image_shape
    if units:
        sizes = (channels * height * side, *units)
        weights = sum(inner * outer for inner, outer in itertools.pairwise(sizes))
    else:
        cells = _cells(height) * _cells(side)
        weights = 16 * width * (channels + 7 * width) + 8 * width * width * cells
    return 16 * weights


def start_weights(network: nn.Module) -> None:
    """Draw weights of variance 1 / inputs, and set biases to 0.

    Torch's own weights are so small that signals fade from layer to layer and biases decide. Then a
    few hundred updates, one class after another, leave layers of which no unit is ever above 0.
    """
    for layer in network.modules():
        if isinstance(layer, nn.Conv2d | nn.ConvTranspose2d | nn.Linear):
            fan_in = layer.weight[0].numel()
            if isinstance(layer, nn.ConvTranspose2d):  # a pixel gets the inputs of few positions
                fan_in = layer.in_channels * math.prod(layer.kernel_size) // math.prod(layer.stride)
            nn.init.normal_(layer.weight, std=math.sqrt(1 / fan_in))
            assert layer.bias is not None
            nn.init.zeros_(layer.bias)


def _linear(in_dim: int, units: Sequence[int]) -> list[nn.Module]:
    layers: list[nn.Module] = []
    for inner, outer in itertools.pairwise((in_dim, *units)):
        layers += [nn.Linear(inner, outer), nn.ReLU()]
    return layers


def _cells(side: int) -> int:
    return -(-side // STRIDE)


def gaussian_noise(shape: tuple[int, ...], like: Tensor, generator: torch.Generator) -> Tensor:
    """Return standard normal numbers from a generator on the CPU, on the device of `like`."""
    return torch.randn(shape, generator=generator).to(like.device)
