"""What runs and streams are called in tables and figures: by what is not as usual in them."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from scale._errors import InputError
from scale.bench import Record
from scale.data import card_for
from scale.methods import METHODS, Learner
from scale.runs import RunConfig, default_parameters

Run = dict[str, Any]
OF_THE_STREAM = (
    *("label", "image_size", "stream_batch", "samples_per_class", "class_order"),
    *("bank_size", "validation"),
)
"""Options of a run that decide what is learned from and what it is measured on."""


def filled(run: Run) -> Run:
    """Return a record's config with the options and parameters that are newer than the record."""
    try:
        found = RunConfig(**run).to_json()
    except TypeError as error:
        raise InputError(
            f"a record holds a config that this version of scale cannot read: {error}"
        ) from error
    found["params"] = {**defaults_of(found), **found["params"]}
    return found


def complete(run: Run) -> Run:
    """Return the same, in which the dataset's usual value is as if it had not been given."""
    found = filled(run)
    usual = _usual(found["dataset"])
    return found | {name: None for name, value in usual.items() if found[name] == value}


def describe_stream(run: Run) -> str:
    """Return the stream with what else was not as usual in data and evaluation.

    Examples
    --------
    >>> describe_stream({"stream": "seq", "samples_per_class": 1024, "validation": True})
    'seq, samples_per_class 1024, validation'
    >>> describe_stream({"dataset": "cifar10", "stream": "seq", "samples_per_class": 4096})
    'seq'
    """
    plain, usual = RunConfig().to_json(), _usual(run.get("dataset", ""))
    given = {key: run[key] for key in OF_THE_STREAM if key in run}
    changed = {k: v for k, v in given.items() if v != plain[k] and v != usual.get(k)}
    return _with(run["stream"], changed)


def describe_setting(run: Run) -> str:
    """Return the method with its preset, or with the parameters that are not its defaults.

    Examples
    --------
    >>> describe_setting({"dataset": "cifar10", "method": "scale", "params": {"lam": 0.0}})
    'scale, lam 0.0'
    """
    defaults = defaults_of(run)
    changed = {k: v for k, v in run["params"].items() if k != "device" and v != defaults.get(k)}
    return tell_changes(run["method"], run["method"], {**defaults, **run["params"]}, changed)


def tell_changes(name: str, method: str, own: Mapping[str, Any], changed: dict[str, Any]) -> str:
    """Return a name with what is not as usual: a preset of the method where it is one.

    Parameters
    ----------
    name
        Of the method or variant.
    method
        Whose presets are known.
    own
        All parameters, which tell whether a preset holds.
    changed
        Those that are to be told.

    Examples
    --------
    >>> literal = {"kappa": 0.1, "mu": 0.05, "views": "once", "memory_anchors": False}
    >>> tell_changes("scale", "scale", {**literal, "lr": 0.1}, {**literal, "lr": 0.1})
    'scale [paper], lr 0.1'
    """
    presets = METHODS[method].presets if method in METHODS else {}
    for preset, values in presets.items():
        if values.items() <= own.items() and len(values.keys() & changed.keys()) > 1:
            changed = {k: v for k, v in changed.items() if k not in values}
            return _with(f"{name} [{preset}]", changed)
    return _with(name, changed)


def defaults_of(run: Mapping[str, Any]) -> dict[str, Any]:
    """Return its method's parameters when none is given; none are known of a foreign method."""
    known = run["method"] in METHODS
    return _defaults(run["dataset"], METHODS[run["method"]]) if known else {}


def of_one_experiment(records: Sequence[Record]) -> bool:
    """Whether a bench made them all for the same experiment, so that its variants name them."""
    experiments = {record.get("experiment") for record in records}
    return len(experiments) == 1 and None not in experiments


def name_settings(records: Sequence[Record], by_variant: bool) -> list[str]:
    """Return a name for each record, given one of each setting.

    It is the variant's, or tells what is not as usual; where that is the same for several on one
    stream, with the options in which these differ.

    Parameters
    ----------
    records
        One of each setting.
    by_variant
        Take the variants' names, for records of one experiment.
    """
    runs = [complete(record["run"]) for record in records]
    names = [
        (by_variant and record.get("variant")) or describe_setting(run)
        for record, run in zip(records, runs, strict=True)
    ]
    alike: dict[tuple[str, str, str], list[int]] = defaultdict(list)
    for i, run in enumerate(runs):
        alike[run["dataset"], describe_stream(run), names[i]].append(i)
    for same in alike.values():
        for i, differing in zip(same, _differences([runs[i] for i in same]), strict=True):
            names[i] = _with(names[i], differing)
    return names


def same_text(settings: object) -> str:
    """Return the same text for the same settings: 0 and 0.0, a tuple and a list are the same.

    Examples
    --------
    >>> same_text({"lam": 0, "fields": (8,)}) == same_text({"fields": [8], "lam": 0.0})
    True
    """
    return json.dumps(json.loads(json.dumps(settings), parse_int=float), sort_keys=True)


def _differences(runs: list[Run]) -> list[dict[str, Any]]:
    """Return of each run the options and parameters that are not the same in all of them."""
    flat = [{**run, **run["params"]} for run in runs]
    told = sorted({name for each in flat for name in each} - {"seed", "threads", "params"})
    differing = [name for name in told if len({same_text(each.get(name)) for each in flat}) > 1]
    return [{name: each.get(name) for name in differing} for each in flat]


def _usual(dataset: str) -> dict[str, Any]:
    card = card_for(dataset)
    usual = {name: getattr(card, name) for name in ("samples_per_class", "bank_size")}
    return {"stream_batch": card.stream_batch, **(usual if card.protocol else {})}


@lru_cache(maxsize=256)
def _defaults(dataset: str, method: type[Learner]) -> dict[str, Any]:
    return default_parameters(dataset, method.name)


def _with(name: str, changed: dict[str, Any]) -> str:
    said = [key if value is True else f"{key} {value}" for key, value in changed.items()]
    return ", ".join([name, *said])
