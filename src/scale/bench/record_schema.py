"""What a line of a file of records must be: a run, an evaluation, or something of another kind."""

from __future__ import annotations

import typing
from functools import cache
from typing import Any

import msgspec

from scale._errors import DamagedFileError, InputError
from scale._names import shown
from scale._schema import misfit, read_table
from scale.evaluate import MEASURES
from scale.methods import METHODS
from scale.methods.core.checks import hints_of
from scale.runs import RunConfig

REMEDY = "correct or remove it"
LARGEST = 2**63  # no whole number of a run is as large


class Params(msgspec.Struct):
    """The parameter that pages of results show by its own; a method may have any others."""

    steps_per_batch: int | None = None


NEEDED = {"dataset": str, "stream": str, "method": str, "seed": int, "params": Params}


class Code(msgspec.Struct):
    """The code that made a run."""

    digest: str
    commit: str | None = None
    changed: bool | None = None


class Data(msgspec.Struct):
    """The data of a run."""

    class_names: list[str] | None
    skipped: list[str]
    images: int | None = None
    batches: int | None = None


class Drawn(msgspec.Struct):
    """The parts of an evaluation protocol that records compare."""

    samples_per_class: int | None = None
    bank_size: int | None = None


class Timing(msgspec.Struct):
    """The cost of a run."""

    wall_seconds: float
    cpu_seconds: float = 0.0
    peak_memory_mb: float | None = None


ANALYSES = ("benchmark", "features")
"""Entries of lines that are not about one run: benchmarks, and analyses of features."""


def check_record(record: object, where: str) -> dict[str, Any]:
    """Return a line's value if it is a table that fits its kind.

    Parameters
    ----------
    record
        The value of a JSON line.
    where
        Name of the line, for the error.

    Raises
    ------
    DamagedFileError
        It is no table, or a run or evaluation with missing entries or entries of a wrong type.
        Lines of other kinds, such as benchmarks, may have any entries.
    """
    if not isinstance(record, dict):
        raise DamagedFileError(f"{where} is not a record but {record!r:.60}; {REMEDY}")
    if "run" not in record and "summary" not in record:
        if not any(name in record for name in ANALYSES):
            raise DamagedFileError(f"{where} is not a record of a run: {record!r:.60}; {REMEDY}")
        return record
    kind = _evaluation() if "measures" in record and "summary" not in record else _run()
    try:
        read_table(record, kind, where)
    except InputError as error:
        raise DamagedFileError(f"{error}; {REMEDY}") from error
    if "run" in record:
        _check_params(record["run"], where)
    curve = record.get("curve", {})
    if curve and ("position" not in curve or len({len(one) for one in curve.values()}) > 1):
        raise DamagedFileError(
            f"{where}: its curve needs the list 'position', and lists of one length; {REMEDY}"
        )
    return record


def _check_params(run: dict[str, Any], where: str) -> None:
    """Raise `DamagedFileError` for a value that is none of its parameter."""
    method = run["method"]
    # A method in a file is not looked up: that would run the file.
    hints = hints_of(METHODS[method]) if method in list(METHODS) else {}
    for name, value in run["params"].items():
        wanted = misfit(value, hints.get(name, Any))
        if isinstance(value, int) and abs(value) >= LARGEST:
            wanted = "smaller"
        if wanted is not None:
            given = f"{name} must be {wanted}, got {shown(value)}"
            raise DamagedFileError(f"{where}: {given}; {REMEDY}")


@cache
def _run() -> type[msgspec.Struct]:
    measures: list[Any] = [(name, float | None, None) for name in MEASURES]
    floor: Any = msgspec.defstruct("Floor", measures)
    floors: Any = ("floors", dict[str, floor], msgspec.field(default_factory=dict))
    summary = msgspec.defstruct("Summary", [("timing", Timing), *measures, floors])
    needed: list[Any] = [("run", _options()), ("data", Data), ("summary", summary)]
    optional: list[Any] = [
        ("experiment", str | None, None),
        ("variant", str | None, None),
        ("job", str | None, None),
        ("axes", dict[str, Any] | None, None),
        ("protocol", Drawn | None, None),
        ("curve", dict[str, list[float]], msgspec.field(default_factory=dict)),
        ("versions", dict[str, str | None], msgspec.field(default_factory=dict)),
        ("code", Code | None, None),
        ("later_code", list[Code], msgspec.field(default_factory=list)),
    ]
    return msgspec.defstruct("RunRecord", [*needed, *optional])


@cache
def _evaluation() -> type[msgspec.Struct]:
    entries = [("run", _options()), ("measures", dict[str, dict[str, Any]])]
    return msgspec.defstruct("EvaluationRecord", [*entries, ("bank_size", int | None, None)])


@cache
def _options() -> type[msgspec.Struct]:
    """Return the options of a run; a record of an older version may lack some."""
    hints = typing.get_type_hints(RunConfig)
    others = [(name, hint | None, None) for name, hint in hints.items() if name not in NEEDED]
    return msgspec.defstruct("Run", [*NEEDED.items(), *others])
