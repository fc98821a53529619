"""An experiment: its fixed settings, its varied settings, and its table or figure."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, cast, get_args

import msgspec

from scale._errors import InputError
from scale._files import read_text
from scale._names import check_text, unknown_name
from scale._numbers import check_number
from scale._schema import read_toml

Kind = Literal["table", "bars", "curves", "lines", "heatmap", "maps"]
KINDS = get_args(Kind)
Settings = dict[str, Any]
MOST_SEEDS = 10_000


class ExperimentFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The entries of an experiment's TOML file."""

    kind: Kind
    """How its records are shown."""
    title: str = ""
    shows: str = ""
    """The paper's table or figure, and its claim."""
    measure: str = "knn"
    """The measure that the table or figure shows."""
    base: Settings = {}
    """Settings that all runs share."""
    axes: dict[str, Any] = {}
    """Settings and their values, one or a list; every combination is run."""
    variants: dict[str, Settings] = {}
    """Named sets of settings, the rows of an ablation; each runs on every combination."""
    datasets: dict[str, Settings] = {}
    """Settings for one dataset only, by its name."""
    updates: dict[str, dict[str, int]] = {}
    """`steps_per_batch` by dataset and method, such that all take about the same time."""
    skip: list[Settings] = []
    """Combinations that mean nothing and are not run: a value of each of some axes."""
    paper: dict[str, dict[str, float]] = {}
    """The paper's own values of the measure, by dataset and variant."""


class Experiment(ExperimentFile, frozen=True, kw_only=True):
    """An experiment: its file's entries, with each axis as a list of values."""

    name: str
    text: str = ""
    """The file itself."""


def list_experiments() -> list[Experiment]:
    """Return the built-in experiments by name."""
    return [load_experiment(name) for name in _names()]


def load_experiment(name: str) -> Experiment:
    """Return a built-in experiment by its name, or one of the user's by the path of its file.

    Examples
    --------
    >>> load_experiment("memory-ablation").kind
    'table'
    """
    if check_text("experiment", name).endswith(".toml") or "/" in name:
        path = Path(name)
        return parse_experiment(path.stem, read_text(path))
    if name not in _names():
        raise unknown_name("experiment", name, _names(), "; or the path of a .toml file")
    return parse_experiment(name, (_folder() / f"{name}.toml").read_text())


def parse_experiment(name: str, text: str) -> Experiment:
    """Read an experiment from the text of its file.

    Examples
    --------
    >>> text = "title = 'Weights'\\nkind = 'lines'\\n[axes]\\nlam = [0, 0.1]\\nseeds = 2"
    >>> parse_experiment("weights", text).axes
    {'lam': [0, 0.1], 'seed': [0, 1]}
    """
    where = f"experiment {name}"
    entries = msgspec.structs.asdict(read_toml(text, ExperimentFile, where))
    axes = {axis: _values(where, axis, given) for axis, given in entries.pop("axes").items()}
    if "seeds" in axes:
        axes["seed"] = seeds_axis(axes.pop("seeds")[0])
    title = entries.pop("title") or name
    return Experiment(name=name, title=title, axes=axes, text=text, **entries)


def seeds_axis(count: object) -> list[int]:
    """Return the seeds 0 .. count - 1."""
    check_number("seeds", count, least=1, most=MOST_SEEDS, whole=True)
    return list(range(cast("int", count)))


def _values(where: str, axis: str, given: object) -> list[Any]:
    values = given if isinstance(given, list) else [given]
    if not values:
        raise InputError(f"{where}: axis {axis} has no values; give one or more, or leave it out")
    if axis == "seeds" and len(values) > 1:
        raise InputError(f"{where}: seeds is a number; to list seeds write seed = [...]")
    return values


def _folder() -> Any:
    return files("scale.bench") / "experiments"


def _names() -> list[str]:
    found = (entry.name for entry in _folder().iterdir())
    return sorted(name.removesuffix(".toml") for name in found if name.endswith(".toml"))
