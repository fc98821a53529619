"""MobileNetV2 with 1280 features."""

from __future__ import annotations

import re

from torch import Tensor, nn

from scale.models._registry import register_encoder
from scale.models.weights import IMAGENET, Input, Tensors

# Expansion, channels, blocks and first stride of each stage.
STAGES = (
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)


class InvertedResidual(nn.Module):
    """Expand by a 1x1 convolution, convolve each channel, and return to few channels."""

    def __init__(self, in_channels: int, channels: int, stride: int, expansion: int) -> None:
        super().__init__()
        hidden = in_channels * expansion
        self.has_shortcut = stride == 1 and in_channels == channels
        self.conv = nn.Sequential(
            *([_layer(in_channels, hidden, 1)] if expansion != 1 else []),
            _layer(hidden, hidden, 3, stride, groups=hidden),
            nn.Conv2d(hidden, channels, 1, bias=False),
            nn.BatchNorm2d(channels),
        )

    def forward(self, maps: Tensor) -> Tensor:
        out: Tensor = self.conv(maps)
        return maps + out if self.has_shortcut else out


class MobileNetV2(nn.Module):
    """MobileNetV2 1.0 (Sandler et al., 2018) without its classifier.

    Its parameters have torchvision's names. Weights with timm's names fit too, and those of files
    whose blocks are one flat list (``features.2.conv.7``).
    """

    output_dim = 1280
    usual_input = Input(*IMAGENET, least=96, most=224)
    last_stages = ("features.14", "features.15", "features.16", "features.17", "features.18")

    def __init__(self, in_channels: int = 3) -> None:
        super().__init__()
        layers: list[nn.Module] = [_layer(in_channels, 32, 3, stride=2)]
        before = 32
        for expansion, channels, blocks, stride in STAGES:
            for i in range(blocks):
                first = stride if i == 0 else 1
                layers.append(InvertedResidual(before, channels, first, expansion))
                before = channels
        self.features = nn.Sequential(*layers, _layer(before, self.output_dim, 1))
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out")

    def forward(self, images: Tensor) -> Tensor:
        maps: Tensor = self.features(images)
        return maps.mean(dim=(2, 3))  # (n, 1280)

    @staticmethod
    def renamed(state: Tensors) -> Tensors:
        """Return weights under the names of this module."""
        if any(name.startswith("blocks.") for name in state):
            return {_from_timm(name): tensor for name, tensor in state.items()}
        if any(re.fullmatch(r"features\.\d+\.conv\.[67]\..*", name) for name in state):
            return {_from_flat(name): tensor for name, tensor in state.items()}
        return state


def _layer(
    in_channels: int, channels: int, kernel_size: int, stride: int = 1, groups: int = 1
) -> nn.Sequential:
    padding = kernel_size // 2
    return nn.Sequential(
        nn.Conv2d(in_channels, channels, kernel_size, stride, padding, groups=groups, bias=False),
        nn.BatchNorm2d(channels),
        nn.ReLU6(inplace=True),
    )


def _from_flat(name: str) -> str:
    """Return the name here of a weight in a flat list of layers.

    Examples
    --------
    >>> _from_flat("features.1.conv.3.weight"), _from_flat("features.2.conv.7.bias")
    ('features.1.conv.1.weight', 'features.2.conv.3.bias')
    """
    found = re.fullmatch(r"features\.(\d+)\.conv\.(\d+)\.(\w+)", name)
    if found is None:
        return name
    block, layer, rest = int(found[1]), int(found[2]), found[3]
    places = ["0.0", "0.1", "", "1", "2"] if block == 1 else _PLACES
    return f"features.{block}.conv.{places[layer]}.{rest}" if layer < len(places) else name


_PLACES = ["0.0", "0.1", "", "1.0", "1.1", "", "2", "3"]  # of a flat block's layers
_FIRST = {"conv_dw": "0.0", "bn1": "0.1", "conv_pw": "1", "bn2": "2"}  # timm's first block
_OTHER = dict(
    zip(("conv_pw", "bn1", "conv_dw", "bn2", "conv_pwl", "bn3"), filter(None, _PLACES), strict=True)
)
_ENDS = {"conv_stem": "0.0", "bn1": "0.1", "conv_head": "18.0", "bn2": "18.1"}


def _from_timm(name: str) -> str:
    """Return the name here of a weight of timm's network.

    Examples
    --------
    >>> _from_timm("blocks.1.0.conv_pwl.weight"), _from_timm("conv_head.weight")
    ('features.2.conv.2.weight', 'features.18.0.weight')
    """
    part, _, rest = name.partition(".")
    if part in _ENDS:
        return f"features.{_ENDS[part]}.{rest}"
    found = re.fullmatch(r"blocks\.(\d)\.(\d)\.(\w+)\.(\w+)", name)
    if found is None:
        return name
    stage = int(found[1])
    block = 1 + sum(count for *_, count, _ in STAGES[:stage]) + int(found[2])
    place = (_FIRST if stage == 0 else _OTHER).get(found[3])
    return name if place is None else f"features.{block}.conv.{place}.{found[4]}"


@register_encoder("mobilenetv2")
def mobilenetv2(image_shape: tuple[int, int, int]) -> MobileNetV2:
    """Return MobileNetV2, a small network for images of 96 pixels and more."""
    return MobileNetV2(image_shape[0])
