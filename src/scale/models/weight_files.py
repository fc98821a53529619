"""Files with pretrained weights: find, read and check them; no file can run code."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor, nn

from scale._errors import DamagedFileError, InputError
from scale._files import read_text
from scale._names import shown
from scale._schema import read_table
from scale.models.weights import Facts, Tensors

CLASSIFIERS = ("fc.", "_fc.", "classifier.", "head.")
"""First parts of the names of a network's classifier, which an encoder does not need."""
COUNTER = "num_batches_tracked"  # of BatchNorm; older files lack it, and it has no effect here
INSIDE = ("state_dict", "model", "model_state_dict")  # where a .pth may keep the weights
WRAPPERS = ("module.", "_orig_mod.")  # before all names, from DataParallel and torch.compile


class Found(NamedTuple):
    """Weights as their source has them."""

    network: str
    state: Tensors
    facts: Facts
    config: dict[str, Any]
    """Configuration of a network of transformers; empty for others."""


def find_weights(file: str) -> Path:
    """Return the path of a file with weights, here or in ``$SCALE_WEIGHTS``."""
    if not file:
        raise InputError("no file is named after the @; write NETWORK@FILE")
    path = Path(file).expanduser()
    shared = os.environ.get("SCALE_WEIGHTS")
    places = list(dict.fromkeys([path, *([Path(shared) / path] if shared else [])]))
    for place in places:
        if place.is_file():
            return place
    unset = "" if shared else "; SCALE_WEIGHTS, a folder to search too, is not set"
    raise InputError(f"there is no file {' nor '.join(map(str, places))}{unset}; check the path")


def read_weight_file(network: str, path: Path) -> Found:
    """Return the weights in a file and what it and the .json beside it say about them."""
    if path.suffix in (".pth", ".pt"):
        state, told = _read_torch(path), dict[str, str]()
    else:
        state, told = read_safetensors(path)
    beside = _beside(path)
    facts = {**_usable(told, path), **beside, "sha256": sha256_of(path)}
    wanted = beside.get("sha256")
    if wanted is not None and wanted != facts["sha256"]:
        raise DamagedFileError(
            f"the SHA-256 of {path} is {facts['sha256'][:16]}..., and {path.with_suffix('.json')} "
            f"says {str(wanted)[:16]}...; get the file again"
        )
    found = read_table(facts, Facts, str(path.with_suffix(".json") if beside else path))
    return Found(network, state, found, {})


def read_safetensors(path: Path) -> tuple[Tensors, dict[str, str]]:
    """Return the tensors and the texts of a safetensors file."""
    try:
        with safe_open(path, framework="pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            return tensors, file.metadata() or {}
    except (SafetensorError, OSError, ValueError) as error:
        raise DamagedFileError(
            f"{path} is damaged or not a safetensors file ({error}); get it again, or convert it"
        ) from error


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file, in hex digits."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def fit_state(module: nn.Module, state: Tensors, origin: str) -> Tensors:
    """Return weights under the names of a network, without its classifier.

    Raises
    ------
    InputError
        A weight is missing, left over, of another shape, or not finite.
    """
    rename = getattr(module, "renamed", dict)
    mine = {
        name: tensor
        for name, tensor in rename(unwrapped(state)).items()
        if not name.startswith(CLASSIFIERS)
    }
    wanted = module.state_dict()
    needed = [name for name in wanted if not name.endswith(COUNTER)]
    kind = type(module).__name__
    missing = [name for name in needed if name not in mine]
    if missing:
        raise _misfit(origin, f"{_listed(missing)} of {kind} is missing")
    unknown = [name for name in mine if name not in wanted]
    if unknown:
        raise _misfit(origin, f"{kind} has no {_listed(unknown)}")
    for name in needed:
        theirs, ours = tuple(mine[name].shape), tuple(wanted[name].shape)
        if theirs != ours:
            raise _misfit(origin, f"{name} has shape {theirs}, and {kind} needs {ours}")
        if not mine[name].is_floating_point():
            raise _misfit(origin, f"{name} has whole numbers ({mine[name].dtype})")
        if not torch.isfinite(mine[name]).all():
            raise _misfit(origin, f"{name} has values that are not finite")
    return {
        name: tensor if name.endswith(COUNTER) else _like(mine[name], tensor)
        for name, tensor in wanted.items()
    }


def unwrapped(state: Tensors) -> Tensors:
    """Return weights without the first part of a name that wrappers put before all of them.

    Examples
    --------
    >>> list(unwrapped({"module.fc.weight": torch.zeros(1)}))
    ['fc.weight']
    """
    for wrapper in WRAPPERS:
        if state and all(name.startswith(wrapper) for name in state):
            state = {name.removeprefix(wrapper): tensor for name, tensor in state.items()}
    return state


def _like(value: Tensor, wanted: Tensor) -> Tensor:
    return value.to(wanted.dtype).clone()  # a clone: the file may be mapped into memory


def _misfit(origin: str, what: str) -> InputError:
    return InputError(f"the weights of {origin} do not fit: {what}")


def _listed(names: list[str]) -> str:
    more = len(names) - 1
    return names[0] + (f" (and {more} more)" if more else "")


def _read_torch(path: Path) -> Tensors:
    """Return the tensors of a .pth file, read without running code."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of files that are refused
            found = torch.load(path, map_location="cpu", weights_only=True)
    except (pickle.UnpicklingError, RuntimeError, OSError, EOFError, LookupError) as error:
        raise DamagedFileError(
            f"{path} holds more than weights, or is damaged; it was not unpickled, because that "
            "could run code: save its state_dict as .safetensors"
        ) from error
    for inside in INSIDE:
        if isinstance(found, dict) and isinstance(found.get(inside), dict):
            found = found[inside]
    if not isinstance(found, dict) or not all(isinstance(one, Tensor) for one in found.values()):
        raise InputError(f"{path} is not a state_dict; save module.state_dict() as .safetensors")
    return {str(name): tensor for name, tensor in found.items()}


def _usable(told: dict[str, str], path: Path) -> dict[str, Any]:
    """Return the facts in a safetensors file's texts; its own words for other things stay out."""
    facts: dict[str, Any] = {}
    licence = told.get("licence") or told.get("license")
    if licence:
        facts["licence"] = licence
    for name in ("mean", "std"):
        if name in told:
            try:
                facts[name] = json.loads(told[name])
            except ValueError as error:
                raise InputError(
                    f"{name} in {path} must be a list of three numbers, got {shown(told[name])}; "
                    "write the file again"
                ) from error
    return facts


def _beside(path: Path) -> dict[str, Any]:
    """Return the facts in the .json beside a file with weights; none if there is no such file."""
    beside = path.with_suffix(".json")
    if not beside.is_file():
        return {}
    try:
        facts = json.loads(read_text(beside))
    except ValueError as error:
        raise InputError(f"{beside} is not valid JSON ({error})") from error
    if not isinstance(facts, dict):
        raise InputError(f"{beside} must hold a table: mean, std, side, licence, sha256")
    return facts
