"""Which settings were varied, and how their values are told."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scale._errors import InputError
from scale.bench import Experiment, Record
from scale.report.plots.groups import PLACE, settings_of

PAPER_NAMES = {
    "lam": "λ, weight of the forgetting loss",
    "mu": "μ, threshold of the pseudo-positives",
    "tau": "temperature τ",
    "kappa": "temperature κ",
    "stream_batch": "n, images in a stream batch",
    "memory_batch": "m, images replayed in an update",
}


def varied_settings(
    records: Sequence[Record], experiment: Experiment | None, count: int, kind: str
) -> list[str]:
    """Return the names of the settings that make the axes of a figure.

    They are the first axes of the experiment beside dataset, stream, method and seed; without one,
    the settings in which the records differ.
    """
    if experiment is not None:
        found = [name for name in experiment.axes if name not in (*PLACE, "seed")]
        told = f"experiment {experiment.name} varies"
    else:
        settings = [settings_of(record) for record in records]
        names = dict.fromkeys(name for each in settings for name in each if name not in PLACE)
        found = [n for n in names if len({tell_value(each.get(n)) for each in settings}) > 1]
        told = "the records differ in"
        if len(found) > count:
            found, told = [], f"{told} {', '.join(found)}"
    if len(found) < count:
        wanted = "one setting" if count == 1 else f"{count} settings"
        end = "" if "," in told else f" {', '.join(found) or 'none'}"
        raise InputError(
            f"{kind} need records that differ in {wanted} beside dataset, stream, method and "
            f"seed, and {told}{end}; try --kind bars"
        )
    return found[:count]


def axis_name(setting: str) -> str:
    """Return what the axis of a setting is called: the paper's letter, where it has one."""
    return PAPER_NAMES.get(setting, setting)


def is_number(value: object) -> bool:
    """Whether a value has a place on an axis of numbers."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def tell_value(value: Any) -> str:
    """Return a value as short text.

    Examples
    --------
    >>> tell_value(0.0), tell_value(0.10), tell_value(128), tell_value("psa")
    ('0', '0.1', '128', 'psa')
    """
    return f"{value:g}" if is_number(value) else str(value)
