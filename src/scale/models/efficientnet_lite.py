"""EfficientNet-Lite0 with 1280 features."""

from __future__ import annotations

import re

from torch import Tensor, nn
from torch.nn import functional as F

from scale.models._registry import register_encoder
from scale.models.weights import Input, Tensors

# Blocks, kernel, first stride, expansion and channels of each stage.
STAGES = (
    (1, 3, 1, 1, 16),
    (2, 3, 2, 6, 24),
    (2, 5, 2, 6, 40),
    (3, 3, 2, 6, 80),
    (3, 5, 1, 6, 112),
    (4, 5, 2, 6, 192),
    (1, 3, 1, 6, 320),
)
EPS = 1e-3  # TensorFlow's, with which the weights were trained


class SameConv(nn.Conv2d):
    """A convolution padded as in TensorFlow: with stride 2, more at the bottom and the right."""

    def forward(self, input: Tensor) -> Tensor:
        height, width = (
            max((-(-side // step) - 1) * step + kernel - side, 0)
            for side, step, kernel in zip(
                input.shape[2:], self.stride, self.kernel_size, strict=True
            )
        )
        borders = (width // 2, width - width // 2, height // 2, height - height // 2)
        return super().forward(F.pad(input, borders) if any(borders) else input)


class Block(nn.Module):
    """An inverted residual block, under timm's names."""

    def __init__(
        self, in_channels: int, channels: int, kernel_size: int, stride: int, expansion: int
    ) -> None:
        super().__init__()
        hidden = in_channels * expansion
        self.has_shortcut = stride == 1 and in_channels == channels
        convs = [SameConv(hidden, hidden, kernel_size, stride, groups=hidden, bias=False)]
        names = ["conv_dw", "conv_pw"]
        if expansion != 1:
            convs.insert(0, SameConv(in_channels, hidden, 1, bias=False))
            names = ["conv_pw", "conv_dw", "conv_pwl"]
        convs.append(SameConv(hidden, channels, 1, bias=False))
        for i, (name, conv) in enumerate(zip(names, convs, strict=True)):
            self.add_module(name, conv)
            self.add_module(f"bn{i + 1}", nn.BatchNorm2d(conv.out_channels, EPS))
        self._names = names

    def forward(self, maps: Tensor) -> Tensor:
        out = maps
        for i, name in enumerate(self._names):
            out = getattr(self, f"bn{i + 1}")(getattr(self, name)(out))
            if name != self._names[-1]:
                out = F.relu6(out, inplace=True)
        return maps + out if self.has_shortcut else out


class EfficientNetLite0(nn.Module):
    """EfficientNet-Lite0 (Google, 2020) without its classifier.

    Its parameters have timm's names, and weights of the package efficientnet_lite_pytorch fit too.
    """

    output_dim = 1280
    # (x - 127) / 128 on 0..255: the usual statistics of ImageNet cost this network ten points.
    usual_input = Input((127 / 255,) * 3, (128 / 255,) * 3, least=128, most=224)
    last_stages = ("blocks.5", "blocks.6", "conv_head", "bn2")

    def __init__(self, in_channels: int = 3) -> None:
        super().__init__()
        self.conv_stem = SameConv(in_channels, 32, 3, stride=2, bias=False)
        self.bn1 = nn.BatchNorm2d(32, EPS)
        stages, before = [], 32
        for count, kernel, stride, expansion, channels in STAGES:
            blocks = []
            for i in range(count):
                blocks.append(Block(before, channels, kernel, stride if i == 0 else 1, expansion))
                before = channels
            stages.append(nn.Sequential(*blocks))
        self.blocks = nn.Sequential(*stages)
        self.conv_head = SameConv(before, self.output_dim, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(self.output_dim, EPS)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out")

    def forward(self, images: Tensor) -> Tensor:
        maps = self.blocks(F.relu6(self.bn1(self.conv_stem(images)), inplace=True))
        maps = F.relu6(self.bn2(self.conv_head(maps)), inplace=True)
        return maps.mean(dim=(2, 3))  # (n, 1280)

    @staticmethod
    def renamed(state: Tensors) -> Tensors:
        """Return weights under the names of this module."""
        return {_from_package(name): tensor for name, tensor in state.items()}


def _from_package(name: str) -> str:
    """Return the name here of a weight of efficientnet_lite_pytorch; others stay.

    Examples
    --------
    >>> _from_package("_blocks.1._project_conv.weight"), _from_package("_bn1.bias")
    ('blocks.1.0.conv_pwl.weight', 'bn2.bias')
    """
    part, _, rest = name.partition(".")
    ends = {"_conv_stem": "conv_stem", "_bn0": "bn1", "_conv_head": "conv_head", "_bn1": "bn2"}
    if part in ends:
        return f"{ends[part]}.{rest}"
    found = re.fullmatch(r"_blocks\.(\d+)\.(\w+)\.(\w+)", name)
    if found is None:
        return name
    stage, left = 0, int(found[1])
    while stage < len(STAGES) - 1 and left >= STAGES[stage][0]:
        left -= STAGES[stage][0]
        stage += 1
    place = (_FIRST if stage == 0 else _OTHER).get(found[2])
    return name if place is None else f"blocks.{stage}.{left}.{place}.{found[3]}"


_FIRST = {"_depthwise_conv": "conv_dw", "_bn1": "bn1", "_project_conv": "conv_pw", "_bn2": "bn2"}
_OTHER = {
    "_expand_conv": "conv_pw",
    "_bn0": "bn1",
    "_depthwise_conv": "conv_dw",
    "_bn1": "bn2",
    "_project_conv": "conv_pwl",
    "_bn2": "bn3",
}


@register_encoder("efficientnet-lite0")
def efficientnet_lite0(image_shape: tuple[int, int, int]) -> EfficientNetLite0:
    """Return EfficientNet-Lite0, a small network for images of 128 pixels and more."""
    return EfficientNetLite0(image_shape[0])
