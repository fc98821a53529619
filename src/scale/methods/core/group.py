"""One learner in several processes: each encodes a part of the views, all see all features.

Every process has the same learner, the same batches and the same random numbers. Only the passes
through an encoder are divided. Features are gathered with their gradients, so each loss is that of
the whole batch, and batch normalisation uses the statistics of the whole batch. All processes then
make the same update.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn.modules.batchnorm import _BatchNorm

from scale._errors import InputError
from scale.models import never_draws


def make_group(backend: str, **options: Any) -> None:
    """Make torch's default process group."""
    # Functions of this module keep the group that is there when it is imported. Imported later, it
    # would keep gloo's threads alive at the end of the process, which then may abort.
    importlib.import_module("torch.distributed.nn")
    dist.init_process_group(backend, **options)


class Group:
    """The processes that learn together: torch's default process group.

    Attributes
    ----------
    rank, size
        Number of this process, and of all processes.
    """

    def __init__(self) -> None:
        self.rank, self.size = dist.get_rank(), dist.get_world_size()

    def encode(self, encoder: nn.Module, views: Tensor) -> Tensor:
        """Return the encoder's features of all views, (views, d), with gradients.

        The gradient of every parameter is that of the whole batch, in all processes.
        """
        if not never_draws(encoder):
            raise InputError(
                "an encoder that draws random numbers, as dropout does, cannot learn in several "
                "processes; run it in one"
            )
        if len(views) < self.size:
            features: Tensor = encoder(views)
            return features
        names, parameters = zip(*encoder.named_parameters(), strict=True)
        with _whole_batch_norm(encoder):
            summed = _SumGradients.apply(*parameters)  # type: ignore[no-untyped-call]
            mine = views[self._rows(len(views))]
            h = functional_call(encoder, dict(zip(names, summed, strict=True)), (mine,))
        gathered: Tensor = _GatherRows.apply(  # type: ignore[no-untyped-call]
            h, self.rank, self._counts(len(views))
        )
        return gathered

    def divide(self, encode: Callable[[Tensor], Tensor], images: Tensor) -> Tensor:
        """Return `encode(images)`, of which each process computes some rows; no gradients."""
        if len(images) < self.size:
            return encode(images)
        with torch.no_grad():
            return gather_rows(encode(images[self._rows(len(images))]), self._counts(len(images)))

    def _counts(self, n: int) -> list[int]:
        return [n // self.size + (rank < n % self.size) for rank in range(self.size)]

    def _rows(self, n: int) -> slice:
        counts = self._counts(n)
        first = sum(counts[: self.rank])
        return slice(first, first + counts[self.rank])


def gather_rows(rows: Tensor, counts: Sequence[int]) -> Tensor:
    """Return the rows of all processes, in the order of their ranks; `counts` rows each."""
    rows = rows.contiguous()
    padded = rows.new_zeros(max(counts), *rows.shape[1:])
    padded[: len(rows)] = rows
    parts = [torch.empty_like(padded) for _ in counts]
    dist.all_gather(parts, padded)
    return torch.cat([part[:count] for part, count in zip(parts, counts, strict=True)])


class _GatherRows(torch.autograd.Function):
    """`gather_rows`; a process passes the gradient of its own rows on."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, rank: int, counts: list[int]) -> Tensor:
        ctx.mine = (sum(counts[:rank]), counts[rank])
        return gather_rows(rows, counts)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        first, count = ctx.mine
        return gradients[0][first : first + count].contiguous(), None, None


class _SumGradients(torch.autograd.Function):
    """Parameters unchanged; their gradients are summed over all processes in one message."""

    @staticmethod
    def forward(ctx: Any, *parameters: Tensor) -> tuple[Tensor, ...]:
        ctx.wanted = [p.requires_grad for p in parameters]
        return tuple(p.view_as(p) for p in parameters)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        flat = torch.cat(
            [g.reshape(-1) for g, wanted in zip(gradients, ctx.wanted, strict=True) if wanted]
        )
        dist.all_reduce(flat)
        summed: list[Tensor | None] = []
        for gradient, wanted in zip(gradients, ctx.wanted, strict=True):
            part = None
            if wanted:
                part, flat = flat[: gradient.numel()].view_as(gradient), flat[gradient.numel() :]
            summed.append(part)
        return tuple(summed)


@contextlib.contextmanager
def _whole_batch_norm(encoder: nn.Module) -> Iterator[None]:
    """Within the block, batch normalisation in training mode uses the batch of all processes."""
    layers = [m for m in encoder.modules() if isinstance(m, _BatchNorm) and m.training]
    for layer in layers:
        layer.forward = functools.partial(_whole_batch, layer)  # type: ignore[method-assign]
    try:
        yield
    finally:
        for layer in layers:
            del layer.forward


def _whole_batch(layer: _BatchNorm, x: Tensor) -> Tensor:
    """Return a batch normalisation layer's output with the statistics of all processes.

    Statistics are in fp32 at least, as those of torch's layer are.
    """
    wide = x.float() if x.dtype == torch.bfloat16 else x
    y, mean, variance, count = _Normalise.apply(  # type: ignore[no-untyped-call]
        wide, layer.weight, layer.bias, layer.eps
    )
    if layer.track_running_stats:
        assert layer.running_mean is not None
        assert layer.running_var is not None
        assert layer.num_batches_tracked is not None
        layer.num_batches_tracked.add_(1)
        momentum = layer.momentum
        if momentum is None:  # a cumulative mean
            momentum = 1 / float(layer.num_batches_tracked)
        unbiased = variance * (count / (count - 1).clamp(min=1))
        layer.running_mean.lerp_(mean, momentum)
        layer.running_var.lerp_(unbiased, momentum)
    return y.to(x.dtype)  # type: ignore[no-any-return]


class _Normalise(torch.autograd.Function):
    """Batch normalisation with statistics over the rows of all processes."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        axes = [axis for axis in range(x.ndim) if axis != 1]
        of_channel = (1, -1, *[1] * (x.ndim - 2))
        sums = torch.cat([x.sum(axes), x.new_tensor([x.numel() / x.shape[1]])])
        dist.all_reduce(sums)
        count = sums[-1]
        mean = sums[:-1] / count
        centred = x - mean.view(of_channel)
        variance = centred.square().sum(axes)
        dist.all_reduce(variance)
        variance = variance / count
        scale = (variance + eps).rsqrt()
        normal = centred.mul_(scale.view(of_channel))
        ctx.save_for_backward(normal, scale, weight, count)
        ctx.axes, ctx.of_channel = axes, of_channel
        ctx.mark_non_differentiable(mean, variance, count)
        y = normal
        if weight is not None:
            assert bias is not None
            y = normal * weight.view(of_channel) + bias.view(of_channel)
        return y, mean, variance, count

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        normal, scale, weight, count = ctx.saved_tensors
        dy, axes, of_channel = gradients[0], ctx.axes, ctx.of_channel
        of_bias, of_weight = dy.sum(axes), (dy * normal).sum(axes)  # of the rows of this process
        sums = torch.cat([of_bias, of_weight])
        dist.all_reduce(sums)
        mean_dy, mean_dy_normal = (sums / count).view(2, -1)
        dx = dy - mean_dy.view(of_channel) - normal * mean_dy_normal.view(of_channel)
        factor = scale if weight is None else scale * weight
        dx = dx * factor.view(of_channel)
        if weight is None:
            return dx, None, None, None
        return dx, of_weight, of_bias, None
