"""3x3 convolutions of small maps with fewer multiplications."""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.grad import conv2d_input

WINOGRAD_SIDES = (4, 8)  # larger maps gain less and need much memory
WINOGRAD_BATCH = 64  # in smaller batches, transforming the weights costs more than it saves
STRIDED_SIDE = 8  # on larger maps, the windows of all outputs need much memory
# With AVX-512, plain convolutions of these maps are faster.
WINOGRAD_PAYS = torch.backends.cpu.get_cpu_capability() != "AVX512"


class Conv3x3(nn.Conv2d):
    """`nn.Conv2d(kernel_size=3, padding=1, bias=False)` with less work on small maps.

    On 1x1 and 2x2 maps it is one matrix product without the taps that see only padding. On maps up
    to 8x8 with stride 2, the gradient of the weights is one. On 4x4 and 8x8 maps of a large batch,
    with stride 1, it is Winograd's algorithm where that is faster. Parameters are those of
    `nn.Conv2d`, and results are equal up to rounding.
    """

    def __init__(self, in_channels: int, out_channels: int, stride: int = 1) -> None:
        super().__init__(in_channels, out_channels, 3, stride=stride, padding=1, bias=False)

    def forward(self, input: Tensor) -> Tensor:
        n, _, height, width = input.shape
        stride = self.stride[0]
        if max(height, width) <= 2:
            return _convolve(_TinyMaps, input, self.weight, stride)
        if stride == 2 and max(height, width) <= STRIDED_SIDE:
            return _convolve(_Strided, input, self.weight, stride)
        small = height == width and height in WINOGRAD_SIDES and n >= WINOGRAD_BATCH
        # Winograd's algorithm needs the digits of fp32. On GPUs, cuDNN has its own.
        plain = input.device.type == "cpu" and not torch.is_autocast_enabled("cpu")
        if WINOGRAD_PAYS and small and stride == 1 and plain:
            return winograd_conv3x3(input, self.weight)
        return super().forward(input)


class Shortcut1x1(nn.Conv2d):
    """`nn.Conv2d(kernel_size=1, bias=False)`, with a stride as a product of the pixels it sees."""

    def __init__(self, in_channels: int, out_channels: int, stride: int) -> None:
        super().__init__(in_channels, out_channels, 1, stride=stride, bias=False)

    def forward(self, input: Tensor) -> Tensor:
        if self.stride == (1, 1) or max(input.shape[2:]) > STRIDED_SIDE:
            return super().forward(input)
        return _convolve(_Pixels, input, self.weight, self.stride[0])


def _convolve(kind: Any, maps: Tensor, weight: Tensor, stride: int) -> Tensor:
    """Apply a kind of convolution; under autocast it computes in autocast's numbers."""
    device = maps.device.type
    casts = torch.is_autocast_enabled(device) and maps.dtype != torch.float64
    dtype = torch.get_autocast_dtype(device) if casts else maps.dtype
    if torch.is_grad_enabled() and (maps.requires_grad or weight.requires_grad):
        out: Tensor = kind.apply(maps, weight, stride, dtype)
    else:
        out = kind.of(maps.to(dtype), weight, stride)
    return out


class _TinyMaps(torch.autograd.Function):
    """The 3x3 convolution with padding 1 of maps up to 2x2, by one matrix product."""

    @staticmethod
    def of(maps: Tensor, weight: Tensor, stride: int) -> Tensor:
        n, _, height, width = maps.shape
        out = F.linear(_rows(maps), _matrix(maps, weight, stride))
        out = out.view(n, (height - 1) // stride + 1, (width - 1) // stride + 1, len(weight))
        return out.permute(0, 3, 1, 2)  # channels last in memory

    @staticmethod
    def forward(ctx: Any, maps: Tensor, weight: Tensor, stride: int, dtype: torch.dtype) -> Tensor:
        ctx.save_for_backward(maps, weight)
        ctx.stride, ctx.dtype = stride, dtype
        return _TinyMaps.of(maps.to(dtype), weight, stride)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        before, weight = ctx.saved_tensors
        maps, of_out = before.to(ctx.dtype), _rows(gradients[0])
        of_maps = of_weight = None
        if ctx.needs_input_grad[0]:
            of_maps = (of_out @ _matrix(maps, weight, ctx.stride)).to(before.dtype)
            of_maps = of_maps.view(len(maps), *maps.shape[2:], -1).permute(0, 3, 1, 2)
        if ctx.needs_input_grad[1]:
            products = of_out.T @ _rows(maps)
            taps = _taps(maps, ctx.stride)
            of_taps = products.view(len(taps), len(weight), *maps.shape[2:], maps.shape[1])
            summed = weight.new_zeros(len(weight), 3, 3, maps.shape[1])
            for (i, j), part in zip(taps, of_taps, strict=True):
                summed[:, i, j] += part
            of_weight = summed.permute(0, 3, 1, 2)
        return of_maps, of_weight, None, None


def _matrix(maps: Tensor, weight: Tensor, stride: int) -> Tensor:
    """Return the weights as the matrix from rows of maps to rows of outputs."""
    kernel = weight.permute(0, 2, 3, 1)  # (c_out, 3, 3, c_in)
    taps = [kernel[:, i, j].to(maps.dtype) for i, j in _taps(maps, stride)]
    return torch.stack(taps).view(len(taps) * len(weight), -1)


def _taps(maps: Tensor, stride: int) -> list[tuple[slice, slice]]:
    """Return, for each output position, the taps of the kernel that fall inside the map."""
    rows, columns = (
        [slice(1 - at, 1 - at + side) for at in range(0, side, stride)] for side in maps.shape[2:]
    )
    return [(i, j) for i in rows for j in columns]


def _rows(maps: Tensor) -> Tensor:
    """Return maps as rows, (n, h * w * c)."""
    return maps.permute(0, 2, 3, 1).reshape(len(maps), -1)


def _pixels(maps: Tensor) -> Tensor:
    """Return the pixels of maps as rows, (n * h * w, c)."""
    return maps.permute(0, 2, 3, 1).flatten(0, 2)


class _Strided(torch.autograd.Function):
    """The 3x3 convolution with padding 1; the gradient of its weights is one matrix product."""

    @staticmethod
    def of(maps: Tensor, weight: Tensor, stride: int) -> Tensor:
        return F.conv2d(maps, weight.to(maps.dtype), stride=stride, padding=1)

    @staticmethod
    def forward(ctx: Any, maps: Tensor, weight: Tensor, stride: int, dtype: torch.dtype) -> Tensor:
        ctx.save_for_backward(maps, weight)
        ctx.stride, ctx.dtype = stride, dtype
        return _Strided.of(maps.to(dtype), weight, stride)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        before, weight = ctx.saved_tensors
        maps, of_out = before.to(ctx.dtype), gradients[0]
        of_maps = of_weight = None
        if ctx.needs_input_grad[0]:
            kernel = weight.to(ctx.dtype)
            of_maps = conv2d_input(maps.shape, kernel, of_out, ctx.stride, 1)  # type: ignore[no-untyped-call]
            of_maps = of_maps.to(before.dtype)
        if ctx.needs_input_grad[1]:
            products = _pixels(of_out).T @ _windows(maps, ctx.stride)  # (c_out, 9 * c_in)
            products = products.view(len(weight), 3, 3, -1).permute(0, 3, 1, 2)
            of_weight = products.to(weight.dtype)
        return of_maps, of_weight, None, None


def _windows(maps: Tensor, stride: int) -> Tensor:
    """Return the pixels that each output of a 3x3 convolution sees, one output a row."""
    padded = F.pad(maps.permute(0, 2, 3, 1), (0, 0, 1, 1, 1, 1))
    windows = padded.unfold(1, 3, stride).unfold(2, 3, stride)  # (n, out_h, out_w, c_in, 3, 3)
    return windows.permute(0, 1, 2, 4, 5, 3).flatten(3).flatten(0, 2)


class _Pixels(torch.autograd.Function):
    """The 1x1 convolution, as a product of the pixels that it sees."""

    @staticmethod
    def of(maps: Tensor, weight: Tensor, stride: int) -> Tensor:
        seen = maps[:, :, ::stride, ::stride]
        out = _pixels(seen) @ weight.flatten(1).to(maps.dtype).T
        return out.view(len(maps), *seen.shape[2:], len(weight)).permute(0, 3, 1, 2)

    @staticmethod
    def forward(ctx: Any, maps: Tensor, weight: Tensor, stride: int, dtype: torch.dtype) -> Tensor:
        ctx.save_for_backward(maps, weight)
        ctx.stride, ctx.dtype = stride, dtype
        return _Pixels.of(maps.to(dtype), weight, stride)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        before, weight = ctx.saved_tensors
        seen, of_out = before[:, :, :: ctx.stride, :: ctx.stride], _pixels(gradients[0])
        of_maps = of_weight = None
        if ctx.needs_input_grad[0]:
            of_seen = of_out @ weight.flatten(1).to(ctx.dtype)
            of_seen = of_seen.view(len(seen), *seen.shape[2:], -1).permute(0, 3, 1, 2)
            of_maps = torch.zeros_like(before)
            of_maps[:, :, :: ctx.stride, :: ctx.stride] = of_seen
        if ctx.needs_input_grad[1]:
            products = of_out.T @ _pixels(seen).to(ctx.dtype)
            of_weight = products.to(weight.dtype).view_as(weight)
        return of_maps, of_weight, None, None


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
