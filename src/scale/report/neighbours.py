"""Nearest neighbours of a few images, before and after learning: what the learner is for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scale._errors import InputError
from scale.report._figure import BLUE, GREY, VERMILION, new_figure, save, shorten

QUERIES = 8
NEIGHBOURS = 6
BEFORE, AFTER = 1.5, 2 + NEIGHBOURS  # columns at which the neighbours begin
CELL, SIDE = 0.58, 0.5  # inches from image to image, and of an image
LEFT, TOP, BOTTOM = 1.2, 0.35, 0.35  # inches around the images


def draw_neighbours(
    before: NDArray[Any],
    after: NDArray[Any],
    images: NDArray[np.uint8],
    labels: NDArray[np.int64],
    class_names: Sequence[str],
    path: str | Path,
) -> None:
    """Draw one image of each class, at most eight, with its nearest neighbours by cosine.

    Parameters
    ----------
    before, after
        Embeddings of the images, ``(N, D)`` each, at the start and at the end of the stream.
    images
        ``(N, C, H, W)`` uint8.
    labels
        ``(N,)``; a blue frame marks a neighbour of the same class, an orange one another class.
    class_names
        The `T` names; label ``t`` is ``class_names[t]``.
    path
        The PNG to write.
    """
    if not len(before) == len(after) == len(images) == len(labels):
        raise InputError(
            f"there are {len(before)} and {len(after)} embeddings, {len(images)} images and "
            f"{len(labels)} labels; expected as many of each"
        )
    names = shorten(class_names, len(class_names))
    present, first = np.unique(labels, return_index=True)  # the first image of each class
    rows = np.linspace(0, len(present) - 1, min(QUERIES, len(present))).astype(int)
    page = _Page(len(rows))
    for line, row in enumerate(rows):
        query = first[row]
        page.show(line, 0, images[query], None)
        page.write(LEFT - 0.08, page.middle(line), names[labels[query]], ha="right", va="center")
        for start, features in ((BEFORE, before), (AFTER, after)):
            for i, found in enumerate(nearest(features, query)):
                same = labels[found] == labels[query]
                page.show(line, start + i, images[found], BLUE if same else VERMILION)
    above = page.height - TOP + 0.06
    page.write(LEFT, above, "image", fontsize=9)
    for start, features, when in ((BEFORE, before, "before"), (AFTER, after, "after")):
        share = share_of_same_class(features, labels)
        title = f"nearest {when} learning: {share:.0%} of the same class"
        page.write(LEFT + CELL * start, above, title, fontsize=9)
    note = (
        f"Blue: same class; orange: another. Percentages are over all {len(labels):,} images. "
        "No label was used for learning."
    )
    page.write(LEFT, 0.12, note, color=GREY)
    save(page.figure, path)


class _Page:
    """A figure of images in rows; places are in inches from the lower left corner."""

    def __init__(self, rows: int) -> None:
        self.width = LEFT + CELL * (2 * NEIGHBOURS + 2) + 0.1
        self.height = CELL * rows + TOP + BOTTOM
        self.figure = new_figure(self.width, self.height)
        self.figure.set_layout_engine("none")  # every place is computed here

    def middle(self, row: int) -> float:
        """Return the height of the middle of a row."""
        return self.height - TOP - CELL * (row + 1) + SIDE / 2

    def write(self, x: float, y: float, text: str, **style: Any) -> None:
        self.figure.text(x / self.width, y / self.height, text, **{"fontsize": 8, **style})

    def show(self, row: int, column: float, image: NDArray[np.uint8], frame: str | None) -> None:
        x, y = LEFT + CELL * column, self.middle(row) - SIDE / 2
        size = (SIDE / self.width, SIDE / self.height)
        axes = self.figure.add_axes((x / self.width, y / self.height, *size))
        axes.set_xticks([])
        axes.set_yticks([])
        pixels = image.transpose(1, 2, 0)  # (H, W, C)
        grey = pixels.shape[2] == 1
        axes.imshow(pixels[..., 0] if grey else pixels, cmap="gray", vmin=0, vmax=255)
        for spine in axes.spines.values():
            spine.set_visible(frame is not None)
            spine.set_color(frame or GREY)
            spine.set_linewidth(2.2)


def nearest(features: NDArray[Any], query: int) -> NDArray[np.int64]:
    """Return the nearest rows to one row by cosine, the nearest first, the row itself left out.

    Examples
    --------
    >>> nearest(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.2]]), 0).tolist()
    [2, 1]
    """
    order = np.argsort(-_cosines(features, features[[query]])[0], kind="stable")
    found: NDArray[np.int64] = order[order != query][:NEIGHBOURS]
    return found


def share_of_same_class(features: NDArray[Any], labels: NDArray[np.int64]) -> float:
    """Return the fraction of nearest neighbours that have the class of their image."""
    alike = _cosines(features, features)
    np.fill_diagonal(alike, -np.inf)
    count = min(NEIGHBOURS, len(labels) - 1)
    found = np.argsort(-alike, axis=1, kind="stable")[:, :count]  # (N, count)
    return float((labels[found] == labels[:, None]).mean()) if count else 0.0


def _cosines(features: NDArray[Any], queries: NDArray[Any]) -> NDArray[np.float64]:
    def unit(rows: NDArray[Any]) -> NDArray[np.float64]:
        found: NDArray[np.float64] = np.array(rows, dtype=np.float64)
        found /= np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-12)
        return found

    cosines: NDArray[np.float64] = unit(queries) @ unit(features).T
    return cosines
