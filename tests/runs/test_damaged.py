"""Files of a run that were lost or damaged from outside."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from scale._errors import DamagedFileError, InputError
from scale._tensors import read_tensors, write_tensors
from scale.cli import main
from scale.runs import RunConfig, load_learner, read_metrics, run
from scale.runs.run_folder import SHAPES, read_json
from tests.runs.conftest import Lines, StopAt

PARAMS = {"simclr": {"encoder": "cnn", "steps_per_batch": 1}, "patches": {"clusters": 20}}


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
    path.write_bytes(b'{"kind": "batch", "position": 5}\n' + line)
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


anything = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 9) | st.floats(allow_nan=False) | st.text("ab"),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text("ab"), inner, max_size=2),
    max_leaves=4,
)


def places(value: Any) -> list[list[Any]]:
    """Return the path to each value inside a JSON value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    return [
        [key, *rest]
        for key, one in inner
        for rest in ([[], *places(one)] if isinstance(one, dict | list) else [[]])
    ]


@pytest.mark.parametrize("name", SHAPES)
@given(st.data())
def test_valid_json_of_any_shape_is_read_or_refused(
    name: str, finished: Path, data: st.DataObject
) -> None:
    content = json.loads((finished / name).read_text())
    *path, last = data.draw(st.sampled_from(places(content)))
    inner = content
    for key in path:
        inner = inner[key]
    inner[last] = data.draw(anything)
    other = finished / "other" / name
    other.parent.mkdir(exist_ok=True)
    other.write_text(json.dumps(content))
    with contextlib.suppress(DamagedFileError):
        assert read_json(other, "do this") == content


@pytest.mark.parametrize(
    ("name", "path", "value"),
    [
        ("summary.json", ["timing"], 5),
        ("summary.json", ["knn"], "high"),
        ("floors.json", ["random"], [1]),
        ("floors.json", ["pixels", "knn"], None),
        ("floors.json", ["pixels", "knn_per_class"], ["high"]),
        ("floors.json", ["random", "guard"], {"score": 200}),
        ("config.json", ["run", "evaluations"], "many"),
        ("config.json", ["run", "seed"], -1),
        ("config.json", ["data", "class_names"], {"a": 1}),
        ("config.json", ["protocol", "k"], 0),
        ("config.json", ["learner"], "simclr"),
        ("config.json", ["later_code"], [1]),
    ],
)
def test_json_of_the_wrong_shape_is_refused_in_one_line(
    name: str,
    path: list[str],
    value: object,
    finished: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = Path(shutil.copytree(finished, tmp_path / "run"))
    content = json.loads((out / name).read_text())
    inner = content
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    (out / name).write_text(json.dumps(content))
    assert main(["run", "--out", str(out), "--resume"]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert str(out / name) in error
    assert path[-1] in error


def rewrite(path: Path, change: Callable[[dict[str, Any], dict[str, Any]], None]) -> None:
    """Change a checkpoint or learner, and write it with a digest that fits."""
    state, meta = read_tensors(path)
    change(state, meta)
    write_tensors(path, state, meta)


def lose_a_tensor(state: dict[str, Any], meta: dict[str, Any]) -> None:
    del state["view_rng.state"]


def reshape_a_tensor(state: dict[str, Any], meta: dict[str, Any]) -> None:
    name = next(name for name in state if name.startswith("encoder.") and state[name].dim() == 4)
    state[name] = state[name][:1]


def point_beyond_the_optimiser(state: dict[str, Any], meta: dict[str, Any]) -> None:
    state["optimizer.999.momentum_buffer"] = torch.zeros(1)


def name_no_parameter(state: dict[str, Any], meta: dict[str, Any]) -> None:
    state["optimizer.x.momentum_buffer"] = torch.zeros(1)


def reshape_momentum(state: dict[str, Any], meta: dict[str, Any]) -> None:
    state["optimizer.0.momentum_buffer"] = torch.zeros(2)


def go_beyond_the_stream(state: dict[str, Any], meta: dict[str, Any]) -> None:
    meta["cursor"] = 10**9


def ask_for_more_metrics(state: dict[str, Any], meta: dict[str, Any]) -> None:
    meta["metrics_bytes"] = 10**9


def forget_the_cursor(state: dict[str, Any], meta: dict[str, Any]) -> None:
    del meta["cursor"]


@pytest.fixture(scope="module")
def stopped(small_set: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("stopped") / "run"
    stop(config(small_set), out)
    return out


@pytest.mark.parametrize(
    "change",
    [
        lose_a_tensor,
        reshape_a_tensor,
        point_beyond_the_optimiser,
        name_no_parameter,
        reshape_momentum,
        go_beyond_the_stream,
        ask_for_more_metrics,
        forget_the_cursor,
    ],
)
def test_a_checkpoint_that_does_not_fit_is_passed_over(
    change: Callable[[dict[str, Any], dict[str, Any]], None],
    stopped: Path,
    finished: Path,
    small_set: Path,
    tmp_path: Path,
) -> None:
    out, told = Path(shutil.copytree(stopped, tmp_path / "run")), Lines()
    rewrite(sorted((out / "checkpoints").iterdir())[-1], change)
    run(config(small_set), out, resume=True, display=told)
    assert len(told.find("going on from the checkpoint before it")) == 1
    assert (out / "metrics.jsonl").read_bytes() == (finished / "metrics.jsonl").read_bytes()


def test_a_folder_in_the_place_of_a_checkpoint_is_named(
    stopped: Path, small_set: Path, tmp_path: Path
) -> None:
    out = Path(shutil.copytree(stopped, tmp_path / "run"))
    (out / "checkpoints" / "0000000090.safetensors").mkdir()
    with pytest.raises(InputError, match=r"0000000090\.safetensors is a folder .*move it away"):
        run(config(small_set), out, resume=True)


@pytest.mark.parametrize(
    ("path", "value", "told"),
    [
        (["run", "evaluations"], 1, "evaluations = 2 then, 1 now"),
        (["run", "params", "lr"], 0.5, "0.5.* now"),
        (["data", "digests"], {}, "not an option"),
        (["protocol", "k"], 3, "not an option"),
    ],
)
def test_a_config_edited_between_stop_and_resume_is_refused(
    path: list[str], value: object, told: str, stopped: Path, tmp_path: Path
) -> None:
    out = Path(shutil.copytree(stopped, tmp_path / "run"))
    content = json.loads((out / "config.json").read_text())
    inner = content
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    (out / "config.json").write_text(json.dumps(content))
    with pytest.raises(InputError, match=rf"config\.json was changed since.*{told}"):
        run(RunConfig.read(out), out, resume=True)


def test_shortened_metrics_go_on_from_an_earlier_checkpoint_or_say_what_to_do(
    stopped: Path, finished: Path, small_set: Path, tmp_path: Path
) -> None:
    out, told = Path(shutil.copytree(stopped, tmp_path / "run")), Lines()
    older, newer = (
        read_tensors(path)[1]["metrics_bytes"] for path in sorted((out / "checkpoints").iterdir())
    )
    content = (out / "metrics.jsonl").read_bytes()
    (out / "metrics.jsonl").write_bytes(content[: older - 1])
    with pytest.raises(DamagedFileError, match=r"metrics\.jsonl is shorter.*put back a copy"):
        run(config(small_set), out, resume=True)
    (out / "metrics.jsonl").write_bytes(content[: newer - 1])
    run(config(small_set), out, resume=True, display=told)
    assert (out / "metrics.jsonl").read_bytes() == (finished / "metrics.jsonl").read_bytes()


def test_altered_metrics_go_on_from_an_earlier_checkpoint_or_say_what_to_do(
    stopped: Path, finished: Path, small_set: Path, tmp_path: Path
) -> None:
    out, told = Path(shutil.copytree(stopped, tmp_path / "run")), Lines()
    older = read_tensors(min((out / "checkpoints").iterdir()))[1]["metrics_bytes"]
    content = bytearray((out / "metrics.jsonl").read_bytes())
    for place in (10, older + 10):
        altered = content.copy()
        altered[place] ^= 1
        (out / "metrics.jsonl").write_bytes(altered)
        if place < older:
            with pytest.raises(
                DamagedFileError, match=r"metrics\.jsonl was changed since.*put back"
            ):
                run(config(small_set), out, resume=True)
            assert (out / "metrics.jsonl").read_bytes() == altered
    run(config(small_set), out, resume=True, display=told)
    assert any("metrics.jsonl was changed" in line for line in told.lines)
    assert (out / "metrics.jsonl").read_bytes() == (finished / "metrics.jsonl").read_bytes()


def test_metrics_that_are_a_pipe_are_refused_and_not_waited_for(
    stopped: Path, small_set: Path, tmp_path: Path
) -> None:
    out = Path(shutil.copytree(stopped, tmp_path / "run"))
    (out / "metrics.jsonl").unlink()
    os.mkfifo(out / "metrics.jsonl")
    with pytest.raises(InputError, match=r"metrics\.jsonl is a pipe"):
        run(config(small_set), out, resume=True)


def test_left_overs_of_killed_writes_are_swept(
    stopped: Path, small_set: Path, tmp_path: Path
) -> None:
    out = Path(shutil.copytree(stopped, tmp_path / "run"))
    for place in ("", "checkpoints", "embeddings", "memory"):
        (out / place).mkdir(exist_ok=True)
        (out / place / ".summary.json.abc.part").write_text("half")
    (out / "my.part").write_text("the user's own")
    for _ in ("to its end", "when it is finished"):
        run(config(small_set), out, resume=True)
        assert [path.name for path in out.rglob("*.part")] == ["my.part"]
        (out / ".curve.png.xyz.part").write_text("half")


def test_a_finished_run_without_its_learner_is_not_called_unfinished(
    finished: Path, stopped: Path, tmp_path: Path
) -> None:
    out = Path(shutil.copytree(finished, tmp_path / "run"))
    (out / "learner.safetensors").unlink()
    shutil.rmtree(out / "checkpoints", ignore_errors=True)
    with pytest.raises(InputError, match=r"is finished, but its learner\.safetensors is missing"):
        load_learner(out)
    shutil.copytree(stopped / "checkpoints", out / "checkpoints")
    warnings: list[str] = []
    load_learner(out, warnings.append)
    assert "not that of the end" in warnings[0]
