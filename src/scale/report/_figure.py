"""Tools for all pictures: colours, names, labels that do not overlap, and the file."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scale._errors import InputError
from scale._files import atomic_path
from scale._names import shown
from scale._text import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DPI = 150
GREY = "#595959"
BLUE, VERMILION = "#0072B2", "#D55E00"
# Okabe and Ito's eight, and four of Paul Tol's: distinct with any kind of colour vision.
CATEGORIES = (
    BLUE,
    "#E69F00",
    "#009E73",
    "#CC79A7",
    "#56B4E9",
    VERMILION,
    "#F0E442",
    "#000000",
    "#999999",
    "#882255",
    "#44AA99",
    "#332288",
)


def new_figure(width: float, height: float) -> Figure:
    """Return a figure of this size in inches, without a window and outside pyplot's state."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), dpi=DPI, layout="constrained")


def save(figure: Figure, path: str | Path) -> None:
    """Write `figure` as a PNG, whole or not at all."""
    with atomic_path(Path(path)) as part, names_as_they_are(figure):
        figure.savefig(part, format="png", dpi=DPI, metadata={"Software": None})


def lay_out(figure: Figure) -> None:
    """Place the parts of `figure`, so that their sizes can be read."""
    with names_as_they_are(figure):
        figure.draw_without_rendering()


@contextlib.contextmanager
def names_as_they_are(figure: Figure) -> Iterator[None]:
    """Within the block, draw names as plain text, whatever they hold.

    Dollar signs start no formula, control characters become escapes, and a script that the font
    lacks gives boxes without a warning for each letter.
    """
    import matplotlib
    from matplotlib.text import Text

    for text in figure.findobj(Text):
        assert isinstance(text, Text)
        text.set_parse_math(False)
        text.set_text(printable(text.get_text(), keep="\n"))
    with matplotlib.rc_context({"text.parse_math": False}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph")
        yield


def class_colours(T: int) -> list[Any]:
    """Return a colour for each of `T` classes: distinct ones, or a sequence if there are many."""
    if len(CATEGORIES) >= T:
        return list(CATEGORIES[:T])
    import matplotlib

    return list(matplotlib.colormaps["cividis"](np.linspace(0, 1, T)))


def shorten(names: Sequence[str], T: int, length: int = 16) -> list[str]:
    """Return `T` names of at most `length` characters.

    Examples
    --------
    >>> shorten(["cat", "large omnivores and herbivores"], 2)
    ['cat', 'large omnivores…']
    """
    if len(names) != T:
        raise InputError(f"there are {len(names)} class names for {T} classes; expected one each")
    return [
        name if len(name) <= length else name[: length - 1].rstrip() + "…"
        for name in map(str, names)
    ]


def numbers(values: ArrayLike, name: str) -> NDArray[np.float64]:
    """Return `values` as an array of numbers."""
    try:
        return np.asarray(values, dtype=np.float64)
    except ValueError as error:
        raise InputError(f"{name} must be numbers, got {shown(values)}") from error


def check_rows(name: str, rows: object, needed: tuple[str, ...] = ()) -> None:
    """Raise `InputError` unless `rows` are tables that have these entries."""
    found = list(rows) if isinstance(rows, Iterable) else [rows]
    for row in found:
        if not isinstance(row, Mapping) or not set(needed) <= set(row):
            entries = f" with {' and '.join(needed)}" if needed else ""
            raise InputError(f"{name} must be tables{entries}, got {shown(row)}")


def matrix(values: ArrayLike, name: str) -> NDArray[np.float64]:
    """Return `values` as a finite matrix that is not empty."""
    table = numbers(values, name)
    if table.ndim != 2 or table.size == 0 or not np.isfinite(table).all():
        raise InputError(
            f"{name} have shape {table.shape}; expected two dimensions, at least one row and "
            "column, and finite values only"
        )
    return table


def clean(axes: Axes) -> None:
    """Remove the right and top lines of the frame."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=9, color=GREY)


def tell_start(axes: Axes) -> None:
    """Add the start of the vertical axis to its name, unless it is zero.

    The axis is extended down to a tick, so that its start is a number on the axis.
    """
    low, high = axes.get_ylim()
    below = [tick for tick in axes.get_yticks() if tick <= low]
    start = max(below) if below else low
    if low < 0 <= axes.dataLim.y0:
        start = 0.0
    axes.set_ylim(start, high)
    if start > 0:
        axes.set_ylabel(f"{axes.get_ylabel()}, axis from {start:g}")


def spread(values: ArrayLike, gap: float, low: float, high: float) -> NDArray[np.float64]:
    """Return `values` moved apart as little as possible, so that all are at least `gap` apart.

    They keep their order. If they do not all fit between `low` and `high`, the gap shrinks.

    Examples
    --------
    >>> spread([5.0, 5.0, 9.0], gap=2, low=0, high=10)
    array([4., 6., 9.])
    """
    wanted = np.asarray(values, dtype=np.float64)
    order = np.argsort(wanted, kind="stable")
    gap = min(gap, (high - low) / max(len(wanted) - 1, 1))
    steps = gap * np.arange(len(wanted))
    # With the steps subtracted, values must only not decrease: an isotonic regression.
    placed = _isotonic(wanted[order] - steps)
    placed = np.clip(placed, low, high - steps[-1] if len(steps) else high) + steps
    result = np.empty_like(wanted)
    result[order] = placed
    return result


def label_right(
    axes: Axes,
    values: Sequence[float],
    texts: Sequence[str],
    colours: Sequence[Any],
    text_colour: str | None = None,
) -> None:
    """Write `texts` right of the axes at the heights `values`, moved apart, with leader lines.

    A text has the colour of its line unless `text_colour` is given.
    """
    low, high = axes.get_ylim()
    inches = axes.get_window_extent().height / DPI
    heights = spread(values, 0.17 * (high - low) / inches, low, high)
    side = axes.get_yaxis_transform()  # x in widths of the axes, y in data
    for value, height, text, colour in zip(values, heights, texts, colours, strict=True):
        lead = ([1.0, 1.01, 1.03, 1.04], [value, value, height, height])
        axes.plot(*lead, transform=side, color=colour, linewidth=1, clip_on=False)
        ink = text_colour or colour
        axes.text(1.05, height, text, transform=side, color=ink, fontsize=9, va="center")
    axes.set_ylim(low, high)


def _isotonic(values: NDArray[np.float64]) -> NDArray[np.float64]:
    from sklearn.isotonic import isotonic_regression

    return isotonic_regression(values) if len(values) else values
