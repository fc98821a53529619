"""ResNet-18 with 512 features, as the paper uses it and with a stem for small images."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional as F

from scale.models._conv import Conv3x3
from scale.models._registry import register_encoder


class BasicBlock(nn.Module):
    """Two 3x3 convolutions and a shortcut."""

    def __init__(self, in_channels: int, channels: int, stride: int) -> None:
        super().__init__()
        self.conv1 = Conv3x3(in_channels, channels, stride)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = Conv3x3(channels, channels)
        self.bn2 = nn.BatchNorm2d(channels)
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or in_channels != channels:
            self.shortcut = nn.Sequential(
                nn.Conv2d(in_channels, channels, 1, stride=stride, bias=False),
                nn.BatchNorm2d(channels),
            )

    def forward(self, x: Tensor) -> Tensor:
        out = F.relu(self.bn1(self.conv1(x)), inplace=True)
        out = self.bn2(self.conv2(out))
        return F.relu(out + self.shortcut(x), inplace=True)


class ResNet18(nn.Module):
    """ResNet-18 (He et al., 2016) without its classifier.

    Parameters
    ----------
    in_channels
        Channels of the images.
    stem
        ``"imagenet"``: 7x7 convolution of stride 2 and max-pooling (37 MMAC for a 32x32 image);
        ``"cifar"``: one 3x3 convolution (556 MMAC).
    """

    output_dim = 512

    def __init__(self, in_channels: int = 3, stem: str = "imagenet") -> None:
        super().__init__()
        if stem == "imagenet":
            first = nn.Conv2d(in_channels, 64, 7, stride=2, padding=3, bias=False)
            pool: nn.Module = nn.MaxPool2d(3, stride=2, padding=1)
        else:
            first = Conv3x3(in_channels, 64)
            pool = nn.Identity()
        self.stem = nn.Sequential(first, nn.BatchNorm2d(64), nn.ReLU(inplace=True), pool)
        blocks = []
        for in_c, c, stride in ((64, 64, 1), (64, 128, 2), (128, 256, 2), (256, 512, 2)):
            blocks += [BasicBlock(in_c, c, stride), BasicBlock(c, c, 1)]
        self.blocks = nn.Sequential(*blocks)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, images: Tensor) -> Tensor:
        maps: Tensor = self.blocks(self.stem(images))
        return maps.mean(dim=(2, 3))  # (n, 512)


@register_encoder("resnet18")
def resnet18(image_shape: tuple[int, int, int]) -> ResNet18:
    """The paper's encoder."""
    return ResNet18(image_shape[0])


@register_encoder("resnet18_cifar")
def resnet18_cifar(image_shape: tuple[int, int, int]) -> ResNet18:
    """ResNet-18 with a 3x3 stem: 15 times the cost on 32x32 images."""
    return ResNet18(image_shape[0], stem="cifar")
