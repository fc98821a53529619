"""A run records its code and all its parameters."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from torch import nn

from scale.bench.records import append_evaluation, read_run, run_key
from scale.runs import RunConfig, code_label, code_of, default_parameters, run
from scale.runs import code as code_module
from tests.runs.conftest import Lines, StopAt

PARAMS = {"encoder": "cnn", "augmentation": "mnist", "steps_per_batch": 1}
OTHER = {"digest": "0" * 16, "commit": None, "changed": None}


def config(dataset: Path, **changes: Any) -> RunConfig:
    settings = {"method": "simclr", "stream_batch": 20, "evaluations": 1, "params": dict(PARAMS)}
    return RunConfig(dataset=str(dataset), **{**settings, **changes})


def described(out: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((out / "config.json").read_text())
    return found


def test_a_record_has_the_code_and_every_parameter(small_set: Path, tmp_path: Path) -> None:
    run(config(small_set), tmp_path / "run")
    record = read_run(tmp_path / "run")
    assert re.fullmatch("[0-9a-f]{16}", record["code"]["digest"])
    assert record["code"] == code_of(config(small_set))
    assert record["run"]["params"].keys() == default_parameters(str(small_set), "simclr").keys()
    assert record["run"]["params"]["tau"] == 0.1
    assert record["run"]["stream_batch"] == 20
    append_evaluation(tmp_path / "run", 30, {}, tmp_path / "kept.jsonl")
    assert json.loads((tmp_path / "kept.jsonl").read_text())["code"] == record["code"]


@pytest.mark.parametrize(
    "change",
    [
        {"method": "er"},
        {"stream": "iid"},
        {"params": {**PARAMS, "encoder": "resnet18"}},
        {"dataset": "digits"},
    ],
)
def test_other_modules_are_other_code(change: dict[str, Any], small_set: Path) -> None:
    first = code_of(config(small_set))["digest"]
    other = RunConfig(**{**config(small_set).to_json(), **change})
    assert code_of(other)["digest"] != first
    assert code_of(config(small_set, seed=3, evaluations=7))["digest"] == first


def test_the_memory_policy_counts(small_set: Path) -> None:
    policies = [{**PARAMS, "memory_policy": name} for name in ("psa", "fifo")]
    one, other = (code_of(config(small_set, method="er", params=p))["digest"] for p in policies)
    assert one != other


def test_an_encoder_of_ones_own_counts(small_set: Path) -> None:
    class Mine(nn.Flatten): ...

    params = {**PARAMS, "encoder": Mine()}
    own = code_of(config(small_set, params=params))["digest"]
    assert own != code_of(config(small_set))["digest"]


def test_going_on_with_other_code_is_told_and_recorded(small_set: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        run(config(small_set), out, checkpoint_seconds=0, display=StopAt(2))
    begun = described(out)
    (out / "config.json").write_text(json.dumps({**begun, "code": OTHER}))
    told = Lines()
    run(config(small_set), out, resume=True, display=told)
    (line,) = told.find("the code changed since the run began")
    assert "digest 00000000 then" in line
    after = read_run(out)
    assert after["code"] == OTHER
    assert after["later_code"] == [begun["code"]]
    assert code_label(after).startswith("digest 00000000, then digest ")


def test_a_run_of_unknown_code_goes_on_quietly(small_set: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        run(config(small_set), out, checkpoint_seconds=0, display=StopAt(2))
    begun = described(out)
    del begun["code"]
    (out / "config.json").write_text(json.dumps(begun))
    told = Lines()
    run(config(small_set), out, resume=True, display=told)
    assert not told.find("code")
    assert code_label(read_run(out)) == "code not recorded"


def test_records_of_equal_configs_and_different_code_differ() -> None:
    first = {"run": {"seed": 0}, "code": {"digest": "a"}}
    assert run_key(first) == run_key({"run": {"seed": 0}, "code": {"digest": "a", "commit": "c"}})
    for other in ({"code": {"digest": "b"}}, {}, {**first, "later_code": [{"digest": "b"}]}):
        assert run_key({"run": {"seed": 0}, **other}) != run_key(first)


def git(folder: Path, *arguments: str) -> str:
    name = ["-c", "user.name=me", "-c", "user.email=me@example.org"]
    done = subprocess.run(["git", *name, *arguments], cwd=folder, capture_output=True, check=True)
    return done.stdout.decode().strip()


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_the_commit_is_that_of_the_packages_own_checkout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    monkeypatch.setattr(code_module, "PACKAGE", package)

    def found() -> dict[str, Any]:
        code_module._commit.cache_clear()
        return code_module._commit()

    try:
        assert found() == {"commit": None, "changed": None}
        git(tmp_path, "init", "--quiet")
        assert found()["commit"] is None, "the checkout does not track the package"
        git(tmp_path, "add", ".")
        git(tmp_path, "commit", "--quiet", "-m", "one")
        assert found() == {"commit": git(tmp_path, "rev-parse", "HEAD"), "changed": False}
        (package / "__init__.py").write_text("x = 1")
        assert found()["changed"] is True
    finally:
        code_module._commit.cache_clear()
