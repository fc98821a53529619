"""Loggers get a run's numbers once each, and never stop or change it."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any, ClassVar

import pytest

from scale._errors import InputError, UnknownNameError
from scale.runs import RunConfig, RunInterrupted, run
from scale.runs.loggers import LOGGERS, Logged, patient
from scale.runs.loggers.registry import check_loggers
from tests.runs.conftest import Command, Lines, StopAt

PARAMS: dict[str, Any] = {
    "encoder": "cnn",
    "augmentation": "mnist",
    "steps_per_batch": 1,
    "memory_size": 30,
    "memory_batch": 10,
}


class Notebook:
    """Keeps everything in memory, by the id of its run."""

    package: ClassVar[str] = "json"
    runs: ClassVar[dict[str, list[tuple[str, Any]]]] = {}

    def __init__(self, folder: Path, name: str, run_id: str | None) -> None:
        self.run_id = run_id or f"run-{len(self.runs)}"
        self.lines = self.runs.setdefault(self.run_id, [])

    def config(self, values: dict[str, str]) -> None:
        self.lines.append(("config", values))

    def metrics(self, values: dict[str, float], step: int) -> None:
        self.lines.append(("metrics", (step, values)))

    def picture(self, name: str, path: Path) -> None:
        self.lines.append(("picture", name))

    def close(self) -> None:
        self.lines.append(("close", None))


class Leaving(Notebook):
    """Ends the program at its first option, as some clients do without a login."""

    def config(self, values: dict[str, str]) -> None:
        raise SystemExit(1)


class Hanging(Notebook):
    """Gets no answer to its first number."""

    def metrics(self, values: dict[str, float], step: int) -> None:
        threading.Event().wait()


class Broken(Notebook):
    """Fails at its first number."""

    def metrics(self, values: dict[str, float], step: int) -> None:
        raise ConnectionError("no server\nand more")


@pytest.fixture(autouse=True)
def own_loggers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LOGGERS, "_entries", dict(LOGGERS._entries))
    LOGGERS.register("notebook")(Notebook)
    LOGGERS.register("broken")(Broken)
    LOGGERS.register("leaving")(Leaving)
    LOGGERS.register("hanging")(Hanging)
    Notebook.runs.clear()


def config(dataset: Path) -> RunConfig:
    return RunConfig(
        dataset=str(dataset), method="er", stream_batch=20, evaluations=2, threads=1, params=PARAMS
    )


def finish(dataset: Path, out: Path, *names: str, inside: Lines | None = None) -> Logged:
    display = Logged(inside or Lines(), out, list(names))
    run(config(dataset), out, resume=True, checkpoint_seconds=0, display=display)
    display.close()
    return display


def points(kind: str, run_id: str = "run-0") -> list[int]:
    """Return the steps of the points of one kind."""
    told = [value for what, value in Notebook.runs[run_id] if what == "metrics"]
    return [step for step, values in told if any(name.startswith(kind) for name in values)]


def test_a_logger_gets_options_batches_evaluations_and_floors(
    small_set: Path, tmp_path: Path
) -> None:
    finish(small_set, tmp_path / "run", "notebook").pictures([])
    kinds = [what for what, _ in Notebook.runs["run-0"]]
    assert kinds.count("config") == 1
    assert kinds[-1] == "close"
    options = next(value for what, value in Notebook.runs["run-0"] if what == "config")
    assert options["method"] == "er"
    assert options["memory_size"] == "30"
    assert options["code"].startswith("digest ")
    assert points("batch/") == [20, 40, 60, 80, 100, 120]
    assert points("evaluation/")[-1] == 120
    assert points("floors/") == [0]
    assert points("summary/forgetting") == [120]
    assert "notebook" in json.loads((tmp_path / "run/loggers.json").read_text())


def test_a_resumed_run_goes_on_in_the_same_run_of_the_logger(
    small_set: Path, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    display = Logged(StopAt(4), out, ["notebook"])
    with pytest.raises((KeyboardInterrupt, RunInterrupted)):
        run(config(small_set), out, checkpoint_seconds=1000, display=display)
    finish(small_set, out, "notebook")
    assert list(Notebook.runs) == ["run-0"]
    # It began again at image 0; what the logger had is not there twice, except the last point.
    assert points("batch/") in ([20, 40, 60, 80, 100, 120], [20, 40, 60, 60, 80, 100, 120])
    assert [what for what, _ in Notebook.runs["run-0"]].count("config") == 1


def test_a_logger_that_comes_later_gets_the_earlier_points(small_set: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    with pytest.raises((KeyboardInterrupt, RunInterrupted)):
        run(config(small_set), out, checkpoint_seconds=0, display=StopAt(4))
    finish(small_set, out, "notebook")
    assert points("batch/") == [20, 40, 60, 80, 100, 120]


def test_a_logger_that_fails_is_named_once_and_changes_nothing(
    small_set: Path, tmp_path: Path
) -> None:
    told = Lines()
    finish(small_set, tmp_path / "logged", "broken", "notebook", "leaving", inside=told)
    finish(small_set, tmp_path / "alone")
    assert told.find("the logger broken failed") == [
        "warning: the logger broken failed (ConnectionError: no server); the run goes on without it"
    ]
    assert len(told.find("the logger leaving failed (SystemExit: 1)")) == 1
    assert points("batch/", "run-1") == [20, 40, 60, 80, 100, 120]
    assert not (tmp_path / "alone/loggers.json").exists()
    for name in ("metrics.jsonl", "learner.safetensors"):
        logged, alone = (tmp_path / out / name for out in ("logged", "alone"))
        assert logged.read_bytes() == alone.read_bytes()


def test_a_logger_that_does_not_answer_is_left(
    small_set: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patient, "PATIENCE", 0.05)
    told = Lines()
    finish(small_set, tmp_path / "run", "hanging", inside=told)
    assert len(told.find("the logger hanging failed (ScaleError: no answer within 0.05")) == 1
    assert (tmp_path / "run/summary.json").exists()


def test_names_are_checked_before_the_run(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="tensorbord"):
        check_loggers(["tensorbord"])
    Notebook.package = "no_such_package_at_all"
    try:
        with pytest.raises(
            InputError, match="needs no_such_package_at_all; run: pip install no_such"
        ):
            check_loggers(["notebook"])
    finally:
        Notebook.package = "json"


def test_damaged_ids_start_new_runs(small_set: Path, tmp_path: Path) -> None:
    for damage in (b"", b"[]", b"\xff", b"[" * 10000):
        out = tmp_path / "run"
        out.mkdir(exist_ok=True)
        (out / "loggers.json").write_bytes(damage)
        assert Logged(Lines(), out, ["notebook"])._ids == {}


def test_the_command_keeps_its_loggers_when_it_resumes(command: Command, tmp_path: Path) -> None:
    out = tmp_path / "run"
    done = command.finish(command.arguments(out, "--log", "notebook"))
    assert done.status == 0, done.error
    assert json.loads((out / "config.json").read_text())["command"]["log"] == ["notebook"]
    wrong = command.finish(command.arguments(tmp_path / "other", "--log", "nothing"))
    assert wrong.status == 2
    assert "no logger is called 'nothing'" in wrong.error
    assert not (tmp_path / "other").exists()
