"""A 3x3 convolution that does not multiply zeros when the map is tiny."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class Conv3x3(nn.Conv2d):
    """`nn.Conv2d(kernel_size=3, padding=1, bias=False)`, as one matrix product on 1x1 and 2x2 maps.

    On such a map every output sees the whole input, so the convolution is linear in the flattened
    map; a padded kernel would multiply zeros for 5/9 (2x2) or 8/9 (1x1) of its taps. Parameters and
    results are those of `nn.Conv2d`.
    """

    def __init__(self, in_channels: int, out_channels: int, stride: int = 1) -> None:
        super().__init__(in_channels, out_channels, 3, stride=stride, padding=1, bias=False)

    def forward(self, input: Tensor) -> Tensor:
        if max(input.shape[2:]) > 2:
            return super().forward(input)
        return small_map_conv3x3(input, self.weight, self.stride[0])


def small_map_conv3x3(maps: Tensor, weight: Tensor, stride: int) -> Tensor:
    """3x3 convolution with padding 1 of maps of at most 2x2, as one matrix product."""
    n, c_in, height, width = maps.shape
    c_out = weight.shape[0]
    rows = range((height - 1) // stride + 1)
    columns = range((width - 1) // stride + 1)
    # The output at (i, j) sees the input through the taps that fall inside the map.
    taps = [
        weight[
            :, :, 1 - i * stride : 1 - i * stride + height, 1 - j * stride : 1 - j * stride + width
        ]
        for i in rows
        for j in columns
    ]
    matrix = torch.stack(taps).permute(0, 1, 3, 4, 2)  # (out map, c_out, h, w, c_in)
    flat = maps.permute(0, 2, 3, 1).reshape(n, height * width * c_in)
    out = F.linear(flat, matrix.reshape(len(taps) * c_out, height * width * c_in))
    out = out.view(n, len(rows), len(columns), c_out)
    return out.permute(0, 3, 1, 2)  # channels last in memory
