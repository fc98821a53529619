"""The Markdown page of a run of the benchmarks: what was to be reached, then every table."""

from __future__ import annotations

from importlib import import_module
from typing import NamedTuple

from benchmarks._measure import Row
from scale._markdown import markdown

Measured = dict[str, list[Row]]


class Target(NamedTuple):
    """A ratio that was to be reached, and the row that has it."""

    what: str
    wanted: str
    benchmark: str
    row: str
    """Beginning of the row's name."""
    ratio: str
    """Which ratio of the row: `beside`, `ours` or `limit`."""
    at_least: float | None = None
    at_most: float | None = None


TARGETS = (
    Target(
        "SCALE's update, times faster than the released code's shape",
        "at least 4.5",
        "released",
        "update, views ready",
        "beside",
        at_least=4.5,
    ),
    Target(
        "the same, each with its own views",
        "at least 6",
        "released",
        "update with its views",
        "beside",
        at_least=6.0,
    ),
    Target(
        "a batch of scale-plus, relative to an earlier commit",
        "at most 0.55",
        "before",
        "scale-plus, a batch",
        "ours",
        at_most=0.55,
    ),
    Target(
        "first embedding after a batch, relative to the encoder's pass",
        "at most 3",
        "scale_plus",
        "first embedding",
        "limit",
        at_most=3.0,
    ),
    Target(
        "loading a learner, in ms",
        "at most 80",
        "checkpoint",
        "load of",
        "cost",
        at_most=80.0,
    ),
    Target(
        "evaluations of a run at the defaults, relative to the run",
        "at most 0.15",
        "evaluation",
        "evaluations of a run",
        "ours",
        at_most=0.15,
    ),
    Target(
        "kNN with every training image in the bank, in MB",
        "at most 500",
        "evaluation",
        "memory of kNN",
        "cost",
        at_most=500.0,
    ),
)
WHY = (
    "The targets were set on another processor. Ratios depend on it: with AVX-512, PyTorch's own "
    "convolutions of small maps are fast, and without it they are much slower. A batch of "
    "scale-plus prepares its read-out; in the commit beside it, the first embedding does. Loading "
    "a learner includes the check of its file's digest."
)
LIMIT = (
    "`at the limit` is what an update would reach that only multiplies, at the processor's own "
    "rate: no code with as many multiplications reaches more."
)
EXPLAINED = (
    "`make bench` writes this page; no number is typed. Times are medians of processor time on one "
    "thread, children included, measured in turns. So other load matters little, but read the "
    "ratios rather than the times. `beside / ours` above 1 means that ours is faster. "
    "`ours / limit` is the distance from what the machine, or a formula, allows. "
    "[What each benchmark compares](benchmarks/README.md)."
)


def page(measured: Measured, where: Row) -> str:
    """Return a Markdown page: targets, then a table for each benchmark."""
    versions = ", ".join(f"{name} {v}" for name, v in dict(where["versions"]).items())  # type: ignore[call-overload]
    lines = [
        "# How fast is it, beside what a user would take instead?",
        *targets(measured),
        EXPLAINED,
        f"{where['processor']} ({where['vectors']}), {where['cores']} cores, load "
        f"{where['load']:.1f} at the start. Updates multiply {where['precision']} here. "
        f"Python {where['python']}, {versions}.",
    ]
    head = ["what", "ours", "beside", "its cost", "beside / ours", "limit", "ours / limit"]
    for name, rows in measured.items():
        if rows:
            title = str(import_module(f"benchmarks.{name}").__doc__).strip().removesuffix(".")
            cells = _without_empty(head, [_cells(one) for one in rows])
            lines += [f"## {title[0].upper()}{title[1:]}", markdown(*cells).strip()]
    return "\n\n".join(lines) + "\n"


def targets(measured: Measured) -> list[str]:
    """Return the table of the targets whose benchmarks were measured."""
    found = [(one, _reached(one, measured)) for one in TARGETS]
    rows = [
        [
            one.what,
            one.wanted,
            f"{value:.3g}",
            "yes" if _holds(one, value) else "no",
            _at_the_limit(one, measured),
        ]
        for one, value in found
        if value is not None
    ]
    if not rows:
        return []
    missed = any(value is not None and not _holds(one, value) for one, value in found)
    head = ["what", "wanted", "measured", "reached", "at the limit"]
    limited = any(cells[-1] for cells in rows)
    notes = [*([WHY] * missed), *([LIMIT] * limited)]
    return [markdown(*_without_empty(head, rows)).strip(), *notes]


def cost_text(value: object, unit: object) -> str:
    """Return a cost with its unit, in at most three digits below 1000."""
    small = isinstance(value, float) and value < 1000
    return f"{value:,.3g} {unit}" if small else f"{value:,.0f} {unit}"


def _reached(target: Target, measured: Measured) -> float | None:
    cells = _row_of(target, measured)
    if cells is None:
        return None
    values = {
        "cost": cells["ours"],
        "beside": cells.get("alternative_over_ours"),
        "limit": cells.get("ours_over_limit"),
    }
    if target.ratio == "ours":
        return 1 / float(values["beside"])  # type: ignore[arg-type]
    return float(values[target.ratio])  # type: ignore[arg-type]


def _at_the_limit(target: Target, measured: Measured) -> str:
    """Return the ratio to the alternative that a cost as low as the limit would have.

    What costs less than its limit has no such limit: it multiplies in another format.
    """
    cells = _row_of(target, measured)
    if cells is None or target.ratio != "beside" or float(cells.get("ours_over_limit", 0)) <= 1:  # type: ignore[arg-type]
        return ""
    return f"{float(cells['alternative_cost']) / float(cells['limit_cost']):.3g}"  # type: ignore[arg-type]


def _row_of(target: Target, measured: Measured) -> Row | None:
    rows = measured.get(target.benchmark, [])
    return next((cells for cells in rows if str(cells["what"]).startswith(target.row)), None)


def _holds(target: Target, value: float) -> bool:
    if target.at_least is not None:
        return value >= target.at_least
    return target.at_most is not None and value <= target.at_most


def _cells(cells: Row) -> list[str]:
    unit, note = cells["unit"], f" ({cells['note']})" if cells.get("note") else ""
    beside, limit = ["", "", ""], ["", ""]
    if "alternative" in cells:
        ratio = f"{cells['alternative_over_ours']:.2f}"
        beside = [str(cells["alternative"]), cost_text(cells["alternative_cost"], unit), ratio]
    if "limit" in cells:
        limit = [str(cells["limit"]), f"{cells['ours_over_limit']:.2f}"]
    return [f"{str(cells['what']).strip()}{note}", cost_text(cells["ours"], unit), *beside, *limit]


def _without_empty(head: list[str], rows: list[list[str]]) -> tuple[list[str], list[list[str]]]:
    """Return a table without columns that are empty in all rows."""
    used = [i for i in range(len(head)) if any(cells[i] for cells in rows)]
    return [head[i] for i in used], [[cells[i] for i in used] for cells in rows]
