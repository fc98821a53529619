"""Load learners from files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from torch import Tensor, nn

from scale._errors import DamagedFileError, InputError
from scale._tensors import read_tensors
from scale.methods.core.learner import FORMAT, Learner
from scale.methods.core.registry import METHODS

OLDER = ("scale-learner-1",)


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
        The file.
    encoder
        The module, if the learner has an encoder of your own: the file holds its weights but not
        its architecture.
    method
        The method, if it is in a file of your own: ``path.py`` or ``path.py:Name``. `load` does
        not run the code that a learner's file names.
    device
        Device to compute on.
    """
    state, meta = read_tensors(Path(path))
    return restore(state, meta, encoder=encoder, method=method, device=device, origin=str(path))


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
    _check_format(meta, origin)
    params, shape = meta.get("params"), meta.get("image_shape")
    if not isinstance(params, dict) or not isinstance(shape, list) or len(shape) != 3:
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
    try:
        learner = made_by(**params)
        learner.start((shape[0], shape[1], shape[2]))
        learner.load_state_dict(state)
    except (TypeError, RuntimeError, KeyError) as error:
        raise DamagedFileError(
            f"{origin} does not fit this version of {meta.get('method')!r}: "
            f"{str(error).splitlines()[0]}"
        ) from error
    return learner


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
            f"{origin} was written by an older version of scale ({found}), whose parameters had "
            "other names; use it with scale-lifelong 0.1, or learn again"
        )
    if found != FORMAT:
        raise DamagedFileError(f"{origin} holds {found or 'something'!r}, not a learner ({FORMAT})")
