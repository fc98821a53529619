"""The number format that encoders and projectors compute in."""

from __future__ import annotations

import threading
from typing import Any, Literal

import torch
from torch import Tensor, nn

Precision = Literal["fp32", "bf16", "auto"]

_ENTERED = threading.local()  # the contexts of the passes of each thread


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


def _enter(module: nn.Module, inputs: tuple[Any, ...]) -> None:
    context = torch.autocast(inputs[0].device.type, torch.bfloat16)
    context.__enter__()  # type: ignore[no-untyped-call]
    _ENTERED.__dict__.setdefault("contexts", []).append(context)


def _leave(module: nn.Module, inputs: tuple[Any, ...], output: Any) -> Any:
    _ENTERED.contexts.pop().__exit__(None, None, None)
    return output.float() if isinstance(output, Tensor) else output
