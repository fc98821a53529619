"""Files of a run that were lost or damaged from outside."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from scale._errors import DamagedFileError
from scale.cli import main
from scale.runs import RunConfig, read_metrics, run
from tests.runs.conftest import StopAt

PARAMS = {"simclr": {"encoder": "cnn", "steps_per_batch": 2}, "patches": {"clusters": 20}}


def config(dataset: Path, method: str = "simclr") -> RunConfig:
    return RunConfig(
        dataset=str(dataset), method=method, stream_batch=20, evaluations=2, params=PARAMS[method]
    )


def stop(settings: RunConfig, out: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(settings, out, checkpoint_seconds=0, display=StopAt(4))


@pytest.fixture(scope="module")
def finished(small_set: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("damaged") / "run"
    run(config(small_set), out)
    return out


@pytest.mark.parametrize("method", ["simclr", "patches"])
def test_lost_floors_are_measured_again_with_a_learner_that_learned_nothing(
    method: str, small_set: Path, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    stop(config(small_set, method), out)
    before = (out / "floors.json").read_bytes()
    (out / "floors.json").unlink()
    run(config(small_set, method), out, resume=True)
    assert (out / "floors.json").read_bytes() == before
    positions = [e["position"] for e in read_metrics(out / "metrics.jsonl", "evaluation")]
    assert positions == [0, 60, 120]


def test_damaged_floors_are_named_with_what_to_do(small_set: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    stop(config(small_set), out)
    (out / "floors.json").write_text('{"random": ')
    with pytest.raises(DamagedFileError, match=r"floors\.json cannot be read .*delete it"):
        run(config(small_set), out, resume=True)
    (out / "floors.json").unlink()
    run(config(small_set), out, resume=True)


def test_a_damaged_summary_is_named_and_made_again(finished: Path, small_set: Path) -> None:
    path = finished / "summary.json"
    before = json.loads(path.read_text())
    for content in (b"", b"[1, 2]", b'{"knn": 5', b"\xff"):
        path.write_bytes(content)
        with pytest.raises(DamagedFileError, match=r"summary\.json cannot be read .*delete it"):
            run(config(small_set), finished, resume=True)
    path.unlink()
    again = run(config(small_set), finished, resume=True)
    assert {**again, "timing": 0} == {**before, "timing": 0}


@pytest.mark.parametrize("line", [b'{"kind": "bat\n', b"5\n", b"{}\n", b"\xff\n"])
def test_a_damaged_line_of_the_metrics_is_named_by_its_number(line: bytes, tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(b'{"kind": "batch"}\n' + line)
    with pytest.raises(DamagedFileError, match=r"line 2 of .*metrics\.jsonl is damaged"):
        read_metrics(path, "batch")


@pytest.mark.parametrize("name", ["config.json", "floors.json", "summary.json", "metrics.jsonl"])
def test_the_command_says_so_in_one_line(
    name: str, finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = Path(shutil.copytree(finished, tmp_path / "run"))
    (out / name).write_text("{\n")
    assert main(["run", "--out", str(out), "--resume"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("scale: ")
    assert error.count("\n") == 1
    assert str(out / name) in error
