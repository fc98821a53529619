"""The style of all figures: sizes for a page 17 cm wide, and marks that differ without colour."""

from __future__ import annotations

import contextlib
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from scale.report._figure import BLUE, GREY, VERMILION, clean, label_right, lay_out, new_figure
from scale.report.groups import Group

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

METHOD_ORDER = (
    *("scale-plus", "scale", "simclr", "pnn", "si", "der", "cassle", "stam", "lump", "co2l"),
    *("er", "minred"),
    *(
        "cla",
        "cla-r",
        "osiris-r",
        "climb",
        "supcon",
        "frozen",
        "random",
        "pixels",
        "pca",
        "patches",
    ),
)
REFERENCE = "supcon"
"""The method that learns from labels; it has a separate colour."""
STREAM_ORDER = ("iid", "seq", "seq-bl", "seq-im", "seq-cc")
WIDTH = 17 / 2.54
TITLE_WIDTH = 42  # characters above a panel of half that width
INK = "#222222"
SMALL = 7.5
LEGEND_COLUMNS = 6
LABEL_HEIGHT = 0.17  # height of a label at the right, in inches
# Okabe and Ito's without yellow and black, then Paul Tol's: all are visible as lines on white.
COLOURS = (
    *(BLUE, "#E69F00", "#009E73", "#CC79A7", "#56B4E9", VERMILION),
    *("#882255", "#999933", "#332288", "#44AA99", "#661100", "#888888"),
)
# Five hatches and twelve colours have no common divisor, so the first 60 pairs all differ.
HATCHES = ("", "////", "....", "\\\\\\\\", "xxxx")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
DASHES: tuple[Any, ...] = ("-", (0, (6, 1.5)), (0, (1.5, 1)), (0, (5, 1, 1, 1)), (0, (8, 1, 3, 1)))
PRINT: dict[Any, Any] = {
    "font.size": 8.5,
    "axes.labelsize": 8.5,
    "axes.linewidth": 0.7,
    "hatch.linewidth": 0.5,
    "pdf.fonttype": 42,  # TrueType, so that text stays text
    "svg.fonttype": "none",
    "svg.hashsalt": "scale",  # the same names of its parts in every file
}


@dataclass(frozen=True)
class Style:
    """The marks of one name."""

    colour: str
    hatch: str
    marker: str
    dash: Any


@contextlib.contextmanager
def for_print() -> Iterator[None]:
    """Draw and save with the sizes and fonts of these figures."""
    import matplotlib

    with matplotlib.rc_context(PRINT):
        yield


def styles(names: Sequence[str]) -> dict[str, Style]:
    """Return different marks for each name; a method has the same marks in every figure.

    Examples
    --------
    >>> styles(["mine", "scale"])["scale"] == styles(["scale"])["scale"]
    True
    """
    own = {name: METHOD_ORDER.index(name) for name in names if name in METHOD_ORDER}
    free = (i for i in range(len(names) + len(own)) if i not in own.values())
    numbers = {name: own[name] if name in own else next(free) for name in dict.fromkeys(names)}
    return {
        name: Style(
            INK if name == REFERENCE else COLOURS[i % len(COLOURS)],
            HATCHES[i % len(HATCHES)],
            MARKERS[i % len(MARKERS)],
            DASHES[i % len(DASHES)],
        )
        for name, i in numbers.items()
    }


def panels(count: int, columns: int, height: float) -> tuple[Figure, list[Axes]]:
    """Return a figure as wide as a page with `count` panels, each of that height in inches."""
    columns = min(columns, count)
    rows = -(-count // columns)
    figure = new_figure(WIDTH, height * rows)
    figure.get_layout_engine().set(w_pad=0.06, h_pad=0.06)  # type: ignore[union-attr, call-arg]
    grid = figure.subplots(rows, columns, squeeze=False).ravel()
    for unused in grid[count:]:
        unused.remove()
    return figure, list(grid[:count])


def dress(axes: Axes, title: str, ylabel: str = "") -> None:
    """Set the title and the axis name of a panel, and remove needless lines."""
    clean(axes)
    axes.tick_params(labelsize=8)
    axes.grid(axis="y", color="#E6E6E6", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.locator_params(axis="y", nbins=6)
    axes.set_title(in_lines(title), loc="left", fontsize=9)
    axes.set_ylabel(ylabel)


def in_lines(title: str) -> str:
    """Break a title after commas, so that it fits above a panel of half the page.

    Examples
    --------
    >>> print(in_lines("fruits, seq, image_size 32, stream_batch 32, samples_per_class 64"))
    fruits, seq, image_size 32,
    stream_batch 32, samples_per_class 64
    """
    parts = ", ".join(part.replace(" ", "\xa0") for part in title.split(", "))
    return textwrap.fill(parts, TITLE_WIDTH).replace("\xa0", " ")


def label_lines(
    figure: Figure, axes: Sequence[Axes], labels: Sequence[Sequence[tuple[float, str, str]]]
) -> None:
    """Write names right of each panel, beside the ends of their lines.

    Call it last: the distance of names depends on the final height of the panels.
    """
    lay_out(figure)
    for panel, found in zip(axes, labels, strict=True):
        if found:
            values, texts, colours = zip(*found, strict=True)
            label_right(panel, values, texts, colours, text_colour=INK)


def room_for_labels(figure: Figure, axes: Axes) -> int:
    """Return the number of names that fit right of a panel."""
    lay_out(figure)
    return int(axes.get_window_extent().height / figure.dpi / LABEL_HEIGHT)


def legend(figure: Figure, handles: Sequence[Any]) -> None:
    """Draw a legend above all panels, as wide as fits, and make the figure higher by its height."""
    for columns in range(min(len(handles), LEGEND_COLUMNS), 0, -1):
        shown = figure.legend(
            handles=list(handles),
            loc="outside upper center",
            ncols=columns,
            fontsize=8,
            frameon=False,
            handlelength=2,
            columnspacing=1.2,
        )
        lay_out(figure)
        if columns == 1 or shown.get_window_extent().width <= figure.bbox.width:
            rows = -(-len(handles) // columns)
            figure.set_figheight(figure.get_figheight() + 0.1 + LABEL_HEIGHT * rows)
            return
        shown.remove()


def note(figure: Figure, text: str) -> None:
    """Write the meaning of the marks below the figure."""
    figure.supxlabel(text, fontsize=SMALL, color=GREY)


def seeds_told(groups: Sequence[Group]) -> str:
    """Return the number of seeds, in words.

    Examples
    --------
    >>> seeds_told([])
    'mean of 0 seeds'
    """
    counts = [group.seeds for group in groups] or [0]
    fewest, most = min(counts), max(counts)
    if fewest == most == 1:
        return "one seed"
    count = str(most) if fewest == most else f"{fewest} to {most}"
    return f"mean of {count} seeds"


def code_told(groups: Sequence[Group]) -> str:
    """Return a remark if the code of a record is not recorded, else an empty text."""
    return "" if all(group.code for group in groups) else "; code not recorded"


def deviation(values: Sequence[float]) -> float:
    """Return the standard deviation over seeds; 0 for one seed."""
    return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
