"""Progress of a run in plain lines; `scale.runs.panel` has the live panel for terminals."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from scale._errors import InputError
from scale._names import shown
from scale._text import printable
from scale.evaluate import FLOORS, Guard
from scale.runs.verdict import verdict
from scale.runs.view import HIDDEN, SHOWN

FEW = 5  # names in a message

if TYPE_CHECKING:
    from scale.runs.config import RunConfig
    from scale.runs.setting import Setting


class Display:
    """Shows nothing; the base class of the other displays."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        """Stop showing."""

    def loading(self, done: int, total: int) -> None:
        """Show that `done` of `total` images are decoded."""

    def message(self, text: str) -> None:
        """Show a line of text."""

    def start(self, config: RunConfig, setting: Setting) -> None:
        """Show that the stream starts or resumes."""

    def floors(self, floors: dict[str, dict[str, Any]]) -> None:
        """Show the floors."""

    def batch(self, record: dict[str, Any]) -> None:
        """Show the record of a batch."""

    def evaluation(self, record: dict[str, Any]) -> None:
        """Show an evaluation."""

    def finish(self, summary: dict[str, Any]) -> None:
        """Show the summary of a finished run."""

    def pictures(self, paths: list[Path]) -> None:
        """Show that the pictures are drawn."""


class PlainDisplay(Display):
    """Lines of text, for logs: every evaluation, and a batch every few seconds.

    Parameters
    ----------
    console
        Where to write.
    seconds
        Seconds between two lines about batches.
    folder
        Folder of the run, to say at the end what to do next.
    """

    def __init__(self, console: Console, seconds: float = 10.0, folder: Path | None = None) -> None:
        self.console = console
        self.seconds = seconds
        self.folder = folder
        self.health = HealthWatch()
        self.clock = Clock()
        self._shown = 0.0

    def message(self, text: str) -> None:
        plain = printable(text)
        self.console.print(plain, highlight=False, markup=False, emoji=False, soft_wrap=True)

    def warn(self, warnings: list[str]) -> None:
        """Show warnings."""
        for warning in warnings:
            self.message(f"warning: {warning}")

    def watch(self, setting: Setting) -> None:
        """Start the clock and the watch over the learner's health; name classes not measured."""
        self.clock = Clock(setting.stream.cursor, setting.stream.num_samples)
        self.health = HealthWatch(setting.stream.batch_size, setting.stream.num_samples)
        left_out = _not_measured(setting)
        if left_out:
            what = "1 class" if len(left_out) == 1 else f"{len(left_out)} classes"
            names = f"{', '.join(left_out[:FEW])}{', ...' if left_out[FEW:] else ''}"
            self.message(f"{what} without images to evaluate on, only learned from: {names}")

    def start(self, config: RunConfig, setting: Setting) -> None:
        self.watch(setting)
        self.message(_headline(config, setting))

    def floors(self, floors: dict[str, dict[str, Any]]) -> None:
        self.clock.restart()
        for name, measures in floors.items():
            self.message(f"floor {FLOORS.get(name, name)}: {_numbers(measures)}")

    def batch(self, record: dict[str, Any]) -> None:
        self.clock.at(record["position"])
        self.warn(self.health.look(record))
        if time.monotonic() - self._shown >= self.seconds:
            self._shown = time.monotonic()
            self.message(f"{self.clock.text()}  {_losses(record)}")

    def evaluation(self, record: dict[str, Any]) -> None:
        numbers = _numbers(record) or "no labels, so no measures"
        self.message(f"evaluation at image {record['position']}: {numbers}")
        if "guard" in record:
            self.message(str(Guard.from_json(record["guard"])))
        self.warn(self.health.look_at_evaluation(record))

    def finish(self, summary: dict[str, Any]) -> None:
        if "floors" in summary:
            self.console.print(summary_table(summary))
        self.conclude(summary)

    def conclude(self, summary: dict[str, Any]) -> None:
        """Say whether the run learned anything, and what to do next."""
        found = verdict(summary, self.folder)
        text = Text(printable(found.text), style="bold")
        self.console.print(text, soft_wrap=not self.console.is_terminal)
        if found.next:  # one line, to be copied
            self.console.print(Text(f"Next: {printable(found.next)}"), soft_wrap=True)

    def pictures(self, paths: list[Path]) -> None:
        names = ", ".join(path.name for path in paths)
        self.message(f"pictures in {self.folder}: {names or 'none, there are no labels'}")


class HealthWatch:
    """Turns records into warnings; each appears once until its cause is gone."""

    def __init__(self, stream_batch: int = 0, images: int = 0) -> None:
        self.stream_batch = stream_batch
        self.images = images
        self._given: set[str] = set()
        self._worse = False

    def look(self, record: dict[str, Any]) -> list[str]:
        """Return the new warnings of a batch's record."""
        wrong = {}
        if record.get("collapsed"):
            wrong["collapsed"] = (
                f"the features have collapsed (effective rank {record['effective_rank']:.1f}): "
                "the encoder gives all images nearly the same features"
            )
        accepted = record.get("pseudo_positives") or 0.0
        if self.stream_batch and accepted > self.stream_batch / 4:
            wrong["pseudo_positives"] = (
                f"{accepted:.0f} of {2 * self.stream_batch - 1} stream views pass as positives of "
                "each view, which collapses the batch to a point; raise mu or lower kappa"
            )
        if record.get("held_back"):
            wrong["held_back"] = (
                "what was learned recognises views worse than the pretrained start alone: the "
                "learner holds back and embeds with its start"
            )
        new = [text for name, text in wrong.items() if name not in self._given]
        self._given = set(wrong)
        return new

    def look_at_evaluation(self, record: dict[str, Any]) -> list[str]:
        """Return the new warnings of an evaluation's record."""
        if "guard" not in record:
            return []
        early = record["position"] <= self.images / 10  # the first updates may lower the score
        told = Guard.from_json(record["guard"])
        warned, self._worse = self._worse, not early and not told.encoder_better
        if warned or not self._worse:
            return []
        if told.better:
            return [
                "the encoder alone recognises views no better than at its start; what the learner "
                "gained is in its other features"
            ]
        advice = (
            "compare its kNN with that of its start, the floor random or frozen"
            if "knn" in record
            else "it has probably learned nothing useful; try other settings"
        )
        worse = "the learner recognises views no better than the encoder it started from"
        return [f"{worse}: {advice}"]


class Clock:
    """Speed and time left, from the start of this process."""

    def __init__(self, position: int = 0, total: int = 0) -> None:
        self._first = self._position = position
        self._total = total
        self._begin = time.monotonic()

    def restart(self) -> None:
        """Leave out the time so far, in which nothing was learned."""
        self._begin = time.monotonic()

    def at(self, position: int) -> None:
        """Note how many images have passed."""
        self._position = position

    def speed(self) -> float:
        """Return the images per second."""
        return (self._position - self._first) / max(time.monotonic() - self._begin, 1e-9)

    def left(self) -> float:
        """Return the seconds left."""
        return (self._total - self._position) / max(self.speed(), 1e-9)

    def text(self) -> str:
        """Return position, speed and time left."""
        return (
            f"image {self._position}/{self._total}  {self.speed():.1f} images/s  "
            f"{self.left() / 60:.1f} min left"
        )


def measures_table(rows: dict[str, dict[str, Any]], title: str) -> Table:
    """Return a table of measures; the last row is the learner's."""
    if not isinstance(rows, Mapping) or not rows or not all(map(_is_row, rows.values())):
        raise InputError(f"rows must be tables of measures by name, got {shown(rows)}")
    plain = Text(printable(title), style="table.title")  # a path in it may hold brackets
    table = Table(title=plain, pad_edge=False)  # so that all titles fit in 80 columns
    table.add_column("features", no_wrap=True)  # a narrow terminal cuts the other titles
    *_, last = rows
    names = [name for name in SHOWN if name in rows[last]]
    for name in names:
        table.add_column(f"{SHOWN[name].title} {SHOWN[name].unit}".strip(), justify="right")
    for label, measures in rows.items():
        cells = [f"{measures[name]:.1f}" if name in measures else "" for name in names]
        table.add_row(
            FLOORS.get(label, label) if label != last else label,
            *cells,
            style="bold" if label == last else "",
        )
    return table


def _is_row(row: object) -> bool:
    return isinstance(row, Mapping)


def summary_table(summary: dict[str, Any]) -> Table:
    """Return a table of the learner's final measures and of the floors."""
    title = f"{summary['method']} on {summary['dataset']} {summary['stream']}"
    floors = {name: row for name, row in summary["floors"].items() if name != summary["method"]}
    table = measures_table({**floors, summary["method"]: summary}, title)
    table.caption = (
        f"average over the stream {summary['average']:.1f}, "
        f"forgetting {summary['forgetting']:.1f}, {summary['timing']['wall_seconds']:.0f} s"
    )
    return table


def _headline(config: RunConfig, setting: Setting) -> str:
    stream = setting.stream
    return (
        f"{config.method} on {config.dataset} {config.stream}, seed {config.seed}: "
        f"{stream.num_samples} images in {len(stream)} batches of {stream.batch_size}"
    )


def _not_measured(setting: Setting) -> list[str]:
    """Return the names of the classes that are in the stream and in no measure."""
    if setting.evaluator is None or setting.labels is None:
        return []
    left_out = np.setdiff1d(setting.labels, setting.evaluator.sets.classes)
    return [printable(setting.class_names[label]) for label in left_out]


def _losses(record: dict[str, Any]) -> str:
    return "  ".join(
        f"{name.replace('_', ' ')} {value:.3g}"
        for name, value in record.items()
        if name not in HIDDEN and value is not None
    )


def _numbers(measures: dict[str, Any]) -> str:
    shown = {name: measure.title for name, measure in SHOWN.items() if name in measures}
    return "  ".join(f"{title} {measures[name]:.1f}" for name, title in shown.items())
