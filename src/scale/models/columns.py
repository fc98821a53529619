"""Progressive networks: columns of one architecture; only the newest learns."""

from __future__ import annotations

from typing import Self

import torch
from torch import Tensor, nn

from scale.models.cnn import CNN
from scale.models.resnet import ResNet, ResNet18, ResNet34, ResNet50


class Columns(nn.Module):
    """An encoder that grows: the newest column returns the features, older ones are frozen.

    Older columns are always in evaluation mode, so neither their weights nor their BatchNorm
    statistics change.

    Parameters
    ----------
    encoder
        The first column.

    Examples
    --------
    >>> encoder = Columns(CNN())
    >>> encoder.grow(CNN(), torch.zeros(1, 1, 28, 28))
    >>> len(encoder.columns), encoder(torch.zeros(5, 1, 28, 28)).shape
    (2, torch.Size([5, 128]))
    """

    def __init__(self, encoder: nn.Module) -> None:
        super().__init__()
        self.columns = nn.ModuleList([Column(encoder, [])])

    def forward(self, images: Tensor) -> Tensor:
        *older, newest = self.columns
        outputs: list[list[Tensor]] = []  # of each older column, after each of its stages
        with torch.no_grad():
            for column in older:
                outputs.append(column(images, outputs))
        features: Tensor = newest(images, outputs)[-1]
        return features  # (n, d)

    def grow(self, encoder: nn.Module, example: Tensor) -> None:
        """Freeze the columns and add one that learns.

        Parameters
        ----------
        encoder
            The new column, with the architecture of the others. Torch's default generator draws
            its adapters.
        example
            Images of the stream's shape, (n, c, h, w), to find the sizes of the adapters.
        """
        self.requires_grad_(False)
        self.zero_grad()
        self.eval()
        outputs: list[list[Tensor]] = []
        for column in self.columns:
            outputs.append(column(example, outputs))
        adapters = [_adapter(len(outputs), output) for output in outputs[0]]
        self.columns.append(Column(encoder, adapters))
        self.train()

    def train(self, mode: bool = True) -> Self:
        super().train(mode)
        for column in list(self.columns)[:-1]:
            column.eval()
        return self


class Column(nn.Module):
    """One encoder whose stages also get the older columns' outputs of the stage before.

    Rusu et al. compute W x + U relu(V alpha a), with x the column's own input and a the outputs of
    the older columns. Here the layer computes W (x + relu(V alpha a)). So U is W, which fits any
    layer, also blocks with shortcuts and the projector. V is a 1x1 convolution, or linear for
    features.
    """

    def __init__(self, encoder: nn.Module, adapters: list[nn.Module]) -> None:
        super().__init__()
        self.encoder = encoder
        self.adapters = nn.ModuleList(adapters)
        self._stages = tuple(stages(encoder))  # a tuple: parameters belong to the encoder

    def forward(self, images: Tensor, older: list[list[Tensor]]) -> list[Tensor]:
        """Return the outputs after each stage, given those of the older columns."""
        x, outputs = images, []
        for i, stage in enumerate(self._stages):
            x = stage(x)
            if older:
                x = x + self.adapters[i](torch.cat([column[i] for column in older], dim=1))
            outputs.append(x)
        return outputs


class Scale(nn.Module):
    """The paper's alpha: a learned factor that starts small.

    So the newest column can learn before the older columns' outputs dominate.
    """

    def __init__(self) -> None:
        super().__init__()
        self.alpha = nn.Parameter(torch.tensor(0.1))

    def forward(self, outputs: Tensor) -> Tensor:
        return self.alpha * outputs


class MeanOverMap(nn.Module):
    """The mean over the map: (n, c, h, w) to (n, c)."""

    def forward(self, maps: Tensor) -> Tensor:
        return maps.mean(dim=(2, 3))


def stages(encoder: nn.Module) -> list[nn.Module]:
    """Return the stages of an encoder, modules whose composition is the encoder.

    They are the four resolutions of a ResNet or the layers of a CNN. Any other module is one stage.

    Examples
    --------
    >>> [len(stages(module)) for module in (ResNet18(), CNN(), nn.Flatten())]
    [4, 4, 1]
    """
    if type(encoder) in (ResNet18, ResNet34, ResNet50):  # a subclass may compute something else
        assert isinstance(encoder, ResNet)
        stem = nn.Sequential(
            encoder.conv1, encoder.bn1, nn.ReLU(inplace=True), encoder.maxpool, encoder.layer1
        )
        return [
            *(stem, encoder.layer2, encoder.layer3),
            nn.Sequential(encoder.layer4, MeanOverMap()),
        ]
    if type(encoder) is CNN:
        *layers, last = encoder.layers
        return [*layers, nn.Sequential(last, MeanOverMap())]
    return [encoder]


def _adapter(columns: int, output: Tensor) -> nn.Module:
    """Return an adapter from the stacked outputs of the older columns to the size of one."""
    size = output.shape[1]
    linear = nn.Linear if output.ndim == 2 else _conv1x1
    return nn.Sequential(Scale(), linear(columns * size, size), nn.ReLU())


def _conv1x1(in_channels: int, out_channels: int) -> nn.Module:
    return nn.Conv2d(in_channels, out_channels, 1)
