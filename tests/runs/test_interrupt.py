"""Ctrl-C before the first batch and within the stream, by real signals in this process."""

from __future__ import annotations

import shlex
import signal
from pathlib import Path

import pytest

from scale.runs import RunConfig, RunInterrupted, run
from scale.runs.interrupt import Interrupts
from tests.runs.conftest import Lines, make_photos

pytestmark = pytest.mark.usefixtures("default_signals")

PARAMS = {"encoder": "cnn", "augmentation": "mnist", "steps_per_batch": 1}


class Interrupt(Lines):
    """Presses Ctrl-C once, when a moment has come."""

    def __init__(self, moment: str, sig: signal.Signals = signal.SIGINT) -> None:
        super().__init__()
        self.moment = moment
        self.sig = sig
        self.batches = 0

    def _at(self, moment: str) -> None:
        if moment == self.moment:
            self.moment = ""
            signal.raise_signal(self.sig)

    def loading(self, done: int, total: int) -> None:
        self._at("loading")

    def message(self, text: str) -> None:
        super().message(text)
        if text.startswith("measuring"):
            self._at("floors")

    def batch(self, record: dict[str, object]) -> None:
        self.batches += 1
        self._at("batch")


def config(photos: Path) -> RunConfig:
    return RunConfig(
        dataset=str(photos), method="simclr", stream_batch=10, evaluations=2, params=PARAMS
    )


COUNTS = {"cat": 30, "dog": 30}


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    return make_photos(tmp_path / "photos", COUNTS)


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run on the same photos that was never stopped."""
    folder = tmp_path_factory.mktemp("unbroken")
    run(config(make_photos(folder / "photos", COUNTS)), folder / "run")
    return folder / "run"


@pytest.mark.parametrize(
    ("moment", "said", "batches"),
    [
        ("loading", "when the images are loaded", 0),
        ("floors", "after this measurement", 0),
        ("batch", "finishing this batch", 1),
    ],
)
def test_it_stops_at_the_next_possible_point_and_goes_on_to_the_same_end(
    moment: str, said: str, batches: int, photos: Path, unbroken: Path, tmp_path: Path
) -> None:
    out, display = tmp_path / "run", Interrupt(moment)
    with pytest.raises(RunInterrupted) as stopped:
        run(config(photos), out, display=display)
    assert shlex.join(["scale", "run", "--out", str(out), "--resume"]) in str(stopped.value)
    assert len(display.find(said)) == 1
    assert display.batches == batches
    assert (out / "floors.json").exists() == (batches > 0)
    assert len(list((out / "checkpoints").glob("*"))) == batches
    run(RunConfig.read(out), out, resume=True)
    for name in ("metrics.jsonl", "learner.safetensors", "floors.json"):
        assert (out / name).read_bytes() == (unbroken / name).read_bytes(), name


def test_only_the_first_of_the_floors_is_measured(photos: Path, tmp_path: Path) -> None:
    with pytest.raises(RunInterrupted):
        run(config(photos), tmp_path / "run", display=Interrupt("floors"))
    assert (tmp_path / "run" / "metrics.jsonl").read_text().count("\n") == 1


def test_a_run_that_goes_on_stops_before_its_next_batch(photos: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    with pytest.raises(RunInterrupted, match="stopped and saved"):
        run(config(photos), out, display=Interrupt("batch"))
    kept = [path.name for path in (out / "checkpoints").iterdir()]
    (photos / "cat" / "000.png").touch()  # so that images are decoded again
    again = Interrupt("loading")
    with pytest.raises(RunInterrupted, match=r"^stopped; go on"):
        run(config(photos), out, resume=True, display=again)
    assert again.batches == 0
    assert [path.name for path in (out / "checkpoints").iterdir()] == kept


def test_a_second_ctrl_c_stops_at_once(photos: Path, tmp_path: Path) -> None:
    class Impatient(Interrupt):
        def message(self, text: str) -> None:
            while "once more" in text:  # the first moments count as the same press
                signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        run(config(photos), tmp_path / "run", display=Impatient("batch"))
    assert not (tmp_path / "run" / "checkpoints").exists()


@pytest.mark.parametrize("sig", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_comes_twice_at_once_still_saves(
    sig: signal.Signals, photos: Path, tmp_path: Path
) -> None:
    class Twice(Interrupt):
        def message(self, text: str) -> None:
            if "once more" in text:
                signal.raise_signal(sig)

    with pytest.raises(RunInterrupted):
        run(config(photos), tmp_path / "run", display=Twice("batch", sig))
    assert len(list((tmp_path / "run" / "checkpoints").glob("*"))) == 1


def test_under_nohup_a_hangup_is_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with Interrupts(lambda text: None) as interrupts:
            signal.raise_signal(signal.SIGHUP)
        assert not interrupts.requested
    finally:
        signal.signal(signal.SIGHUP, before)


def test_the_command_to_go_on_is_one_line_whatever_the_folder_is_called() -> None:
    said = str(RunInterrupted(Path("a\n\x1b[2J'b")))
    assert said.endswith(r"scale run --out $'a\n\033[2J\'b' --resume")
