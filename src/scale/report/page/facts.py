"""Everything that the page shows about one run, as JSON."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np

from scale._errors import ScaleError
from scale._text import shell_line
from scale.evaluate import Guard
from scale.evaluate.measures import FLOORS, MEASURES
from scale.report.names import dataset_title
from scale.report.page.memory import memory_images
from scale.report.page.pictures import Pictures
from scale.report.page.series import COLUMNS, shrink, thin
from scale.report.run import arrivals
from scale.runs import RunConfig, code_label, default_parameters, read_metrics
from scale.runs.config import read_config
from scale.runs.run_folder import FLOORS_REMEDY, SUMMARY_REMEDY, read_json
from scale.runs.verdict import verdict

LATE = 0.05  # a class that comes after this share of the stream arrives late
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
        shares = self._shares()
        facts = {
            "title": self.title,
            "folder": self.folder.name,
            "run": {
                name: getattr(self.config, name) for name in ("dataset", "stream", "method", "seed")
            },
            "state": self._state(),
            "verdict": None if self.summary is None else verdict(self.summary, self.folder).text,
            "about": self._about(),
            "command": repeat_command(self.config, self.begun.get("threads")),
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
            "stream": self._stream(shares),
            "arrivals": self._arrivals(shares),
            "timing": {} if self.summary is None else self.summary.get("timing", {}),
        }
        if pictures:
            found = Pictures(self.folder, self.config, self.missing)
            before = (self.begun.get("start") or {}).get("images", 0)
            total = before + self.begun.get("data", {}).get("images", 0)
            facts |= {
                "maps": found.maps(),
                "memoryImages": memory_images(self.folder, found.learner, total, self.missing),
            }
        else:
            own = shell_line(["scale", "report", str(self.folder)])
            self.missing.append(f"Maps and images in memory are on its own page: {own}")
        return {**facts, "missing": self.missing}

    @property
    def title(self) -> str:
        """Method, dataset, stream and seed in a line."""
        run = self.config
        return f"{run.method} on {dataset_title(run.dataset)} {run.stream}, seed {run.seed}"

    def _state(self) -> str:
        total = self.begun.get("data", {}).get("images", 0)
        if self.summary is not None:
            return f"finished: {total:,} images"
        seen = self.batches[-1]["position"] if self.batches else 0
        self.missing.append(
            "The run is not finished: this is what it had written, without the measures of its "
            "end, time and memory."
        )
        return f"in progress: {seen:,} of {total:,} images"

    def _about(self) -> dict[str, str]:
        """Return what was run, in a few words each."""
        data, params = self.begun.get("data", {}), self.config.params
        shape = " x ".join(map(str, data.get("image_shape", [])))
        kinds = f", {len(self.names)} classes" if self.names else ", no labels"
        order = f"{self.config.stream}, batches of {self.config.stream_batch}"
        learner = [self.config.method]
        learner += [f"encoder {params['encoder']}"] if "encoder" in params else []
        if "steps_per_batch" in params:
            steps = params["steps_per_batch"]
            learner.append(f"{steps} update{'' if steps == 1 else 's'} per batch")
        if "memory_size" in params:
            learner.append(f"memory of {params['memory_size']:,} images")
        about = {
            "data": f"{dataset_title(self.config.dataset)}: {data.get('images', 0):,} images "
            f"of {shape}{kinds}",
            "stream": order,
            "learner": ", ".join(learner),
        }
        if sets := data.get("evaluation"):
            about["evaluation"] = (
                f"{sets['eval']:,} images, with {sets['bank']:,} labelled images to compare with"
            )
        if start := self.begun.get("start"):
            about["start"] = f"goes on from {start.get('learner', 'another learner')}"
        return {**about, "code": code_label(self.begun)}

    def _measures(self) -> list[dict[str, Any]]:
        """Return the measures of the end, or of the last evaluation, with those of the floors."""
        last = self.summary or (self.evaluations[-1] if self.evaluations else {})
        if not self.names:
            self.missing.append(
                "The data has no labels, so there is no accuracy, no picture of the stream by "
                "class, and no map of test images."
            )
        elif not self.evaluations:
            self.missing.append("There is no evaluation yet.")
        return [
            {
                "name": name,
                "title": measure.title,
                "meaning": measure.meaning,
                "unit": measure.unit,
                "value": float(last[name]),
                "floors": {
                    floor: float(values[name])
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

    def _guard(self) -> dict[str, Any]:
        asked = [e for e in self.evaluations if isinstance(e.get("guard"), dict)]
        if not asked:
            return {}
        names = {"learner": "score", "start": "start_score", "encoder": "encoder_score"}
        rows = [
            {"position": e["position"], **{k: e["guard"].get(v) for k, v in names.items()}}
            for e in asked
        ]
        last = str(Guard.from_json(asked[-1]["guard"]))
        return {**thin(rows, list(names)), "said": f"{last[0].upper()}{last[1:]}."}

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
            "at": [e["position"] for e in asked] if len(asked) <= COLUMNS else None,
            "from": asked[0]["position"],
            "to": asked[-1]["position"],
        }

    def _shares(self) -> np.ndarray | None:
        """Return the share of each class over the stream, (moments, classes)."""
        if not (self.folder / "stream.npy").is_file():
            if self.names:
                self.missing.append("The picture of the stream (stream.npy) is not there.")
            return None
        try:
            return np.asarray(arrivals(self.folder), float)
        except ScaleError as error:
            self.missing.append(f"The picture of the stream cannot be shown: {error}.")
            return None

    def _arrivals(self, shares: np.ndarray | None) -> list[list[float]] | None:
        """Return between which positions each class arrives; None if all arrive all the time."""
        if shares is None:
            return None
        step = self.begun.get("data", {}).get("images", 0) / max(len(shares), 1)
        there = [np.flatnonzero(column) for column in shares.T]
        spans = [[float(t[0] * step), float((t[-1] + 1) * step)] if len(t) else [] for t in there]
        late = any(span and span[0] > LATE * step * len(shares) for span in spans)
        return spans if late else None

    def _stream(self, shares: np.ndarray | None) -> dict[str, Any] | None:
        if shares is None:
            return None
        return {
            "rows": shrink(shares.T),
            "from": 0,
            "to": self.begun.get("data", {}).get("images", 0),
        }


def repeat_command(config: RunConfig, threads: int | None = None) -> str:
    """Return the command that makes this run again, with the threads that it had."""
    words = ["scale", "run"]
    given = {**config.to_json(), "threads": config.threads or threads}
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
