"""The recorded settings of a record, and the names made from them.

A setting that a record does not have is "not recorded"; it never gets the current default.
"""

from __future__ import annotations

import json
from collections.abc import Container, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from scale._text import printable
from scale.bench import Record
from scale.data import card_for
from scale.methods import METHODS, Learner
from scale.runs import RunConfig, default_parameters

Settings = dict[str, Any]
NOT_RECORDED = "not recorded"
NO_SETTINGS = ("seed", "threads", "device", "on_bad", "params")
"""Options in which two runs of one setting may differ."""
OF_THE_STREAM = (
    *("label", "image_size", "stream_batch", "samples_per_class", "class_order"),
    *("bank_size", "validation"),
)
"""Options of the stream and of the evaluation."""
FIXED = {
    ("cla", "form"): "E",
    ("cla-r", "form"): "R",
    ("cla-r", "ema"): 0.999,
    ("climb", "memory_policy"): "reservoir",
    ("climb", "memory_clusters"): 10,
}
"""Removed parameters of a method, with the only value that gives the same learner."""
ADDED = {"encoder_side": None, "optimizer": "sgd", "precision": "fp32", "time_weight": 0.0}
"""Parameters that came later, with the value at which nothing differs from before."""


def dataset_title(name: str) -> str:
    """Return a dataset's name; of a path only its last part, because pages and cards are shared.

    Examples
    --------
    >>> dataset_title("digits"), dataset_title("/home/me/camera/"), dataset_title("me/flowers")
    ('digits', 'camera', 'me/flowers')
    """
    path = Path(name).expanduser()
    own = path.is_absolute() or name.startswith((".", "~")) or path.suffix or path.exists()
    return printable(path.name if own and path.name else name)


def settings_of(record: Record) -> Settings:
    """Return the options and parameters that a record has, by name.

    An option that was left to the dataset has the value in the record's protocol and data, and a
    precision that was left to the machine has the one that the learner chose.

    Examples
    --------
    >>> run = {"method": "er", "dataset": "mnist", "seed": 3, "params": {"tau": 0.1}}
    >>> settings_of({"run": run})
    {'method': 'er', 'dataset': 'mnist', 'tau': 0.1}
    """
    run = record["run"]
    values = {**run, **run["params"]}
    if "precision" in values:
        values["precision"] = (record.get("learner") or {}).get("precision", values["precision"])
    found = {
        name: value
        for name, value in values.items()
        if name not in NO_SETTINGS
        and FIXED.get((run["method"], name), NOT_RECORDED) != value
        and ADDED.get(name, NOT_RECORDED) != value
    }
    protocol, data = record.get("protocol") or {}, record.get("data") or {}
    for name in ("samples_per_class", "bank_size"):
        if found.get(name) is None and name in protocol:
            found[name] = protocol[name]
    batch = card_for(run["dataset"]).stream_batch
    images, batches = data.get("images"), data.get("batches")
    if found.get("stream_batch") is None and images and -(-images // batch) == batches:
        found["stream_batch"] = batch
    return found


def code_of(record: Record) -> dict[str, str]:
    """Return digest and commit of the code that made a record; empty if not recorded."""
    found = record.get("code") or {}
    return {key: str(found[key]) for key in ("digest", "commit") if found.get(key)}


def not_recorded(settings: Settings) -> list[str]:
    """Return the current options and parameters that the settings do not have."""
    known = (name for name in defaults(settings) if (settings["method"], name) not in FIXED)
    return [name for name in known if name not in settings and name not in ADDED]


def added(settings: Settings) -> Settings:
    """Return the values of `ADDED` that stand for parameters which the settings do not have."""
    known = defaults(settings)
    return {k: v for k, v in ADDED.items() if k in known and k not in settings}


def defaults(settings: Settings) -> Settings:
    """Return the current defaults of options and parameters; an unknown method has only options."""
    dataset, method = settings["dataset"], settings["method"]
    known = METHODS[method] if method in METHODS else None  # noqa: SIM401 - no mapping
    return _defaults(dataset, known)


def changed(settings: Settings) -> Settings:
    """Return the recorded parameters that differ from the current default."""
    usual = defaults(settings)
    return {
        name: value
        for name, value in settings.items()
        if name not in _options()
        and (name not in usual or same_text(value) != same_text(usual[name]))
    }


def describe_stream(settings: Settings, hidden: Container[str] = ()) -> str:
    """Return the stream, with the options of data and evaluation that differ from the default.

    Examples
    --------
    >>> describe_stream({"stream": "seq", "samples_per_class": 1024, "validation": True})
    'seq, samples_per_class 1024, validation'
    >>> describe_stream({"dataset": "cifar10", "stream": "seq", "samples_per_class": 4096})
    'seq'
    """
    usual = {**_options(), **_of_dataset(settings.get("dataset", ""))}
    shown = {
        name: settings[name]
        for name in OF_THE_STREAM
        if name in settings and name not in hidden and settings[name] not in (None, usual[name])
    }
    return with_settings(settings["stream"], shown)


def describe_setting(run: Mapping[str, Any]) -> str:
    """Return a run's method with its preset and the parameters that differ from the default.

    Examples
    --------
    >>> describe_setting({"dataset": "cifar10", "method": "scale", "params": {"lam": 0.0}})
    'scale, lam 0.0'
    """
    settings = settings_of({"run": dict(run)})
    return tell_changes(run["method"], settings, changed(settings))


def tell_changes(name: str, settings: Settings, shown: Settings) -> str:
    """Return a name followed by settings, or by the preset that they make up.

    Parameters
    ----------
    name
        Name of the method or variant.
    settings
        All settings; they decide whether a preset holds.
    shown
        Settings to show.

    Examples
    --------
    >>> paper = {"kappa": 0.1, "mu": 0.05, "views": "once", "memory_anchors": False, "lr": 0.1}
    >>> tell_changes("scale", {"method": "scale", **paper}, paper)
    'scale [paper], lr 0.1'
    """
    method = settings["method"]
    for preset, values in (METHODS[method].presets if method in METHODS else {}).items():
        if values.items() <= settings.items() and len(values.keys() & shown.keys()) > 1:
            rest = {key: value for key, value in shown.items() if key not in values}
            return with_settings(f"{name} [{preset}]", rest)
    return with_settings(name, shown)


def differing(settings: Sequence[Settings]) -> list[str]:
    """Return the names of settings that differ; "not recorded" counts as a value."""
    names = sorted({name for each in settings for name in each})
    return [
        n for n in names if len({same_text(each.get(n, NOT_RECORDED)) for each in settings}) > 1
    ]


def with_settings(name: str, shown: Settings) -> str:
    """Return a name followed by settings.

    Examples
    --------
    >>> with_settings("er", {"tau": 0.2, "validation": True, "lr": "not recorded"})
    'er, tau 0.2, validation, lr not recorded'
    """
    texts = [key if value is True else f"{key} {value}" for key, value in shown.items()]
    return ", ".join([name, *texts])


def same_text(settings: object) -> str:
    """Return a text that is equal for equal settings; 0 equals 0.0, and a tuple a list.

    Examples
    --------
    >>> same_text({"lam": 0, "fields": (8,)}) == same_text({"fields": [8], "lam": 0.0})
    True
    """
    return json.dumps(json.loads(json.dumps(settings), parse_int=float), sort_keys=True)


@lru_cache(maxsize=1)
def _options() -> Settings:
    """Return the defaults of a run's options, without `NO_SETTINGS`."""
    return {k: v for k, v in RunConfig().to_json().items() if k not in NO_SETTINGS}


@lru_cache(maxsize=256)
def _of_dataset(dataset: str) -> Settings:
    card = card_for(dataset or RunConfig.dataset)
    usual: Settings = {"stream_batch": card.stream_batch}
    if card.protocol:
        usual |= {"samples_per_class": card.samples_per_class, "bank_size": card.bank_size}
    return usual


@lru_cache(maxsize=256)
def _defaults(dataset: str, method: type[Learner] | None) -> Settings:
    if method is None:
        return _options()
    params = default_parameters(dataset, method.name)
    kept = {name: value for name, value in params.items() if name not in NO_SETTINGS}
    return {**_options(), **kept}
