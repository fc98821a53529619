"""The display of a run on a terminal: one live panel, then one sentence."""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from rich.console import Console
from rich.live import Live
from rich.text import Text

from scale._errors import ScaleError
from scale._text import printable
from scale.runs.display import PlainDisplay
from scale.runs.metrics import read_metrics
from scale.runs.probe import duration
from scale.runs.run import evaluation_points
from scale.runs.run_folder import FLOORS_REMEDY, read_json
from scale.runs.view import View

if TYPE_CHECKING:
    from scale.runs.config import RunConfig
    from scale.runs.setting import Setting

SECONDS = 0.25  # least time between two drawings
SHARE = 0.02  # of a core that drawing may take
SEEN = 5.0  # seconds after which it is drawn again if nothing changed: the terminal may have


class LiveDisplay(PlainDisplay):
    """A live panel: progress, curves, memory, and the last evaluation beside the floors.

    Notes and warnings appear above the panel. It stays when the run ends, and a sentence follows.

    Parameters
    ----------
    console
        The terminal.
    folder
        Folder of the run, to show what a resumed run had reached.
    """

    def __init__(self, console: Console, folder: Path | None = None) -> None:
        super().__init__(console, seconds=float("inf"), folder=folder)
        self.view = View()
        self._due: set[int] = set()
        # Rich measures the panel and draws over it in two steps: no line may come between them.
        self._drawing = threading.RLock()
        self._changed, self._ended = threading.Event(), threading.Event()
        self._artist = threading.Thread(target=self._redraw, daemon=True)
        self._live = Live(
            console=console,
            get_renderable=lambda: self.view,
            auto_refresh=False,
            redirect_stderr=sys.stderr is not None and sys.stderr.isatty(),
        )

    def __enter__(self) -> Self:
        self._live.start()
        self._artist.start()
        return self

    def __exit__(self, *error: object) -> None:
        if not self.view.closed:
            self._close("stopped")

    def loading(self, done: int, total: int) -> None:
        self.view.phase = f"loading {done} of {total} images"
        self._changed.set()

    def message(self, text: str) -> None:
        if text.startswith("measuring "):
            self.view.phase = text
            self._changed.set()
        elif text.startswith("about ") and ";" not in text:  # the time, without advice
            self.view.left = text
        elif not text.startswith("going on from image "):  # the panel says it
            style = "yellow" if text.startswith("warning:") else ""
            with self._drawing:
                self.console.print(Text(printable(text), style=style))

    def start(self, config: RunConfig, setting: Setting) -> None:
        self.watch(setting)
        stream, view = setting.stream, self.view
        view.method, view.phase = printable(config.method), ""
        place = f"{view.method} on {printable(config.dataset)} {config.stream}"
        begun = f", went on at image {stream.cursor}" if stream.cursor else ""
        view.title = f"{place}, seed {config.seed}{begun}"
        view.position, view.total = stream.cursor, stream.num_samples
        view.batch_size = stream.batch_size
        self._due = evaluation_points(len(stream), config.evaluations)
        if stream.cursor:
            self._recall()
        self._changed.set()

    def floors(self, floors: dict[str, dict[str, Any]]) -> None:
        self.clock.restart()
        self.view.floors, self.view.phase = floors, ""
        if not self.view.position:
            self._recall()  # the evaluation at image 0
        self._changed.set()

    def batch(self, record: dict[str, Any]) -> None:
        super().batch(record)
        view = self.view
        view.phase = "evaluating" if record["batch"] in self._due else ""
        view.speed = f"{self.clock.speed():.1f} images/s"
        left = self.clock.left()
        view.left = f"about {duration(left)} left" if left else ""
        view.batch(record)
        self._changed.set()

    def evaluation(self, record: dict[str, Any]) -> None:
        self.view.phase = ""
        self.view.evaluation(record)
        self._changed.set()
        self.warn(self.health.look_at_evaluation(record))

    def finish(self, summary: dict[str, Any]) -> None:
        spent = (summary.get("timing") or {}).get("wall_seconds")
        self._close("done" if spent is None else f"done in {duration(spent)}")
        self.conclude(summary)

    def _close(self, how: str) -> None:
        """Leave the panel at its last state."""
        self._ended.set()
        self._changed.set()
        if self._artist.is_alive():
            self._artist.join()
        self.view.left, self.view.phase, self.view.closed = how, "", True
        self._live.stop()

    def _redraw(self) -> None:
        pause = SECONDS
        while not self._ended.wait(pause):
            self._changed.wait(SEEN)
            self._changed.clear()
            begin = time.thread_time()
            with self._drawing:
                self._live.refresh()
            pause = max(SECONDS, (time.thread_time() - begin) / SHARE)

    def _recall(self) -> None:
        """Take over what the folder has: a resumed run, and the evaluation at its start."""
        if self.folder is None:
            return
        metrics = self.folder / "metrics.jsonl"
        try:
            if (self.folder / "floors.json").is_file():
                self.view.floors = read_json(self.folder / "floors.json", FLOORS_REMEDY)
            for record in read_metrics(metrics, "batch"):
                self.view.batch(record)
            for record in read_metrics(metrics, "evaluation"):
                self.view.evaluation(record)
        except (ScaleError, OSError):  # a damaged file is the run's business
            return
