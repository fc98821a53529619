"""Pictures of the memory: images of each class over time, and some of the images."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scale._errors import InputError
from scale.report._figure import (
    class_colours,
    clean,
    label_right,
    lay_out,
    matrix,
    new_figure,
    numbers,
    save,
    shorten,
)
from scale.report.stream import name_classes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

STACKED = 12
STRIP = 1.1  # height of the images below, in inches
IN_A_ROW = 20


def draw_memory(
    counts: ArrayLike,
    positions: ArrayLike,
    class_names: Sequence[str],
    path: str | Path,
    images: NDArray[np.uint8] | None = None,
) -> None:
    """Draw the number of images of each class in memory over time.

    Up to 12 classes are stacked areas, more are a heat map.

    Parameters
    ----------
    counts
        ``(times, T)`` images in memory.
    positions
        ``(times,)`` images seen, increasing.
    class_names
        The `T` names.
    path
        The PNG to write.
    images
        uint8 ``(N, C, H, W)`` in memory at the end, oldest first; some are drawn below.
    """
    table = matrix(counts, "the counts of memory")
    seen = numbers(positions, "positions of memory")
    if images is not None and np.ndim(images) != 4:
        raise InputError(f"images must be (N, C, H, W), got shape {np.shape(images)}")
    if seen.shape != (len(table),):
        raise InputError(
            f"there are {len(table)} rows of counts and positions of shape {seen.shape}; "
            "expected one position for each row"
        )
    if seen[0] > 0:  # memory is empty at the start
        table = np.vstack([np.zeros_like(table[:1]), table])
        seen = np.concatenate([[0.0], seen])
    T = table.shape[1]
    names = shorten(class_names, T)
    height = 4.2 if T <= STACKED else float(np.clip(0.13 * T, 3.6, 8))
    shown = images is not None and len(images) > 0
    figure = new_figure(7.2, height + (STRIP if shown else 0))
    above, *below = figure.subfigures(
        1 + shown, 1, height_ratios=[height, STRIP][: 1 + shown], squeeze=False
    )[:, 0]
    axes = above.add_subplot()
    if images is not None and shown:
        _draw_strip(below[0].add_subplot(), images)
    _dress(axes)
    if T <= STACKED:
        _draw_areas(figure, axes, table, seen, names)
    else:
        _draw_heat(above, axes, table, seen, names)
    save(figure, path)


def _draw_areas(
    figure: Figure,
    axes: Axes,
    table: NDArray[np.float64],
    seen: NDArray[np.float64],
    names: Sequence[str],
) -> None:
    colours = class_colours(len(names))
    if len(seen) == 1:  # an area needs two ends
        seen, table = np.array([seen[0], seen[0] + 1]), np.repeat(table, 2, axis=0)
    axes.stackplot(seen, table.T, colors=colours, edgecolor="white", linewidth=0.6)
    axes.set_xlim(seen[0], seen[-1])
    axes.set_ylim(0, max(float(table.sum(axis=1).max()), 1))
    axes.set_ylabel("images in memory")
    lay_out(figure)  # sets the height of the axes, which places the labels
    middles = np.cumsum(table[-1]) - table[-1] / 2
    texts = [f"{name}  {count:.0f}" for name, count in zip(names, table[-1], strict=True)]
    label_right(axes, middles.tolist(), texts, colours, text_colour="#222222")


def _draw_heat(
    figure: SubFigure,
    axes: Axes,
    table: NDArray[np.float64],
    seen: NDArray[np.float64],
    names: Sequence[str],
) -> None:
    middles = (seen[1:] + seen[:-1]) / 2
    edges = np.concatenate([[seen[0]], middles, [max(seen[-1], seen[0] + 1)]])
    rows = np.arange(len(names) + 1) - 0.5
    present = np.ma.masked_equal(table.T, 0)  # absent classes stay white
    top = max(1.0, float(table.max()))
    image = axes.pcolormesh(edges, rows, present, cmap="cividis_r", vmin=0, vmax=top)
    axes.invert_yaxis()
    name_classes(axes, names)
    bar = figure.colorbar(image, ax=axes, fraction=0.03, pad=0.02, aspect=30)
    bar.set_label("images in memory")
    bar.outline.set_visible(False)


def _draw_strip(axes: Axes, images: NDArray[np.uint8]) -> None:
    """Draw two rows of images, evenly spaced from the oldest to the newest."""
    count = min(2 * IN_A_ROW, len(images))
    chosen = images[np.linspace(0, len(images) - 1, count).astype(int)]
    chosen = chosen if chosen.shape[1] == 3 else np.repeat(chosen[:, :1], 3, axis=1)
    _, channels, rows, columns = chosen.shape
    columns_used = min(IN_A_ROW, count)
    lines = -(-count // columns_used)
    grid = np.full((lines * columns_used, channels, rows + 2, columns + 2), 255, np.uint8)
    grid[:count, :, 1:-1, 1:-1] = chosen
    shape = (lines, columns_used, channels, rows + 2, columns + 2)
    mosaic = grid.reshape(shape).transpose(0, 3, 1, 4, 2)  # (lines, H, columns, W, C)
    axes.imshow(mosaic.reshape(lines * (rows + 2), columns_used * (columns + 2), channels))
    axes.set_title(
        f"{count} of {len(images)} images in memory at the end, oldest first",
        loc="left",
        fontsize=9,
    )
    axes.set_axis_off()


def _dress(axes: Axes) -> None:
    from matplotlib.ticker import MaxNLocator, StrMethodFormatter

    clean(axes)
    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axes.set_xlabel("stream position (images seen)")
