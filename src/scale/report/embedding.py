"""t-SNE maps of the features at a few moments of the stream."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scale._errors import InputError
from scale._numbers import LARGEST_SEED, check_number
from scale.report._figure import GREY, class_colours, new_figure, save, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

POINTS = 1000
LEGEND = 40


def draw_embedding(
    snapshots: Sequence[tuple[str, ArrayLike, ArrayLike]],
    class_names: Sequence[str],
    path: str | Path,
    seed: int,
) -> None:
    """Draw t-SNE maps of the features side by side, coloured by class.

    Parameters
    ----------
    snapshots
        Title, features ``(N, D)`` and labels ``(N,)`` of each moment: start, middle, end.
    class_names
        The `T` names; label ``t`` is ``class_names[t]``.
    path
        The PNG to write.
    seed
        Seed of t-SNE and of the draw of at most 1000 points.
    """
    check_number("seed", seed, least=0, most=LARGEST_SEED, whole=True)
    if not len(snapshots):
        raise InputError("there is no snapshot to draw; expected at least one")
    if not all(isinstance(one, tuple) and len(one) == 3 for one in snapshots):
        raise InputError("a snapshot must be (title, features, labels)")
    names = shorten(class_names, len(class_names))
    colours = class_colours(len(names))
    columns = legend_columns(len(names))
    figure = new_figure(3.1 * len(snapshots) + 1.6 * columns, 3.5)
    panels = figure.subplots(1, len(snapshots), squeeze=False)[0]
    for axes, (title, features, labels) in zip(panels, snapshots, strict=True):
        points, kept = snapshot(features, labels, len(names), seed)
        mapped, remark = project(points, seed)
        draw_points(axes, mapped, kept, colours)
        axes.set_title(f"{title}{remark}", loc="left", fontsize=10)
    if columns:
        draw_legend(figure, names, colours, columns)
    save(figure, path)


def project(features: NDArray[np.float32], seed: int) -> tuple[NDArray[np.float64], str]:
    """Return two coordinates for each feature, and a remark if they are unusual.

    If there are too few features for t-SNE, the coordinates are principal components.
    """
    from sklearn.decomposition import PCA
    from sklearn.manifold import TSNE

    from scale.evaluate import collapsed, effective_rank

    count, dims = features.shape
    if count < 5 or dims < 2 or effective_rank(features) == 0:
        flat = np.zeros((count, 2))
        if (shown := min(2, count, dims)) and effective_rank(features) > 0:
            flat[:, :shown] = PCA(shown, random_state=seed).fit_transform(features)
        return flat, " (all equal)" if count > 1 and not flat.any() else " (not t-SNE)"
    if dims > 50:
        features = PCA(min(50, count), random_state=seed).fit_transform(features)
    tsne = TSNE(perplexity=min(30, (count - 1) / 3), init="pca", random_state=seed)
    return tsne.fit_transform(features), " (collapsed)" if collapsed(features) else ""


def snapshot(
    features: ArrayLike, labels: ArrayLike, T: int, seed: int
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Check one snapshot and return at most `POINTS` of its rows."""
    matrix, vector = np.asarray(features, dtype=np.float32), np.asarray(labels)
    shaped = matrix.ndim == 2 and matrix.size > 0 and vector.shape == (len(matrix),)
    if not shaped or not np.isfinite(matrix).all():
        raise InputError(
            f"features of shape {matrix.shape} with labels of shape {vector.shape} cannot be "
            "drawn; expected finite (N, D) and (N,)"
        )
    if vector.min() < 0 or vector.max() >= T:
        raise InputError(
            f"labels go from {vector.min()} to {vector.max()}; expected 0 to {T - 1}, one per name"
        )
    chosen = np.random.default_rng(seed).permutation(len(matrix))[:POINTS]
    return matrix[chosen], vector[chosen].astype(np.int64)


def draw_points(
    axes: Axes, mapped: NDArray[np.float64], labels: NDArray[np.int64], colours: Sequence[Any]
) -> None:
    """Draw the points of a map in the colours of their classes."""
    # Drawn in their random order, so that no class covers another.
    shades = [colours[label] for label in labels]
    size = float(np.clip(4000 / max(len(mapped), 1), 5, 25))
    axes.scatter(mapped[:, 0], mapped[:, 1], size, shades, linewidths=0, alpha=0.85)
    axes.set_xticks([])
    axes.set_yticks([])
    axes.set_box_aspect(1)
    axes.spines[:].set_color("#CCCCCC")
    if len(colours) > 12:
        _number_classes(axes, mapped, labels)


def _number_classes(axes: Axes, mapped: NDArray[np.float64], labels: NDArray[np.int64]) -> None:
    """Write each class's number at its median, because many classes have similar colours.

    A class whose median is close to another's gets no number.
    """
    from matplotlib.patheffects import withStroke

    halo = [withStroke(linewidth=2, foreground="white")]
    size = 7 if len(np.unique(labels)) <= LEGEND else 5
    apart = 0.006 * size * np.ptp(mapped)
    taken = np.empty((0, 2))
    for label in np.unique(labels):
        x, y = place = np.median(mapped[labels == label], axis=0)
        if (np.abs(taken - place).max(axis=1) < apart).any():
            continue
        taken = np.vstack([taken, place])
        axes.text(x, y, str(label), fontsize=size, ha="center", va="center", path_effects=halo)


def legend_columns(T: int) -> int:
    """Return the number of columns of the legend; 0 if there are too many classes."""
    return 1 + (T - 1) // 14 if T <= LEGEND else 0


def draw_legend(figure: Figure, names: Sequence[str], colours: Sequence[Any], columns: int) -> None:
    """Draw the legend of class names at the right."""
    from matplotlib.lines import Line2D

    numbered = len(names) > 12
    texts = [f"{label}  {name}" if numbered else name for label, name in enumerate(names)]
    handles = [Line2D([], [], linestyle="", marker="o", markersize=5, color=c) for c in colours]
    figure.legend(
        handles,
        texts,
        loc="outside right center",
        ncols=columns,
        frameon=False,
        fontsize=8,
        labelcolor=GREY,
        handletextpad=0.2,
        columnspacing=0.8,
        title="class",
        title_fontsize=8,
    )
