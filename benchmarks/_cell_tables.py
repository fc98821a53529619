"""Markdown tables of the lines that `benchmarks.pseudo_positives` prints."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from scale._errors import InputError
from scale._markdown import markdown
from scale.report import read_records

Line = dict[str, Any]
KINDS = {"state": ("start", "trained"), "batch": ("class-ordered", "iid"), "space": ("z", "h")}
"""Options that select cells, and their values."""
SHOWN = {
    "pseudo_positives": "pseudo-positives per view",
    "share": "% of the batch's other views accepted",
    "precision": "% of the same class among those accepted, twins left out",
}
MEASURES = (*SHOWN, "batch_norm")
FEWEST_PAIRS = 100
"""Fewest accepted pairs for a precision: below this it is noise, and the cell is empty."""
RUN = ("dataset", "stream", "features")
TABLE = (*RUN, *KINDS, "n", "m")
"""Keys whose values are equal within one table of kappa and mu."""
STATISTICS = {
    "cosine": ("cosine", 4),
    "knn_running": ("kNN, running statistics", 2),
    "knn_memory": ("kNN, statistics of memory", 2),
}
"""Title and decimals of each measure of BatchNorm's statistics."""


def tables(paths: Sequence[Path], measure: str, chosen: Mapping[str, str | None]) -> str:
    """Return Markdown tables of a measure: mean and standard deviation over seeds.

    Parameters
    ----------
    paths
        Files of lines that `benchmarks.pseudo_positives` printed.
    measure
        One of `MEASURES`. `batch_norm` gives one table, the others one of kappa by mu per cell.
    chosen
        For each name in `KINDS` the only value to show, or None for all.
    """
    of_cells = measure in SHOWN
    wanted = {name: only for name, only in chosen.items() if only is not None}
    wanted["measured"] = "pseudo_positives" if of_cells else measure
    read = (line for line in read_records(paths) if isinstance(line, dict))
    lines = [line for line in read if wanted.items() <= line.items()]
    names = ", ".join(map(str, paths))
    try:
        found = _cell_tables(lines, measure) if of_cells else _statistics_table(lines)
    except (KeyError, TypeError) as error:
        raise InputError(
            f"{names}: a line is not one that benchmarks.pseudo_positives prints ({error!r})"
        ) from error
    if not found:
        raise InputError(f"{names}: no line has {measure} of such cells; leave out an option")
    return found


def _cell_tables(lines: list[Line], measure: str) -> str:
    """Return a table for each kind of cell that has a value."""
    if measure == "precision":
        few = {"precision": None}
        lines = [line if line["pairs"] >= FEWEST_PAIRS else line | few for line in lines]
    return "\n".join(
        f"{_caption(same[0], same, measure)}\n\n{_kappa_by_mu(same, measure)}"
        for same in _by(TABLE, lines).values()
        if any(line[measure] is not None for line in same)
    )


def _caption(one: Line, lines: list[Line], measure: str) -> str:
    seeds = len({line["seed"] for line in lines})
    parts = [
        f"{one['dataset']} {one['stream']}",
        one["features"],
        "1 seed" if seeds == 1 else f"{seeds} seeds",
        "encoder at its start" if one["state"] == "start" else "encoder as trained",
        f"{one['batch']} batches of {one['n']} images, {one['m']} replayed",
        f"by {one['space']}",
    ]
    by_chance = f" (by chance {_spread(lines, 'chance', 2)})" if measure == "precision" else ""
    return f"{'; '.join(parts)}: {SHOWN[measure]}{by_chance}"


def _kappa_by_mu(lines: list[Line], measure: str) -> str:
    mus = sorted({line["mu"] for line in lines})
    rows = []
    for (kappa,), of_kappa in sorted(_by(["kappa"], lines).items()):
        by_mu = _by(["mu"], of_kappa)
        rows.append([str(kappa), *(_spread(by_mu[mu,], measure, 2) for mu in mus)])
    return markdown(["kappa", *(f"mu {mu}" for mu in mus)], rows)


def _statistics_table(lines: list[Line]) -> str:
    """Return a table with a row for each setting, or an empty string without lines."""
    rows = []
    for run, of_run in _by(RUN, lines).items():
        seeds = str(len({line["seed"] for line in of_run}))
        cells = [_spread(of_run, name, digits) for name, (_, digits) in STATISTICS.items()]
        rows.append([*run, seeds, *cells])
    titles = [*RUN, "seeds", *(title for title, _ in STATISTICS.values())]
    return markdown(titles, rows) if rows else ""


def _by(names: Sequence[str], lines: list[Line]) -> dict[tuple[Any, ...], list[Line]]:
    groups: dict[tuple[Any, ...], list[Line]] = defaultdict(list)
    for line in lines:
        groups[tuple(line[name] for name in names)].append(line)
    return groups


def _spread(lines: list[Line], name: str, digits: int) -> str:
    """Return mean and standard deviation over the last line of each seed; empty without values."""
    by_seed = {line["seed"]: line[name] for line in lines}
    values = [value for value in by_seed.values() if value is not None]
    if not values:
        return ""
    mean = f"{statistics.mean(values):.{digits}f}"
    return mean if len(values) == 1 else f"{mean} ± {statistics.stdev(values):.{digits}f}"
