"""Maps with the images behind their points, and the neighbours of each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scale._errors import ScaleError
from scale.methods import Learner
from scale.report.embedding import project
from scale.report.page.sprite import sprite
from scale.report.run import evaluated_images, oldest_first, read_snapshots
from scale.runs import RunConfig
from scale.runs.learner import load_learner
from scale.runs.memory_sample import holds_images, spread

POINTS = 600  # images of the map
NEIGHBOURS = 8


class Pictures:
    """Maps and images of a run; what cannot be had goes to `missing`.

    Parameters
    ----------
    folder
        Folder of the run, finished or not.
    config
        Its config.
    missing
        List that gets a sentence for each part that cannot be shown.
    """

    def __init__(self, folder: Path, config: RunConfig, missing: list[str]) -> None:
        self.folder, self.config, self.missing = folder, config, missing
        self.learner = self._read_learner()

    def maps(self) -> dict[str, Any] | None:
        """Return maps at the start, the middle and the end; without labels, one of memory."""
        if not list((self.folder / "embeddings").glob("*.npz")):
            return self._map_of_memory()
        try:
            snapshots = read_snapshots(self.folder)
        except ScaleError as error:
            self.missing.append(f"The embedding maps cannot be shown: {error}.")
            return None
        labels = np.asarray(snapshots[-1][2])
        images = evaluated_images(self.config, labels)
        if images is None:
            self.missing.append("The images of the data are not there any more, or have changed.")
        views = [(title, np.asarray(features)) for title, features, _ in snapshots]
        return self._draw(views, labels, images)

    def _read_learner(self) -> Learner | None:
        try:
            return load_learner(self.folder, lambda text: self.missing.append(f"{text}."))
        except ScaleError as error:
            self.missing.append(f"The learner cannot be read: {error}.")
            return None

    def _map_of_memory(self) -> dict[str, Any] | None:
        memory = None if self.learner is None else self.learner.memory_
        if self.learner is None or not holds_images(memory):
            self.missing.append("No embeddings were kept, so there is no map.")
            return None
        images, arrivals = oldest_first(memory)
        chosen = spread(len(images), POINTS)
        images, arrivals = images[chosen], arrivals[chosen]
        features = self.learner.transform(images)
        title = f"images in memory, after {int(memory.seen):,} images"
        drawn = self._draw([(title, features)], np.full(len(images), -1), images)
        return {**drawn, "arrivals": arrivals.tolist()}

    def _draw(
        self,
        snapshots: list[tuple[str, NDArray[Any]]],
        labels: NDArray[Any],
        images: NDArray[np.uint8] | None,
    ) -> dict[str, Any]:
        chosen = spread(len(labels), POINTS)
        views = []
        for title, features in snapshots:
            places, remark = project(features[chosen], self.config.seed)
            low, high = places.min(0), places.max(0)
            unit = (places - low) / np.where(high > low, high - low, 1)
            views.append({"title": f"{title}{remark}", "points": np.round(unit, 4).tolist()})
        return {
            "views": views,
            "labels": labels[chosen].tolist(),
            "sprite": None if images is None else sprite(images[chosen]),
            "neighbours": _nearest(snapshots[-1][1][chosen]).tolist(),
        }


def _nearest(features: NDArray[Any]) -> NDArray[np.int64]:
    """Return the indices of the nearest neighbours by cosine of each row, itself left out."""
    lengths = np.linalg.norm(features, axis=1, keepdims=True)
    unit = features / np.where(lengths > 0, lengths, 1)
    similarity = unit @ unit.T
    np.fill_diagonal(similarity, -np.inf)
    return np.argsort(-similarity, axis=1, kind="stable")[:, :NEIGHBOURS]
