"""An experiment: what stays, what is varied, and which table or figure it is for."""

from __future__ import annotations

import difflib
import tomllib
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

from scale._errors import InputError, UnknownNameError

KINDS = ("table", "bars", "curves", "lines", "heatmap", "maps", "timings")
Settings = dict[str, Any]


@dataclass(frozen=True)
class Experiment:
    """What one of the TOML files says."""

    name: str
    title: str
    shows: str
    """What the paper shows with it."""
    kind: str
    """What its records are drawn as: one of `KINDS`."""
    measure: str = "knn"
    """The measure that the table or figure is about."""
    base: Settings = field(default_factory=dict)
    """Settings that all runs share."""
    axes: dict[str, list[Any]] = field(default_factory=dict)
    """Settings and their values; every combination is run."""
    variants: dict[str, Settings] = field(default_factory=dict)
    """Named sets of settings, the rows of an ablation; each runs on every combination."""
    datasets: dict[str, Settings] = field(default_factory=dict)
    """Settings that hold on one dataset only, by its name."""
    paper: dict[str, dict[str, float]] = field(default_factory=dict)
    """The paper's own values of the measure, by dataset and variant."""
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
    if name.endswith(".toml") or "/" in name:
        path = Path(name)
        if not path.is_file():
            raise InputError(f"there is no file {name}")
        return parse_experiment(path.stem, path.read_text())
    if name not in _names():
        close = difflib.get_close_matches(name, _names(), n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise UnknownNameError(
            f"no experiment is called {name!r}{hint} (known: {', '.join(_names())}; "
            "or the path of a .toml file)"
        )
    return parse_experiment(name, (_folder() / f"{name}.toml").read_text())


def parse_experiment(name: str, text: str) -> Experiment:
    """Read an experiment from the text of its file.

    Examples
    --------
    >>> text = "title = 'Weights'\\nkind = 'lines'\\n[axes]\\nlam = [0, 0.1]\\nseeds = 2"
    >>> parse_experiment("weights", text).axes
    {'lam': [0, 0.1], 'seed': [0, 1]}
    """
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"experiment {name} is not valid TOML: {error}") from error
    for key, kind in _SHAPE.items():
        if key in found and not isinstance(found[key], kind):
            what = "a table" if kind is dict else "text"
            raise InputError(f"experiment {name}: {key} must be {what}, got {found[key]!r}")
    unknown = sorted(set(found) - set(_SHAPE))
    if unknown:
        raise InputError(
            f"experiment {name} has an unknown entry {unknown[0]!r} (known: {', '.join(_SHAPE)})"
        )
    for table in ("variants", "datasets", "paper"):
        for key, value in found.get(table, {}).items():
            if not isinstance(value, dict):
                raise InputError(f"experiment {name}: {table}.{key} must be a table, got {value!r}")
    if found.get("kind") not in KINDS:
        raise InputError(
            f"experiment {name} needs a kind, one of {', '.join(KINDS)}; got {found.get('kind')!r}"
        )
    axes = {axis: _values(name, axis, given) for axis, given in found.pop("axes", {}).items()}
    if "seeds" in axes:
        axes["seed"] = seeds_axis(axes.pop("seeds")[0])
    title, shows = found.pop("title", name), found.pop("shows", "")
    return Experiment(name=name, title=title, shows=shows, axes=axes, text=text, **found)


def seeds_axis(count: object) -> list[int]:
    """Return the seeds that a number of seeds stands for."""
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        raise InputError(f"seeds must be a whole number, 1 or more, got {count!r}")
    return list(range(count))


def _values(name: str, axis: str, given: object) -> list[Any]:
    values = given if isinstance(given, list) else [given]
    if not values:
        raise InputError(f"experiment {name}: axis {axis} has no values")
    if axis == "seeds" and len(values) > 1:
        raise InputError(f"experiment {name}: seeds is how many; to name them write seed = [...]")
    return values


def _folder() -> Any:
    return files("scale.bench") / "experiments"


def _names() -> list[str]:
    found = (entry.name for entry in _folder().iterdir())
    return sorted(name.removesuffix(".toml") for name in found if name.endswith(".toml"))


_SHAPE = {
    **dict.fromkeys(("title", "shows", "kind", "measure"), str),
    **dict.fromkeys(("base", "axes", "variants", "datasets", "paper"), dict),
}
