"""Everything that the page shows about one run, as JSON."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np

from scale._errors import ScaleError
from scale._text import shell_line
from scale.evaluate.measures import FLOORS, MEASURES
from scale.report.embedding import project
from scale.report.page.series import rounded, shrink, thin
from scale.report.page.sprite import sprite
from scale.report.run import arrivals, evaluated_images, images_in_memory, read_snapshots
from scale.runs import RunConfig, code_label, default_parameters, read_metrics
from scale.runs.config import read_config
from scale.runs.run_folder import FLOORS_REMEDY, SUMMARY_REMEDY, read_json

POINTS = 600  # images of the map
NEIGHBOURS = 8
MEMORY_IMAGES = 400
NOT_LINES = ("kind", "batch", "position", "collapsed", "memory", "memory_before")


class Facts:
    """Collects the facts about a run; what cannot be had goes to `missing`.

    Parameters
    ----------
    folder
        Folder of the run, finished or not.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.config = RunConfig.read(folder)
        self.begun = read_config(folder)
        self.missing: list[str] = []
        metrics = folder / "metrics.jsonl"
        self.batches = read_metrics(metrics, "batch") if metrics.is_file() else []
        self.evaluations = read_metrics(metrics, "evaluation") if metrics.is_file() else []
        done = folder / "summary.json"
        self.summary = read_json(done, SUMMARY_REMEDY) if done.is_file() else None
        self.names: list[str] = self.begun.get("data", {}).get("class_names", [])

    def collect(self, *, pictures: bool = True) -> dict[str, Any]:
        """Return the facts; `pictures` adds maps, neighbours and images of memory."""
        facts = {
            "title": self.title,
            "run": {
                name: getattr(self.config, name) for name in ("dataset", "stream", "method", "seed")
            },
            "state": self._state(),
            "command": repeat_command(self.config),
            "code": code_label(self.begun),
            "versions": self.begun.get("versions", {}),
            "settings": {**self.config.to_json(), "params": None, **self.config.params},
            "images": self.begun.get("data", {}).get("images"),
            "classes": self.names,
            "measures": self._measures(),
            "floors": self._floors(),
            "curve": self._curve(),
            "guard": self._guard(),
            "batches": self._lines(),
            "memory": self._memory(),
            "perClass": self._per_class(),
            "stream": self._stream(),
            "timing": {} if self.summary is None else self.summary.get("timing", {}),
        }
        if pictures:
            facts |= {"maps": self._maps(), "memoryImages": self._memory_images()}
        return {**facts, "missing": self.missing}

    @property
    def title(self) -> str:
        """Method, dataset, stream and seed in a line."""
        run = self.config
        return f"{run.method} on {run.dataset} {run.stream}, seed {run.seed}"

    def _state(self) -> str:
        total = self.begun.get("data", {}).get("images", 0)
        if self.summary is not None:
            return f"finished: {total:,} images"
        seen = self.batches[-1]["position"] if self.batches else 0
        self.missing.append("The run is not finished: there is no summary yet.")
        return f"in progress: {seen:,} of {total:,} images"

    def _measures(self) -> list[dict[str, Any]]:
        """Return the measures of the end, or of the last evaluation, with those of the floors."""
        last = self.summary or (self.evaluations[-1] if self.evaluations else {})
        if not self.names:
            self.missing.append("The data has no labels, so accuracy cannot be measured.")
        elif not self.evaluations:
            self.missing.append("There is no evaluation yet.")
        return [
            {
                "name": name,
                "title": measure.title,
                "meaning": measure.meaning,
                "unit": measure.unit,
                "value": rounded(float(last[name]), 6),
                "floors": {
                    floor: rounded(float(values[name]), 6)
                    for floor, values in self._floors().items()
                    if isinstance(values.get(name), int | float)
                },
            }
            for name, measure in MEASURES.items()
            if isinstance(last.get(name), int | float)
        ]

    def _floors(self) -> dict[str, dict[str, Any]]:
        path = self.folder / "floors.json"
        if not path.is_file():
            return {}
        floors = read_json(path, FLOORS_REMEDY)
        return {
            FLOORS.get(name, name): {
                key: value for key, value in values.items() if isinstance(value, int | float)
            }
            for name, values in floors.items()
        }

    def _curve(self) -> dict[str, list[Any]]:
        shown = [
            name for name in ("knn", "linear", "acc") if any(name in e for e in self.evaluations)
        ]
        return thin(self.evaluations, shown) if shown else {}

    def _guard(self) -> dict[str, list[Any]]:
        asked = [
            {"position": e["position"], "learner": g.get("score"), "start": g.get("start_score")}
            for e in self.evaluations
            if isinstance(g := e.get("guard"), dict)
        ]
        return thin(asked, ["learner", "start"]) if asked else {}

    def _lines(self) -> dict[str, list[Any]]:
        names = dict.fromkeys(
            name
            for batch in self.batches[:1] + self.batches[-1:]
            for name, value in batch.items()
            if name not in NOT_LINES and isinstance(value, int | float)
        )
        return thin(self.batches, list(names)) if self.batches else {}

    def _memory(self) -> dict[str, Any] | None:
        held = [batch for batch in self.batches if "memory" in batch]
        if not held:
            return None
        return {
            "rows": shrink(np.array([batch["memory"] for batch in held], float).T),
            "from": held[0]["position"],
            "to": held[-1]["position"],
        }

    def _per_class(self) -> dict[str, Any] | None:
        asked = [e for e in self.evaluations if e.get("knn_per_class")]
        if not asked:
            return None
        return {
            "rows": shrink(np.array([e["knn_per_class"] for e in asked], float).T),
            "from": asked[0]["position"],
            "to": asked[-1]["position"],
        }

    def _stream(self) -> dict[str, Any] | None:
        if not (self.folder / "stream.npy").is_file():
            if self.names:
                self.missing.append("The picture of the stream (stream.npy) is not there.")
            return None
        total = self.begun.get("data", {}).get("images", 0)
        return {"rows": shrink(np.asarray(arrivals(self.folder), float).T), "from": 0, "to": total}

    def _maps(self) -> dict[str, Any] | None:
        if not list((self.folder / "embeddings").glob("*.npz")):
            self.missing.append("No embeddings were kept, so there is no map.")
            return None
        snapshots = read_snapshots(self.folder)
        labels = np.asarray(snapshots[-1][2])
        chosen = np.linspace(0, len(labels) - 1, min(POINTS, len(labels))).astype(int)
        views = []
        for title, features, _ in snapshots:
            places, remark = project(np.asarray(features)[chosen], self.config.seed)
            low, high = places.min(0), places.max(0)
            unit = (places - low) / np.where(high > low, high - low, 1)
            views.append({"title": f"{title}{remark}", "points": np.round(unit, 4).tolist()})
        images = evaluated_images(self.config, labels)
        if images is None:
            self.missing.append("The images of the data are not there any more, or have changed.")
        return {
            "views": views,
            "labels": labels[chosen].tolist(),
            "sprite": None if images is None else sprite(images[chosen]),
            "neighbours": _nearest(np.asarray(snapshots[-1][1])[chosen]).tolist(),
        }

    def _memory_images(self) -> dict[str, Any] | None:
        try:
            images = images_in_memory(self.folder)
        except ScaleError as error:
            self.missing.append(f"The learner cannot be read: {error}.")
            return None
        if images is None or len(images) == 0:
            return None
        chosen = np.linspace(0, len(images) - 1, min(MEMORY_IMAGES, len(images))).astype(int)
        return {"sprite": sprite(images[chosen]), "held": len(images)}


def repeat_command(config: RunConfig) -> str:
    """Return the command that makes this run again."""
    words = ["scale", "run"]
    given = config.to_json()
    defaults = RunConfig().to_json()
    for field in dataclasses.fields(config):
        name, value = field.name, given.get(field.name)
        always = name in ("dataset", "stream", "method", "seed")
        if name in ("params", "start_digest") or (value == defaults.get(name) and not always):
            continue
        option = "from" if name == "start_from" else name.replace("_", "-")
        words += [f"--{option}"] if value is True else [f"--{option}", str(value)]
    usual = default_parameters(config.dataset, config.method)
    for name, value in config.params.items():
        if value != usual.get(name):
            words += _option(name, value)
    return shell_line([*words, "--out", "runs/again"])


def _option(name: str, value: object) -> list[str]:
    option = name.replace("_", "-")
    if isinstance(value, bool):
        return [f"--{option}" if value else f"--no-{option}"]
    return [f"--{option}", str(value)]


def _nearest(features: np.ndarray) -> np.ndarray:
    """Return the indices of the nearest neighbours by cosine of each row, itself left out."""
    lengths = np.linalg.norm(features, axis=1, keepdims=True)
    unit = features / np.where(lengths > 0, lengths, 1)
    similarity = unit @ unit.T
    np.fill_diagonal(similarity, -np.inf)
    return np.argsort(-similarity, axis=1, kind="stable")[:, :NEIGHBOURS]
