"""A small convolutional network for digits."""

from __future__ import annotations

from torch import Tensor, nn

from scale.models._conv import Conv3x3
from scale.models._registry import register_encoder


class CNN(nn.Module):
    """A network like LeNet: four small convolutions, the mean over the map, 128 features.

    Strides replace LeNet's pooling, which takes most of its time on a CPU. The mean replaces the
    linear layer, so features depend little on the position of a digit.
    """

    output_dim = 128

    def __init__(self, in_channels: int = 1, width: int = 16) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            _layer(in_channels, width, kernel_size=5, stride=2),
            _layer(width, 2 * width, kernel_size=3, stride=2),
            _layer(2 * width, 4 * width, kernel_size=3, stride=2),
            _after(Conv3x3(4 * width, self.output_dim)),
        )

    def forward(self, images: Tensor) -> Tensor:
        maps: Tensor = self.layers(images)
        return maps.mean(dim=(2, 3))  # (n, 128)


def _layer(in_channels: int, channels: int, kernel_size: int, stride: int) -> nn.Module:
    padding = kernel_size // 2
    return _after(nn.Conv2d(in_channels, channels, kernel_size, stride, padding, bias=False))


def _after(conv: nn.Conv2d) -> nn.Module:
    return nn.Sequential(conv, nn.BatchNorm2d(conv.out_channels), nn.ReLU(inplace=True))


@register_encoder("cnn")
def cnn(image_shape: tuple[int, int, int]) -> CNN:
    """Return a small network for MNIST and digits."""
    return CNN(image_shape[0])
