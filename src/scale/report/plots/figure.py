"""Draw records as a figure, and write its file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from scale._errors import InputError, ScaleError
from scale._files import atomic_path
from scale._names import unknown_name
from scale.report._figure import names_as_they_are
from scale.report.plots.bars import draw_bars
from scale.report.plots.curves import draw_curves
from scale.report.plots.heatmap import draw_heatmap
from scale.report.plots.lines import draw_lines
from scale.report.plots.maps import draw_maps
from scale.report.plots.style import for_print
from scale.report.records import Selection, select

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FIGURES: dict[str, Callable[[Selection], Figure]] = {
    "bars": draw_bars,
    "curves": draw_curves,
    "lines": draw_lines,
    "heatmap": draw_heatmap,
    "maps": draw_maps,
}
"""Kinds of figures."""
PRINT_DPI = 300
# No time and no program's name, so that equal records give equal files.
METADATA: dict[str, dict[str, None]] = {
    ".png": {"Software": None},
    ".pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    ".svg": {"Date": None, "Creator": None},
}


def draw_figure(
    sources: Iterable[Path],
    out: Path,
    *,
    kind: str | None = None,
    experiment: str | None = None,
    measure: str | None = None,
    methods: Sequence[str] = (),
    datasets: Sequence[str] = (),
    streams: Sequence[str] = (),
) -> str:
    """Draw records as a figure of the paper; return its kind.

    Parameters
    ----------
    sources
        Files of records (.jsonl), folders of benches, folders of finished runs.
    out
        The file to write; it ends in .png, .pdf or .svg.
    kind
        One of `FIGURES`. The default is that of the records' experiment, or bars.
    experiment, measure, methods, datasets, streams
        Records and measure to draw; see `select`.
    """
    if out.suffix.lower() not in METADATA:
        raise InputError(f"{out} does not end in .png, .pdf or .svg; choose one of these")
    if kind is not None and kind not in FIGURES:
        raise unknown_name("figure", kind, FIGURES)
    selection = select(
        list(sources),
        experiment=experiment,
        measure=measure,
        methods=methods,
        datasets=datasets,
        streams=streams,
    )
    kind = kind or _default_kind(selection)
    with for_print():
        _save(FIGURES[kind](selection), out)
    return kind


def _default_kind(selection: Selection) -> str:
    kind = selection.experiment.kind if selection.experiment else "bars"
    return "bars" if kind == "table" else kind


def _save(figure: Figure, out: Path) -> None:
    ending = out.suffix.lower()
    try:
        with atomic_path(out) as part, names_as_they_are(figure):
            kind = ending.removeprefix(".")
            figure.savefig(part, format=kind, dpi=PRINT_DPI, metadata=METADATA[ending])
    except OSError as error:
        raise ScaleError(f"cannot write {out}: {error.strerror}") from error
