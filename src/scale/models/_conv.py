"""3x3 convolutions of small maps with fewer multiplications."""

from __future__ import annotations

import functools

import torch
from torch import Tensor, nn
from torch.nn import functional as F

WINOGRAD_SIDES = (4, 8)  # larger maps gain less and need much memory
WINOGRAD_BATCH = 64  # in smaller batches, transforming the weights costs more than it saves
# With AVX-512, plain convolutions of these maps are faster.
WINOGRAD_PAYS = torch.backends.cpu.get_cpu_capability() != "AVX512"


class Conv3x3(nn.Conv2d):
    """`nn.Conv2d(kernel_size=3, padding=1, bias=False)` with fewer multiplications on small maps.

    On 1x1 and 2x2 maps it is one matrix product without the taps that see only padding. On 4x4 and
    8x8 maps of a large batch, with stride 1, it is Winograd's algorithm where that is faster.
    Parameters are those of `nn.Conv2d`, and results are equal up to rounding.
    """

    def __init__(self, in_channels: int, out_channels: int, stride: int = 1) -> None:
        super().__init__(in_channels, out_channels, 3, stride=stride, padding=1, bias=False)

    def forward(self, input: Tensor) -> Tensor:
        n, _, height, width = input.shape
        if max(height, width) <= 2:
            return small_map_conv3x3(input, self.weight, self.stride[0])
        small = height == width and height in WINOGRAD_SIDES and n >= WINOGRAD_BATCH
        # Winograd's algorithm needs the digits of fp32. On GPUs, cuDNN has its own.
        plain = input.device.type == "cpu" and not torch.is_autocast_enabled("cpu")
        if WINOGRAD_PAYS and small and self.stride == (1, 1) and plain:
            return winograd_conv3x3(input, self.weight)
        return super().forward(input)


def small_map_conv3x3(maps: Tensor, weight: Tensor, stride: int) -> Tensor:
    """Return the 3x3 convolution with padding 1 of maps up to 2x2, by one matrix product."""
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


def winograd_conv3x3(maps: Tensor, weight: Tensor) -> Tensor:
    """Return the 3x3 convolution with padding 1 of square maps, by F(4x4, 3x3).

    The side must be a multiple of 4. Each tile of 4x4 outputs takes 36 products of (n, c_in) and
    (c_in, c_out) matrices instead of 144 (Lavin and Gray, 2016). Intermediate tensors have the map
    first in memory, so that every step is a plain matrix product.
    """
    n, c_in, side, _ = maps.shape
    c_out, tiles = weight.shape[0], side // 4
    into, kernel, back = _winograd_matrices(side, maps.dtype, maps.device)
    points = len(into)  # 6 for each tile, in each direction
    x = into @ maps.permute(2, 3, 0, 1).reshape(side, side * n * c_in)
    x = into @ x.view(points, side, n * c_in)  # (points, points, n * c_in)
    w = kernel @ weight.permute(2, 3, 1, 0).reshape(9, c_in * c_out)
    w = w.view(6, 6, c_in, c_out)[None, :, None].expand(tiles, 6, tiles, 6, c_in, c_out)
    w = w.reshape(points * points, c_in, c_out)
    y = torch.bmm(x.view(points * points, n, c_in), w)  # (points * points, n, c_out)
    y = back @ y.view(points, points * n * c_out)
    y = back @ y.view(side, points, n * c_out)  # (side, side, n * c_out)
    y = y.view(side, side, n, c_out).permute(2, 0, 1, 3).contiguous()
    return y.permute(0, 3, 1, 2)  # channels last in memory


@functools.cache
def _winograd_matrices(
    side: int, dtype: torch.dtype, device: torch.device
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the matrices from a map's rows to points, a kernel to points, and points to rows.

    The interpolation points are 0, 1, -1, 2, -2 and infinity. The first matrix includes the
    padding: it has no columns for pixels outside the map. The same matrices transform rows, then
    columns.
    """
    tile_in = [
        [4, 0, -5, 0, 1, 0],
        [0, -4, -4, 1, 1, 0],
        [0, 4, -4, -1, 1, 0],
        [0, -2, -1, 2, 1, 0],
        [0, 2, -1, -2, 1, 0],
        [0, 4, 0, -5, 0, 1],
    ]
    tile_out = [[1, 1, 1, 1, 1, 0], [0, 1, -1, 2, -2, 0], [0, 1, 1, 4, 4, 0], [0, 1, -1, 8, -8, 1]]
    taps = [[6, 0, 0], [-4, -4, -4], [-4, 4, -4], [1, 2, 4], [1, -2, 4], [0, 0, 24]]
    tiles = side // 4
    into = torch.zeros(tiles, 6, side + 2, dtype=dtype, device=device)
    back = torch.zeros(tiles, 4, tiles, 6, dtype=dtype, device=device)
    for tile in range(tiles):
        into[tile, :, 4 * tile : 4 * tile + 6] = into.new_tensor(tile_in)
        back[tile, :, tile] = into.new_tensor(tile_out)
    kernel = into.new_tensor(taps) / 24
    into = into.view(6 * tiles, side + 2)[:, 1:-1].contiguous()
    return into, torch.kron(kernel, kernel), back.view(side, 6 * tiles)
