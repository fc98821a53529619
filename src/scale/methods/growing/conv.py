"""A small convolutional autoencoder."""

from __future__ import annotations

import math

from torch import Tensor, nn
from torch.nn import functional as F

from scale.models import ImageShape

CHANNELS = (12, 24, 48)


class ConvAutoencoder(nn.Module):
    """Three convolutions of 4x4 with stride 2, and back; padded to a multiple of 8."""

    def __init__(self, image_shape: ImageShape) -> None:
        super().__init__()
        channels, self.height, self.width = image_shape
        rows, columns = -(-self.height // 8), -(-self.width // 8)
        self._pad = (0, 8 * columns - self.width, 0, 8 * rows - self.height)
        self._map = (CHANNELS[-1], rows, columns)
        self.output_dim = math.prod(self._map)
        a, b, c = CHANNELS
        self.into = nn.Sequential(
            nn.Conv2d(channels, a, 4, stride=2, padding=1),
            nn.ReLU(),
            nn.Conv2d(a, b, 4, stride=2, padding=1),
            nn.ReLU(),
            nn.Conv2d(b, c, 4, stride=2, padding=1),
            nn.ReLU(),
        )
        self.back = nn.Sequential(
            nn.ConvTranspose2d(c, b, 4, stride=2, padding=1),
            nn.ReLU(),
            nn.ConvTranspose2d(b, a, 4, stride=2, padding=1),
            nn.ReLU(),
            nn.ConvTranspose2d(a, channels, 4, stride=2, padding=1),
            nn.Sigmoid(),
        )

    def encode(self, images: Tensor) -> Tensor:
        """Return features of images, (n, output_dim)."""
        maps: Tensor = self.into(F.pad(images, self._pad))
        return maps.flatten(1)

    def forward(self, images: Tensor) -> Tensor:
        maps = self.encode(images).view(len(images), *self._map)
        decoded: Tensor = self.back(maps)[:, :, : self.height, : self.width]
        return decoded  # (n, c, h, w)
