"""A measure by two settings: tau and kappa (Figure 9)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scale._errors import InputError
from scale.evaluate import MEASURES
from scale.report._figure import GREY
from scale.report.groups import Group
from scale.report.plots.axes import (
    axis_name,
    drawn_groups,
    tell_value,
    value_of,
    values_of,
    varied_settings,
)
from scale.report.plots.style import code_told, deviation, note, panels, seeds_told
from scale.report.records import Selection

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage


def draw_heatmap(selection: Selection) -> Figure:
    """Draw a cell with a number for each pair of values, and a panel for each stream.

    All panels share one colour scale. A cell without a run says "no run".
    """
    measure = selection.measure
    across, up = varied_settings(selection.records, selection.experiment, 2, "heatmaps")
    groups = drawn_groups(selection, [across, up])
    found = groupby(groups, lambda group: (group.title, group.name))
    several = len({group.name for group in groups}) > 1
    by_panel = [(", ".join(key) if several else key[0], list(cells)) for key, cells in found]
    means = [float(np.mean(g.values(measure))) for g in groups if g.values(measure)]
    figure, axes = panels(len(by_panel), 2, 2.8)
    for panel, (title, cells) in zip(axes, by_panel, strict=True):
        image = _draw_panel(panel, cells, (across, up), measure, (min(means), max(means)))
        panel.set_title(title, loc="left", fontsize=9)
    bar = figure.colorbar(image, ax=axes, shrink=0.85, pad=0.02)
    bar.set_label(MEASURES[measure].axis)
    bar.outline.set_visible(False)
    seeds = seeds_told(groups)
    spread = "" if seeds == "one seed" else ", ± standard deviation"
    note(figure, f"{seeds}{spread}{code_told(groups)}")
    return figure


def _draw_panel(
    axes: Axes,
    groups: Sequence[Group],
    settings: tuple[str, str],
    measure: str,
    limits: tuple[float, float],
) -> AxesImage:
    x, y = (values_of(groups, setting) for setting in settings)
    cells: dict[tuple[int, int], list[float]] = {}
    for group in groups:
        place = (x.index(value_of(group, settings[0])), y.index(value_of(group, settings[1])))
        if place in cells:
            raise InputError(
                f"several settings have the same {settings[0]} and {settings[1]}; choose among "
                "them with --methods, --datasets or --streams"
            )
        cells[place] = group.values(measure)
    grid = np.full((len(y), len(x)), np.nan)
    for (column, row), values in cells.items():
        grid[row, column] = np.mean(values) if values else np.nan
    image = axes.imshow(grid, "cividis", origin="lower", vmin=limits[0], vmax=limits[1])
    axes.set_aspect("auto")
    _write_cells(axes, grid, cells, image)
    axes.set_xticks(range(len(x)), [tell_value(value) for value in x])
    axes.set_yticks(range(len(y)), [tell_value(value) for value in y])
    axes.tick_params(length=0, labelsize=8)
    axes.spines[:].set_visible(False)
    axes.set_xlabel(axis_name(settings[0]))
    axes.set_ylabel(axis_name(settings[1]))
    return image


def _write_cells(
    axes: Axes,
    grid: NDArray[np.float64],
    cells: dict[tuple[int, int], list[float]],
    image: AxesImage,
) -> None:
    for (row, column), value in np.ndenumerate(grid):
        if np.isnan(value):
            axes.text(column, row, "no run", ha="center", va="center", color=GREY, fontsize=7.5)
            continue
        text = f"{value:.1f}"
        values = cells[column, row]
        if len(values) > 1:
            text += f"\n± {deviation(values):.1f}"
        ink = ink_on(image.to_rgba(np.array([value]))[0, :3])
        axes.text(column, row, text, ha="center", va="center", color=ink, fontsize=8)


def ink_on(colour: ArrayLike) -> str:
    """Return black or white, the one with more contrast to an RGB colour.

    Examples
    --------
    >>> ink_on((1.0, 0.9, 0.3)), ink_on((0.0, 0.1, 0.3))
    ('black', 'white')
    """
    c = np.asarray(colour, dtype=np.float64)
    linear = np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)
    luminance = float(linear @ (0.2126, 0.7152, 0.0722))
    # Contrast as in WCAG 2: with black (L + 0.05) / 0.05, with white 1.05 / (L + 0.05).
    return "black" if (luminance + 0.05) ** 2 > 0.05 * 1.05 else "white"
