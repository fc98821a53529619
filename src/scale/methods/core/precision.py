"""The number format that encoders and projectors learn in."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any, Literal

import torch
from torch import Tensor, nn

Precision = Literal["fp32", "bf16", "auto"]

_ENTERED = threading.local()  # by thread: the contexts of its passes, and whether all are in fp32


def chosen(precision: str, device: str) -> str:
    """Return fp32 or bf16: for ``auto``, bf16 where the device multiplies it in hardware.

    Examples
    --------
    >>> chosen("bf16", "cpu")
    'bf16'
    """
    if precision != "auto":
        return precision
    kind = torch.device(device).type
    if kind == "cpu":
        fast = torch.cpu._is_amx_tile_supported() or torch.cpu._is_avx512_bf16_supported()
    else:
        fast = kind == "cuda" and torch.cuda.is_bf16_supported(including_emulation=False)
    return "bf16" if fast else "fp32"


def compute_in(module: nn.Module, precision: str) -> None:
    """Let the passes of a module compute in fp32 or in bf16.

    In bf16, matrix products and convolutions take bfloat16 numbers (autocast). Weights, running
    statistics and outputs are float32, and so is everything outside the module.
    """
    if precision == "bf16":
        module.register_forward_pre_hook(_enter)
        module.register_forward_hook(_leave, always_call=True)


@contextlib.contextmanager
def in_fp32() -> Iterator[None]:
    """Within the block, passes of this thread compute in fp32, whatever their precision."""
    before = getattr(_ENTERED, "fp32", False)
    _ENTERED.fp32 = True
    try:
        yield
    finally:
        _ENTERED.fp32 = before


def remove_precision(module: nn.Module) -> None:
    """Undo `compute_in` for a module and all inside it."""
    for inner in module.modules():
        for hooks, ours in ((inner._forward_pre_hooks, _enter), (inner._forward_hooks, _leave)):
            for key in [key for key, hook in hooks.items() if hook is ours]:
                del hooks[key]
                inner._forward_hooks_always_called.pop(key, None)


def _enter(module: nn.Module, inputs: tuple[Any, ...]) -> None:
    enabled = not getattr(_ENTERED, "fp32", False)
    context = torch.autocast(inputs[0].device.type, torch.bfloat16, enabled=enabled)
    context.__enter__()  # type: ignore[no-untyped-call]
    _ENTERED.__dict__.setdefault("contexts", []).append(context)


def _leave(module: nn.Module, inputs: tuple[Any, ...], output: Any) -> Any:
    _ENTERED.contexts.pop().__exit__(None, None, None)
    return output.float() if isinstance(output, Tensor) else output
