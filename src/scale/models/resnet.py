"""ResNet-18: the paper's, and one with a stem for small images; ResNet-34 and ResNet-50."""

from __future__ import annotations

from typing import ClassVar

from torch import Tensor, nn
from torch.nn import functional as F

from scale.models._conv import Conv3x3, Shortcut1x1
from scale.models._registry import register_encoder
from scale.models.weights import IMAGENET, Input


class BasicBlock(nn.Module):
    """Two 3x3 convolutions and a shortcut."""

    expansion = 1

    def __init__(self, in_channels: int, channels: int, stride: int) -> None:
        super().__init__()
        self.conv1 = Conv3x3(in_channels, channels, stride)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = Conv3x3(channels, channels)
        self.bn2 = nn.BatchNorm2d(channels)
        self.downsample = _downsample(in_channels, channels, stride)

    def forward(self, x: Tensor) -> Tensor:
        out = F.relu(self.bn1(self.conv1(x)), inplace=True)
        out = self.bn2(self.conv2(out))
        return F.relu(out + self.downsample(x), inplace=True)


class Bottleneck(nn.Module):
    """A 1x1, a 3x3 and a 1x1 convolution to four times the channels, and a shortcut."""

    expansion = 4

    def __init__(self, in_channels: int, channels: int, stride: int) -> None:
        super().__init__()
        out_channels = self.expansion * channels
        self.conv1 = nn.Conv2d(in_channels, channels, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = Conv3x3(channels, channels, stride)
        self.bn2 = nn.BatchNorm2d(channels)
        self.conv3 = nn.Conv2d(channels, out_channels, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(out_channels)
        self.downsample = _downsample(in_channels, out_channels, stride)

    def forward(self, x: Tensor) -> Tensor:
        out = F.relu(self.bn1(self.conv1(x)), inplace=True)
        out = F.relu(self.bn2(self.conv2(out)), inplace=True)
        out = self.bn3(self.conv3(out))
        return F.relu(out + self.downsample(x), inplace=True)


def _downsample(in_channels: int, channels: int, stride: int) -> nn.Module:
    if stride == 1 and in_channels == channels:
        return nn.Identity()
    return nn.Sequential(Shortcut1x1(in_channels, channels, stride), nn.BatchNorm2d(channels))


class ResNet(nn.Module):
    """A ResNet (He et al., 2016) without its classifier.

    Its parameters have the names of torchvision and timm, so their weights fit and ours fit their
    networks.

    Parameters
    ----------
    in_channels
        Channels of the images.
    stem
        ``"imagenet"``: 7x7 convolution of stride 2 and max-pooling (37 MMAC for a 32x32 image of
        ResNet-18); ``"cifar"``: one 3x3 convolution (556 MMAC).
    """

    block: ClassVar[type[BasicBlock] | type[Bottleneck]] = BasicBlock
    depths: ClassVar[tuple[int, int, int, int]] = (2, 2, 2, 2)
    output_dim = 512
    usual_input = Input(*IMAGENET, least=96, most=224)
    last_stages = ("layer4",)

    def __init__(self, in_channels: int = 3, stem: str = "imagenet") -> None:
        super().__init__()
        self.maxpool: nn.Module = nn.Identity()
        if stem == "imagenet":
            self.conv1 = nn.Conv2d(in_channels, 64, 7, stride=2, padding=3, bias=False)
            self.maxpool = nn.MaxPool2d(3, stride=2, padding=1)
        else:
            self.conv1 = Conv3x3(in_channels, 64)
        self.bn1 = nn.BatchNorm2d(64)
        wide = self.block.expansion
        self.layer1 = self._layer(64, 64, self.depths[0], stride=1)
        self.layer2 = self._layer(wide * 64, 128, self.depths[1], stride=2)
        self.layer3 = self._layer(wide * 128, 256, self.depths[2], stride=2)
        self.layer4 = self._layer(wide * 256, 512, self.depths[3], stride=2)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")

    def _layer(self, in_channels: int, channels: int, depth: int, stride: int) -> nn.Sequential:
        inner = self.block.expansion * channels
        blocks = [self.block(in_channels, channels, stride)]
        blocks += [self.block(inner, channels, 1) for _ in range(depth - 1)]
        return nn.Sequential(*blocks)

    def forward(self, images: Tensor) -> Tensor:
        maps = self.layer3(self.layer2(self.layer1(self.stem(images))))
        features: Tensor = self.layer4(maps).mean(dim=(2, 3))
        return features  # (n, 512), or 2048 with bottlenecks

    def stem(self, images: Tensor) -> Tensor:
        """Return the input of the first layer."""
        maps: Tensor = self.maxpool(F.relu(self.bn1(self.conv1(images)), inplace=True))
        return maps


class ResNet18(ResNet):
    """ResNet-18."""


class ResNet34(ResNet):
    """ResNet-34."""

    depths = (3, 4, 6, 3)


class ResNet50(ResNet):
    """ResNet-50, with 2048 features."""

    block = Bottleneck
    depths = (3, 4, 6, 3)
    output_dim = 2048


@register_encoder("resnet18")
def resnet18(image_shape: tuple[int, int, int]) -> ResNet18:
    """Return the paper's encoder."""
    return ResNet18(image_shape[0])


@register_encoder("resnet18_cifar")
def resnet18_cifar(image_shape: tuple[int, int, int]) -> ResNet18:
    """Return ResNet-18 with a 3x3 stem: 15 times the cost on 32x32 images."""
    return ResNet18(image_shape[0], stem="cifar")


@register_encoder("resnet34")
def resnet34(image_shape: tuple[int, int, int]) -> ResNet34:
    """Return ResNet-34."""
    return ResNet34(image_shape[0])


@register_encoder("resnet50")
def resnet50(image_shape: tuple[int, int, int]) -> ResNet50:
    """Return ResNet-50, with 2048 features."""
    return ResNet50(image_shape[0])
