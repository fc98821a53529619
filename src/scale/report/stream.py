"""Pictures of streams: the share of each class over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from scale._errors import InputError
from scale.report._figure import class_colours, clean, matrix, new_figure, save, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NAMED = 20


def draw_streams(
    pictures: Mapping[str, ArrayLike], class_names: Sequence[str], path: str | Path
) -> None:
    """Draw streams below each other: classes over time, darker for a larger share.

    Classes have the same colours as in the other pictures of a run.

    Parameters
    ----------
    pictures
        Name of each stream, and the share of each class in each bin, ``(bins, T)``.
    class_names
        The `T` names.
    path
        The PNG to write.
    """
    if not isinstance(pictures, Mapping) or not pictures:
        raise InputError("there is no stream to draw; expected at least one")
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import PowerNorm, to_rgb

    names = shorten(class_names, len(class_names))
    # The square root keeps the small shares of an i.i.d. stream visible.
    shades = PowerNorm(0.5, vmin=0, vmax=1)
    colours = np.array([to_rgb(colour) for colour in class_colours(len(names))])  # (T, 3)
    height = float(np.clip(0.16 * len(names), 0.9, 2.4))
    figure = new_figure(7.2, 0.8 + (height + 0.3) * len(pictures))
    panels = figure.subplots(len(pictures), 1, sharex=True, squeeze=False)[:, 0]
    for axes, (stream, fractions) in zip(panels, pictures.items(), strict=True):
        table = matrix(fractions, f"the fractions of stream {stream!r}")
        if table.shape[1] != len(names):
            raise InputError(
                f"stream {stream!r} has {table.shape[1]} classes and there are {len(names)} "
                "class names; expected one name each"
            )
        strength = np.asarray(shades(table.T))[:, :, None]  # (T, bins, 1)
        axes.imshow(
            1 - strength * (1 - colours[:, None]),
            aspect="auto",
            interpolation="nearest",
            extent=(0, 100, len(names) - 0.5, -0.5),
        )
        axes.set_title(stream, loc="left", fontsize=10)
        clean(axes)
        name_classes(axes, names)
    panels[-1].set_xlabel("stream position (%)")
    scale = ScalarMappable(shades, "Greys")
    bar = figure.colorbar(scale, ax=list(panels), fraction=0.03, pad=0.02, aspect=30)
    bar.set_label("share of the images (%)")
    bar.set_ticks([0, 0.05, 0.2, 0.5, 1], labels=["0", "5", "20", "50", "100"])
    bar.outline.set_visible(False)
    save(figure, path)


def name_classes(axes: Axes, names: Sequence[str]) -> None:
    """Name the rows of a picture, or number some of them if there are many."""
    if len(names) <= NAMED:
        axes.set_yticks(range(len(names)), names, fontsize=7.5 if len(names) <= 12 else 6.5)
        axes.tick_params(axis="y", length=0)
    else:
        step = 5 if len(names) <= 40 else 20
        axes.set_yticks(range(0, len(names), step))
        axes.set_ylabel("class")
