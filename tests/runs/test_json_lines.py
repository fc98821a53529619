"""`scale run --json` and `--quiet`; a stop by a real signal, through real pipes."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from scale._text import shell_line
from scale.runs import run
from tests.gate import Gate
from tests.runs.conftest import Command, Held, StopAt
from tests.runs.test_resume import assert_same_run, config_of


def parsed(output: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in output.splitlines()]


def of_kind(lines: list[dict[str, Any]], *kinds: str) -> list[dict[str, Any]]:
    return [line for line in lines if line["kind"] in kinds]


def test_json_lines_have_the_numbers_of_the_files(
    command: Command, unbroken: Path, tmp_path: Path
) -> None:
    done = command.finish(command.arguments(tmp_path / "run", "--json"))
    assert (done.status, done.error) == (0, "")
    lines = parsed(done.output)
    metrics = parsed((tmp_path / "run" / "metrics.jsonl").read_text())
    assert of_kind(lines, "batch", "evaluation") == metrics
    (start,) = of_kind(lines, "start")
    assert (start["position"], start["images"], start["batches"]) == (0, 120, 6)
    (floors,) = of_kind(lines, "floors")
    assert floors["floors"] == json.loads((tmp_path / "run" / "floors.json").read_text())
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert summary.items() <= lines[-1].items()
    assert lines[-1]["kind"] == "summary"
    assert lines[-1]["learned"] in ("yes", "some", "not clearly", "no")
    assert_same_run(tmp_path / "run", unbroken)


@pytest.mark.slow
@pytest.mark.usefixtures("default_signals")
def test_a_stopped_run_says_so_in_json_and_goes_on(
    held: Held, held_unbroken: Path, gate: Gate, tmp_path: Path
) -> None:
    process = held.start(held.arguments(tmp_path, "--json"), **gate.environment())
    assert process.stdout is not None
    assert any(json.loads(line)["kind"] == "batch" for line in process.stdout)
    process.send_signal(signal.SIGINT)
    with gate.opened():
        output, _ = process.communicate()
    assert process.returncode == 130
    last = parsed(output)[-1]
    assert (last["kind"], last["saved"]) == ("stopped", True)
    assert last["next"] == shell_line(["scale", "run", "--out", str(tmp_path), "--resume"])
    done = held.finish([*held.resume(tmp_path), "--json"])
    after = parsed(done.output)
    assert of_kind(after, "start")[0]["position"] == last["position"]
    assert of_kind(after, "batch")[0]["position"] > last["position"]
    assert_same_run(tmp_path, held_unbroken)
    again = parsed(held.finish([*held.resume(tmp_path), "--json"]).output)
    assert [line["kind"] for line in again] == ["message", "summary"]
    assert again[-1] == after[-1]


def test_quiet_shows_nothing_and_how_a_run_is_shown_is_no_part_of_it(
    command: Command, unbroken: Path, tmp_path: Path
) -> None:
    config = config_of(command, tmp_path, "--quiet")
    assert config == config_of(command, tmp_path)
    with pytest.raises(KeyboardInterrupt):
        run(config, tmp_path, checkpoint_seconds=0, display=StopAt(2))
    assert command.finish([*command.resume(tmp_path), "--quiet"]) == (0, "", "")
    assert_same_run(tmp_path, unbroken)


def test_quiet_still_shows_errors(command: Command, tmp_path: Path) -> None:
    done = command.finish(command.arguments(tmp_path, "--quiet", "--stream", "nonsense"))
    assert done.status == 2
    assert done.output == ""
    assert done.error.count("\n") == 1


def test_quiet_and_json_together_are_one_clear_error(command: Command, tmp_path: Path) -> None:
    done = command.finish(command.arguments(tmp_path / "run", "--quiet", "--json"))
    assert (done.status, done.output) == (2, "")
    assert "--quiet shows nothing and --json shows lines; give one of them" in done.error
    assert not (tmp_path / "run").exists()
