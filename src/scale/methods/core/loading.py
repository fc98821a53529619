"""Load learners from files."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeGuard

import torch
from torch import Tensor, nn

from scale._errors import DamagedFileError, InputError, ScaleError
from scale._hub import LEARNER, PREFIX, download
from scale._images import CHANNELS
from scale._machine import in_words
from scale._schema import misfit
from scale._tensors import open_tensors
from scale.methods.core.allocation import AtMost
from scale.methods.core.learner import FORMAT, Learner
from scale.methods.core.registry import METHODS
from scale.models._rng import restored_later

OLDER = ("scale-learner-1", "scale-learner-2")
BESIDE = 2**28  # bytes of one tensor that a learner may make beside its state


def load(
    path: str | Path,
    *,
    encoder: nn.Module | None = None,
    method: str | None = None,
    device: str = "cpu",
) -> Learner:
    """Return the learner that `Learner.save` wrote.

    Parameters
    ----------
    path
        The file, or ``hf:owner/name`` for a model on the Hugging Face hub.
    encoder
        The module, if the learner has an encoder of your own: the file holds its weights but not
        its architecture.
    method
        The method, if it is in a file of your own: ``path.py`` or ``path.py:Name``. `load` does
        not run the code that a learner's file names.
    device
        Device to compute on.
    """
    if not isinstance(path, str | os.PathLike):
        raise InputError(f"path must be the path of a saved learner, got {path!r}")
    if encoder is not None and not isinstance(encoder, nn.Module):
        raise InputError(f"encoder must be a torch.nn.Module, got {encoder!r}")
    origin = str(path)
    if origin.startswith(PREFIX):
        path = download(origin.removeprefix(PREFIX), LEARNER)
    state, meta, check = open_tensors(Path(path))
    with ThreadPoolExecutor(1) as beside:
        intact = beside.submit(check)
        try:
            learner = restore(
                state, meta, encoder=encoder, method=method, device=device, origin=origin
            )
        finally:
            intact.result()  # says that the file is damaged, rather than what follows from it
    return learner


def restore(
    state: dict[str, Tensor],
    meta: dict[str, Any],
    *,
    encoder: nn.Module | None = None,
    method: str | None = None,
    device: str = "cpu",
    origin: str = "the file",
) -> Learner:
    """Return the learner with this state and description."""
    learner = _start(state, meta, encoder, method, device, origin)
    put_state(learner, state, origin)
    return learner


def _start(
    state: dict[str, Tensor],
    meta: dict[str, Any],
    encoder: nn.Module | None,
    method: str | None,
    device: str,
    origin: str,
) -> Learner:
    """Return the learner of a description, which does not have its state yet."""
    if not isinstance(state, dict) or not all(map(_is_dense, state.values())):
        raise InputError(f"the state of {origin} must be a dict of dense tensors")
    _check_format(meta, origin)
    params, shape = meta.get("params"), meta.get("image_shape")
    if not isinstance(params, dict) or not _is_shape(shape):
        raise DamagedFileError(f"{origin} is damaged: it has no parameters or no image shape")
    params = {**params, "device": device}
    if encoder is not None:
        params["encoder"] = encoder
    elif str(params.get("encoder", "")).startswith("module:"):
        raise InputError(
            f"{origin} was saved with an encoder of your own ({params['encoder'][7:]}); pass the "
            "module again: scale.load(path, encoder=...)"
        )
    made_by = _method_of(meta, method, origin)
    size = sum(tensor.nbytes for tensor in state.values())
    with _telling_of(origin, str(meta.get("method"))):
        learner = made_by(**params)
        learner.recall(meta)
        # Every tensor of the state is in the file, so no larger one can belong to it.
        with AtMost(max(size, BESIDE), f"its file holds {in_words(size)}"), restored_later():
            learner.start((shape[0], shape[1], shape[2]))
    return learner


def _is_dense(value: object) -> bool:
    return isinstance(value, Tensor) and value.layout is torch.strided


def put_state(learner: Learner, state: dict[str, Tensor], origin: str) -> None:
    """Restore the state of a started learner; raise `DamagedFileError` if it does not fit."""
    with _telling_of(origin, learner.name):
        images = state.get("memory.images")
        if images is not None and len(images) and tuple(images.shape[1:]) != learner.image_shape_:
            raise DamagedFileError(
                f"its memory has images of shape {tuple(images.shape[1:])}, and the learner those "
                f"of {learner.image_shape_}"
            )
        learner.load_state_dict(state)


@contextlib.contextmanager
def _telling_of(origin: str, method: str) -> Iterator[None]:
    """Turn errors about a learner's description or state into errors about its file."""
    try:
        yield
    except ScaleError as error:
        kind = InputError if isinstance(error, InputError) else DamagedFileError
        raise kind(f"{origin} cannot be used as a {method!r}: {error}") from error
    except (TypeError, RuntimeError, LookupError, ValueError, ArithmeticError) as error:
        raise DamagedFileError(
            f"{origin} does not fit this version of {method!r}: {str(error).splitlines()[0]}"
        ) from error


def _is_shape(shape: object) -> TypeGuard[list[int]]:
    if not isinstance(shape, list) or misfit(shape, tuple[int, int, int]) is not None:
        return False
    return shape[0] in CHANNELS and min(shape) >= 1


def _method_of(meta: dict[str, Any], given: str | None, origin: str) -> type[Learner]:
    """Return the method of a description; a method in a file must be imported or given."""
    if given is not None:
        return METHODS[given]
    name, place = meta.get("method"), meta.get("file")
    for known in (place, name):
        if isinstance(known, str) and known in METHODS:
            return METHODS[known]
    raise InputError(
        f"{origin} needs the method {name!r}, which is not known here; it is in "
        f"{place or 'a file of your own or another package'}: import that, or pass it as "
        f"scale.load(path, method={place or 'path.py'!r})"
    )


def _check_format(meta: object, origin: str) -> None:
    found = meta.get("format") if isinstance(meta, dict) else None
    if found in OLDER:
        raise DamagedFileError(
            f"{origin} was written by an older version of scale ({found}), whose state was "
            "another; use it with that version, or learn again"
        )
    if found != FORMAT:
        raise DamagedFileError(f"{origin} holds {found or 'something'!r}, not a learner ({FORMAT})")
