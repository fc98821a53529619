"""The display of a run for programs: one JSON object per line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from scale._errors import ScaleError
from scale.runs.display import Display, HealthWatch
from scale.runs.interrupt import RunInterrupted
from scale.runs.metrics import read_metrics
from scale.runs.verdict import verdict

if TYPE_CHECKING:
    from scale.runs.config import RunConfig
    from scale.runs.setting import Setting


class Writable(Protocol):
    """What the lines are written to."""

    def write(self, text: str, /) -> object:
        """Write a text at once."""


class JsonDisplay(Display):
    """One JSON object per line; ``kind`` says what it is. docs/runs.md lists the kinds.

    Parameters
    ----------
    file
        Where to write.
    folder
        Folder of the run.
    """

    def __init__(self, file: Writable, folder: Path) -> None:
        self.file, self.folder = file, folder
        self.health = HealthWatch()
        self._position = 0
        self._shows_start = False

    def __exit__(self, *error: object) -> None:
        for one in error:
            if isinstance(one, RunInterrupted):
                self._put("stopped", position=self._position, saved=one.saved, next=one.command)

    def message(self, text: str) -> None:
        warning = text.removeprefix("warning: ")
        self._put("message" if warning == text else "warning", text=warning)

    def start(self, config: RunConfig, setting: Setting) -> None:
        stream = setting.stream
        self._position = stream.cursor
        self.health = HealthWatch(stream.batch_size, stream.num_samples)
        self._put(
            "start",
            folder=str(self.folder),
            position=stream.cursor,
            images=stream.num_samples,
            batches=len(stream),
            config=config.to_json(),
        )

    def floors(self, floors: dict[str, dict[str, Any]]) -> None:
        self._tell_start()
        self._put("floors", floors=floors)

    def batch(self, record: dict[str, Any]) -> None:
        self._position = record["position"]
        self._write(record)
        self._warn(self.health.look(record))

    def evaluation(self, record: dict[str, Any]) -> None:
        self._shows_start |= record["position"] == 0
        self._write(record)
        self._warn(self.health.look_at_evaluation(record))

    def finish(self, summary: dict[str, Any]) -> None:
        found = verdict(summary, self.folder)
        self._write({"kind": "summary", **summary, **found._asdict()})

    def pictures(self, paths: list[Path]) -> None:
        self._put("pictures", paths=[str(path) for path in paths])

    def _tell_start(self) -> None:
        """Write the evaluation at image 0, which the run measures with the floors."""
        if self._shows_start:
            return
        try:
            records = read_metrics(self.folder / "metrics.jsonl", "evaluation")
        except (ScaleError, OSError):  # a damaged file is the run's business
            return
        for record in records[:1]:
            if record["position"] == 0:
                self.evaluation(record)

    def _warn(self, warnings: list[str]) -> None:
        for warning in warnings:
            self._put("warning", text=warning)

    def _put(self, kind: str, **values: Any) -> None:
        self._write({"kind": kind, **values})

    def _write(self, values: dict[str, Any]) -> None:
        # As in metrics.jsonl. ASCII only, so that no name can move a terminal's cursor.
        self.file.write(json.dumps(values) + "\n")
