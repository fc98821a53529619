"""A display that also sends what it is told to loggers. Loggers never stop or change a run."""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Any, Self

from scale._files import write_atomic
from scale.runs.code import code_label
from scale.runs.config import read_config
from scale.runs.display import Display
from scale.runs.loggers.patient import Patient
from scale.runs.loggers.registry import LOGGERS, Logger, check_loggers
from scale.runs.metrics import read_metrics

if TYPE_CHECKING:
    from scale.runs.config import RunConfig
    from scale.runs.setting import Setting

IDS = "loggers.json"  # in the run's folder: the run_id of each logger
KINDS = ("batch", "evaluation")
HIDDEN = ("kind", "position", "batch")
LONGEST = 200  # characters of a reason
NOT_OF_THE_END = ("seed", "images", "batches", "floors", "guard")  # elsewhere, or no measures


class Logged(Display):
    """Shows a run and logs it.

    A resumed run goes on in the same runs of its loggers, and points that they have are left out.
    A logger that comes later gets the earlier points first. After a kill, a logger may have the
    last point twice.

    Parameters
    ----------
    display
        Shows the run.
    folder
        Folder of the run.
    names
        Names of loggers.
    """

    def __init__(self, display: Display, folder: Path, names: list[str]) -> None:
        check_loggers(names)
        self._display, self._folder, self._names = display, folder, list(dict.fromkeys(names))
        self._loggers: dict[str, Logger] = {}
        self._patient = {name: Patient(f"logger {name}") for name in self._names}
        self._ids = _read_ids(folder / IDS)
        # Read before the run begins, because it goes back to its last checkpoint.
        self._last = {kind: _last_position(folder, kind) for kind in KINDS}
        self._until: dict[str, dict[str, int]] = {}

    def __enter__(self) -> Self:
        self._display.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._display.__exit__(*error)

    def loading(self, done: int, total: int) -> None:
        self._display.loading(done, total)

    def message(self, text: str) -> None:
        self._display.message(text)

    def start(self, config: RunConfig, setting: Setting) -> None:
        self._display.start(config, setting)
        title = f"{config.method} {config.dataset} {config.stream} {config.seed}"
        for name in self._names:
            known = self._ids.get(name)
            self._until[name] = self._last if known is not None else dict.fromkeys(KINDS, -1)
            with self._guarded(name):
                make = partial(LOGGERS[name], self._folder, title, known)
                self._loggers[name] = self._patient[name](make)
                self._ids[name] = self._loggers[name].run_id
        with contextlib.suppress(OSError):
            if self._ids:
                write_atomic(self._folder / IDS, json.dumps(self._ids, indent=1) + "\n")
        new = [name for name in self._loggers if self._until[name] is not self._last]
        self._each(lambda logger: logger.config(self._options(config)), new)
        for record in _records(self._folder):
            self._log(record, new)

    def floors(self, floors: dict[str, dict[str, Any]]) -> None:
        self._display.floors(floors)
        values = numbers(floors, "floors/")
        self._each(lambda logger: logger.metrics(values, 0))

    def batch(self, record: dict[str, Any]) -> None:
        self._display.batch(record)
        self._log(record)

    def evaluation(self, record: dict[str, Any]) -> None:
        self._display.evaluation(record)
        self._log(record)

    def finish(self, summary: dict[str, Any]) -> None:
        self._display.finish(summary)
        values = numbers({k: v for k, v in summary.items() if k not in NOT_OF_THE_END}, "summary/")
        self._each(lambda logger: logger.metrics(values, int(summary["images"])))

    def pictures(self, paths: list[Path]) -> None:
        self._display.pictures(paths)
        for path in paths:
            self._each(lambda logger, path=path: logger.picture(path.stem, path))  # type: ignore[misc]

    def close(self) -> None:
        """End the loggers."""
        self._each(lambda logger: logger.close())
        self._loggers = {}

    def _options(self, config: RunConfig) -> dict[str, str]:
        """Return the options, the parameters and the code of the run."""
        options = {k: v for k, v in config.to_json().items() if k != "params"}
        code = code_label(read_config(self._folder))
        return {k: str(v) for k, v in {**options, **config.params, "code": code}.items()}

    def _log(self, record: dict[str, Any], names: Iterable[str] | None = None) -> None:
        """Send a record to loggers that do not have it."""
        kind, position = record["kind"], record["position"]
        values = numbers({k: v for k, v in record.items() if k not in HIDDEN}, f"{kind}/")
        wanting = [
            name
            for name in (self._loggers if names is None else names)
            if position >= self._until[name].get(kind, -1)
        ]
        self._each(lambda logger: logger.metrics(values, position), wanting)

    def _each(self, do: Callable[[Logger], None], names: Iterable[str] | None = None) -> None:
        for name in list(self._loggers if names is None else names):
            with self._guarded(name):
                if name in self._loggers:
                    self._patient[name](partial(do, self._loggers[name]))

    @contextlib.contextmanager
    def _guarded(self, name: str) -> Any:
        """Go on without a logger that fails, and say so once."""
        try:
            yield
        except (Exception, SystemExit) as error:  # its own code may raise anything, or give up
            self._loggers.pop(name, None)
            first = shorten(next(iter(str(error).strip().splitlines()), ""), LONGEST)
            reason = f"{type(error).__name__}: {first}" if first else type(error).__name__
            self.message(
                f"warning: the logger {name} failed ({reason}); the run goes on without it"
            )


def numbers(values: Mapping[str, Any], prefix: str = "") -> dict[str, float]:
    """Return the finite numbers of a nested record under one name each.

    Examples
    --------
    >>> numbers({"knn": 50, "guard": {"score": 0.5}, "memory": [1, 2], "loss": None}, "evaluation/")
    {'evaluation/knn': 50.0, 'evaluation/guard/score': 0.5}
    """
    found: dict[str, float] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            found |= numbers(value, f"{prefix}{name}/")
        elif isinstance(value, int | float) and math.isfinite(value):
            found[f"{prefix}{name}"] = float(value)
    return found


def _records(folder: Path) -> list[dict[str, Any]]:
    """Return the batches and evaluations so far, in the order of the stream."""
    path = folder / "metrics.jsonl"
    if not path.is_file():
        return []
    found = [record for kind in KINDS for record in read_metrics(path, kind)]
    return sorted(found, key=lambda record: int(record["position"]))


def _last_position(folder: Path, kind: str) -> int:
    path = folder / "metrics.jsonl"
    with contextlib.suppress(Exception):  # a damaged file is the run's business
        if path.is_file() and (records := read_metrics(path, kind)):
            return int(records[-1]["position"])
    return -1


def _read_ids(path: Path) -> dict[str, str]:
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return {str(k): str(v) for k, v in found.items()} if isinstance(found, dict) else {}
