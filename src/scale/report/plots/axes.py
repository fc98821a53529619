"""The order of groups in figures, and the settings on axes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from scale._errors import InputError
from scale._names import unknown_name
from scale.bench import Experiment, Record
from scale.evaluate import MEASURES
from scale.report.groups import Group, make_groups
from scale.report.names import NOT_RECORDED, differing, settings_of
from scale.report.plots.style import METHOD_ORDER, STREAM_ORDER
from scale.report.records import Selection

PLACE = ("dataset", "stream", "method")
PAPER_NAMES = {
    "lam": "λ, weight of the forgetting loss",
    "mu": "μ, threshold of the pseudo-positives",
    "tau": "temperature τ",
    "kappa": "temperature κ",
    "stream_batch": "n, images in a stream batch",
    "memory_batch": "m, images replayed in an update",
}


def drawn_groups(selection: Selection, apart: Sequence[str] = ()) -> list[Group]:
    """Return the groups that have the measure, in the order of the experiment or of the paper.

    Parameters
    ----------
    selection
        Records and measure of the figure.
    apart
        Settings to leave out of names, because the figure has an axis for them.
    """
    measure = selection.measure
    if measure not in MEASURES:
        raise unknown_name("measure", measure, MEASURES)
    groups = [group for group in make_groups(selection.records, apart) if group.values(measure)]
    if not groups:
        raise InputError(f"no record has {measure}; choose another --measure")
    return in_order(groups, selection.experiment)


def in_order(groups: Sequence[Group], experiment: Experiment | None) -> list[Group]:
    """Return groups in the order of the experiment's datasets, streams, variants and methods."""
    return sorted(groups, key=lambda group: _rank(group, experiment))


def varied_settings(
    records: Sequence[Record], experiment: Experiment | None, count: int, kind: str
) -> list[str]:
    """Return the names of the settings that make the axes of a figure.

    They are the first axes of the experiment other than dataset, stream, method and seed. Without
    an experiment, they are the settings in which the records differ.
    """
    if experiment is not None:
        found = [name for name in experiment.axes if name not in (*PLACE, "seed")]
        varied = f"experiment {experiment.name} varies"
    else:
        settings = [settings_of(record) for record in records]
        found = [name for name in differing(settings) if name not in PLACE]
        varied = "the records differ in"
        if len(found) > count:
            found, varied = [], f"{varied} {', '.join(found)}"
    if len(found) < count:
        wanted = "one setting" if count == 1 else f"{count} settings"
        end = "" if "," in varied else f" {', '.join(found) or 'none'}"
        raise InputError(
            f"{kind} need records that differ in {wanted} beside dataset, stream, method and "
            f"seed, and {varied}{end}; try --kind bars"
        )
    return found[:count]


def value_of(group: Group, setting: str) -> Any:
    """Return a group's value of a setting, or "not recorded"."""
    return group.settings.get(setting, NOT_RECORDED)


def values_of(groups: Sequence[Group], setting: str) -> list[Any]:
    """Return a setting's values in the order of an axis: numbers first."""
    values = list({tell_value(v): v for v in (value_of(g, setting) for g in groups)}.values())
    return sorted(values, key=lambda v: (0, v, "") if is_number(v) else (1, 0, tell_value(v)))


def axis_name(setting: str) -> str:
    """Return the name of a setting's axis, with the paper's letter if it has one."""
    return PAPER_NAMES.get(setting, setting)


def is_number(value: object) -> bool:
    """Return whether a value is a number, and no truth value."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def tell_value(value: Any) -> str:
    """Return a value as short text.

    Examples
    --------
    >>> tell_value(0.0), tell_value(0.10), tell_value(128), tell_value("psa")
    ('0', '0.1', '128', 'psa')
    """
    return f"{value:g}" if is_number(value) else str(value)


def _rank(group: Group, experiment: Experiment | None) -> tuple[Any, ...]:
    axes = experiment.axes if experiment else {}
    variants = list(experiment.variants) if experiment else []
    variant = next(iter(group.records.values())).get("variant", "")
    return (
        *_place_in([*axes.get("dataset", [])], group.dataset),
        *_place_in(STREAM_ORDER, group.settings["stream"]),
        group.stream,
        *_place_in(variants, variant),
        *_place_in([*axes.get("method", []), *METHOD_ORDER], group.settings["method"]),
        _natural(group.name),
    )


def _natural(text: str) -> list[str | float]:
    """Return a key that sorts by the numbers in a text, not by their digits."""
    parts = re.split(r"(\d+\.?\d*)", text)  # text and numbers take turns
    return [float(part) if i % 2 else part for i, part in enumerate(parts)]


def _place_in(order: Sequence[str], name: str) -> tuple[int, str]:
    return (list(order).index(name), "") if name in order else (len(order), name)
