"""How long losses and memory updates take, beside the paper's values (Tables 5 and 6)."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import numpy as np

from scale._errors import InputError
from scale.bench import Record
from scale.report._figure import BLUE, GREY
from scale.report.plots.selection import Selection
from scale.report.plots.style import INK, dress, legend, note, panels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HEIGHT = 0.38
Timing = tuple[str, float, float, float | None]


def draw_timings(selection: Selection) -> Figure:
    """Draw milliseconds as bars, ours and the paper's, a panel for each part."""
    records = [record for record in selection.records if "timing" in record]
    if not records:
        raise InputError("timings are drawn of what scale bench time measures, and there is none")
    parts: dict[str, dict[str, Record]] = defaultdict(dict)
    for record in records:
        parts[record["axes"]["part"]][record["job"]] = record
    most = max(map(len, parts.values()))
    figure, axes = panels(len(parts), 2, 0.9 + 0.36 * most)
    for panel, (part, found) in zip(axes, parts.items(), strict=True):
        paper = selection.experiment.paper.get(part, {}) if selection.experiment else {}
        _draw_panel(panel, _timings(list(found.values()), paper))
        dress(panel, part)
        panel.grid(visible=False)
        panel.set_xlabel("milliseconds")
    legend(figure, _handles(any("paper" in str(c.get_label()) for p in axes for c in p.containers)))
    repeats = sorted({record["timing"]["repeats"] for record in records})
    threads = sorted({record["threads"] for record in records})
    told = " or ".join(map(str, repeats))
    cores = " or ".join(map(str, threads))
    note(figure, f"mean of {told} repetitions, ± standard deviation; {cores} thread(s)")
    return figure


def _timings(records: list[Record], paper: dict[str, float]) -> list[Timing]:
    """Return name, our mean and deviation and the paper's value, in milliseconds."""
    varied = {
        name
        for name in ("dataset", "memory_size")
        if len({record["axes"].get(name) for record in records}) > 1
    }
    found = []
    for record in records:
        axes, timing = record["axes"], record["timing"]
        name = timing_name(axes)
        theirs = paper.get(name)
        full = ", ".join([name, *(f"{axes[key]}" for key in sorted(varied) if key in axes)])
        theirs = None if theirs is None else 1000 * theirs
        found.append((full, 1000 * timing["seconds"], 1000 * timing["deviation"], theirs))
    return found


def timing_name(axes: dict[str, Any]) -> str:
    """Return what was timed, as the experiment's paper values are called.

    Examples
    --------
    >>> timing_name({"part": "losses", "method": "scale", "n": 128, "m": 64})
    'scale 128+64'
    """
    if "memory_policy" in axes:
        return str(axes["memory_policy"])
    return f"{axes['method']} {axes['n']}+{axes['m']}"


def _draw_panel(axes: Axes, timings: list[Timing]) -> None:
    places = np.arange(len(timings), dtype=float)
    names, means, deviations, paper = zip(*timings, strict=True)
    error: dict[str, Any] = {"elinewidth": 0.9, "capsize": 1.5, "ecolor": INK}
    axes.barh(places - HEIGHT / 2, means, HEIGHT, color=BLUE, label="ours")
    axes.errorbar(means, places - HEIGHT / 2, xerr=deviations, fmt="none", **error)
    known = [i for i, value in enumerate(paper) if value is not None]
    if known:
        theirs = [paper[i] for i in known]
        axes.barh(places[known] + HEIGHT / 2, theirs, HEIGHT, **_PAPER)
    ends = [mean + deviation for mean, deviation in zip(means, deviations, strict=True)]
    _write(
        axes,
        [*ends, *(paper[i] for i in known)],
        [*means, *(paper[i] for i in known)],
        [*(places - HEIGHT / 2), *(places[known] + HEIGHT / 2)],
    )
    axes.set_yticks(places, names)
    axes.tick_params(axis="y", length=0)
    axes.invert_yaxis()


def _write(axes: Axes, ends: list[float], values: list[float], heights: list[float]) -> None:
    """Write each value at the end of its bar: short bars beside long ones cannot be read off."""
    for end, value, height in zip(ends, values, heights, strict=True):
        text = f"{value:,.0f}" if value >= 100 else f"{value:.2g}"
        place: dict[str, Any] = {"xytext": (3, 0), "textcoords": "offset points", "va": "center"}
        axes.annotate(text, (end, height), **place, fontsize=7.5)
    axes.set_xlim(0, 1.18 * max(ends))


def _handles(with_paper: bool) -> list[Any]:
    from matplotlib.patches import Patch

    handles = [Patch(color=BLUE, label="ours")]
    if with_paper:
        handles.append(Patch(**{**_PAPER, "label": "paper, on its machine"}))
    return handles


_PAPER: dict[str, Any] = {
    "facecolor": "white",
    "edgecolor": GREY,
    "hatch": "////",
    "linewidth": 0.8,
    "label": "paper",
}
