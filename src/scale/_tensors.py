"""Tensors and JSON in one safetensors file with a digest of its content. No pickle."""

from __future__ import annotations

import errno
import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from scale._errors import DamagedFileError, InputError
from scale._files import atomic_path, check_file

KEY = "scale"
REMEDY = "put back a copy of it, or make it again"


def write_tensors(path: Path, tensors: dict[str, Tensor], meta: dict[str, Any]) -> None:
    """Write tensors and JSON-able `meta` to `path`, whole or not at all."""
    # Copies: safetensors refuses tensors that share memory, as tied weights do.
    plain = {
        name: tensor.detach().cpu().clone(memory_format=torch.contiguous_format)
        for name, tensor in tensors.items()
    }
    meta = json.loads(json.dumps(meta, default=_plain))  # the digest needs JSON's text keys
    header = json.dumps({"meta": meta, "digest": _digest(plain, meta)})
    with atomic_path(path) as part:
        try:
            save_file(plain, part, metadata={KEY: header})
        except SafetensorError as error:
            # safetensors wraps the operating system's error in a text.
            raise _as_os_error(error) from error


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Return the tensors and the `meta` of a file that `write_tensors` wrote.

    Raises
    ------
    InputError
        There is no such file.
    DamagedFileError
        The file is truncated, altered, or not one of ours.
    """
    tensors, meta, check = open_tensors(path)
    check()
    return tensors, meta


def open_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, Any], Callable[[], None]]:
    """Do as `read_tensors`, and return a function that raises if the content was altered.

    It reads the whole file, which may take place beside other work.
    """
    path = Path(path)
    check_file(path)
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, ValueError) as error:
        raise DamagedFileError(
            f"{path} is damaged or not a safetensors file ({error}); {REMEDY}"
        ) from error
    if KEY not in metadata:
        raise DamagedFileError(f"{path} is a safetensors file, but not one written by scale")
    try:
        header = json.loads(metadata[KEY])
        meta, digest = header["meta"], header["digest"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise DamagedFileError(f"{path} is damaged: its header cannot be read; {REMEDY}") from error

    def check() -> None:
        if digest != _digest(tensors, meta):
            raise DamagedFileError(
                f"{path} is damaged: its content is not what was written; {REMEDY}"
            )

    return tensors, meta, check


def _digest(tensors: dict[str, Tensor], meta: dict[str, Any]) -> str:
    digest = hashlib.sha256(json.dumps(meta, sort_keys=True).encode())
    for name in sorted(tensors):
        tensor = tensors[name]
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    raise InputError(f"{value!r} cannot be written to a file; use numbers, texts and lists")


def _as_os_error(error: SafetensorError) -> Exception:
    text = str(error)
    found = re.search(r"os error (\d+)", text)
    return OSError(int(found[1]) if found else errno.EIO, text)
