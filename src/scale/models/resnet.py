"""ResNet-18 with 512 features: the paper's, and one with a stem for small images."""

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
        self.downsample: nn.Module = nn.Identity()
        if stride != 1 or in_channels != channels:
            self.downsample = nn.Sequential(
                nn.Conv2d(in_channels, channels, 1, stride=stride, bias=False),
                nn.BatchNorm2d(channels),
            )

    def forward(self, x: Tensor) -> Tensor:
        out = F.relu(self.bn1(self.conv1(x)), inplace=True)
        out = self.bn2(self.conv2(out))
        return F.relu(out + self.downsample(x), inplace=True)


class ResNet18(nn.Module):
    """ResNet-18 (He et al., 2016) without its classifier.

    Its parameters have torchvision's names, so torchvision's weights fit and ours fit torchvision's
    network.

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
        self.maxpool: nn.Module = nn.Identity()
        if stem == "imagenet":
            self.conv1 = nn.Conv2d(in_channels, 64, 7, stride=2, padding=3, bias=False)
            self.maxpool = nn.MaxPool2d(3, stride=2, padding=1)
        else:
            self.conv1 = Conv3x3(in_channels, 64)
        self.bn1 = nn.BatchNorm2d(64)
        self.layer1 = _layer(64, 64, stride=1)
        self.layer2 = _layer(64, 128, stride=2)
        self.layer3 = _layer(128, 256, stride=2)
        self.layer4 = _layer(256, 512, stride=2)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, images: Tensor) -> Tensor:
        maps = self.layer3(self.layer2(self.layer1(self.stem(images))))
        features: Tensor = self.layer4(maps).mean(dim=(2, 3))
        return features  # (n, 512)

    def stem(self, images: Tensor) -> Tensor:
        """Return the input of the first layer."""
        maps: Tensor = self.maxpool(F.relu(self.bn1(self.conv1(images)), inplace=True))
        return maps


def _layer(in_channels: int, channels: int, stride: int) -> nn.Sequential:
    return nn.Sequential(
        BasicBlock(in_channels, channels, stride), BasicBlock(channels, channels, 1)
    )


@register_encoder("resnet18")
def resnet18(image_shape: tuple[int, int, int]) -> ResNet18:
    """Return the paper's encoder."""
    return ResNet18(image_shape[0])


@register_encoder("resnet18_cifar")
def resnet18_cifar(image_shape: tuple[int, int, int]) -> ResNet18:
    """Return ResNet-18 with a 3x3 stem: 15 times the cost on 32x32 images."""
    return ResNet18(image_shape[0], stem="cifar")
