"""The campaign of `make chaos`: what it derives and judges, and its short form."""

import dataclasses
import functools
import json
import os
import random
import signal
import subprocess
import sys
from itertools import islice
from pathlib import Path

import pytest
from chaos import execute, kills, options, parser, record, values
from chaos.damage import edit, every_kind
from chaos.execute import Around, Outcome, call
from chaos.fence import FULL, device
from chaos.judge import Case, Finding, Result, judge, without_numbers
from chaos.report import Campaign
from chaos.world import World

from scale.methods import METHODS


def outcome(status=0, out="", err="", **more):
    return Outcome(status, None, out, err, 0.0, **more)


def kinds(findings):
    return [finding.kind for finding in findings]


def test_every_command_and_every_parameter_of_every_method_is_an_option():
    found = parser.options()
    assert {option.command for option in found} >= {("run",), ("bench",), ("data", "get")}
    for name in METHODS:
        method = METHODS[name]
        taken = {option.name for option in found if option.method == name}
        assert taken == {field.name for field in dataclasses.fields(method)} - {"seed"}


def test_a_whole_campaign_has_a_case_of_every_option(tmp_path):
    world = World(tmp_path)
    tried = islice(options.cases(world, random.Random(0)), options.enough(world))
    assert {case.subject for case in tried} >= set(options.subjects(world))


def test_every_option_that_takes_a_value_has_one_that_must_be_refused():
    for option in parser.options():
        if option.kind != "flag" and not values.is_free(option):
            assert any(wrong for _, wrong in values.values(option)), option.subject


def test_a_traceback_a_silence_and_a_hang_are_failures_and_a_message_is_not(tmp_path):
    frame = '  File "/a/src/scale/x/y.py", line 3, in f'
    trace = f"Traceback (most recent call last):\n{frame}\nKeyError: 1"
    found = judge(outcome(1, err=trace), tmp_path)
    assert kinds(found) == ["traceback"]
    assert found[0].what == "x/y.py f: KeyError: 1"
    assert kinds(judge(outcome(0), tmp_path, must_refuse=True)) == ["silent"]
    assert kinds(judge(outcome(None, hung=True), tmp_path)) == ["hang"]
    assert kinds(judge(outcome(2), tmp_path)) == ["mute"]
    assert kinds(judge(outcome(2, err="scale: \x1b[31m"), tmp_path)) == ["control"]
    assert judge(outcome(2, err="scale: no such file"), tmp_path, must_refuse=True) == []


def test_the_log_of_a_failed_run_is_read_too(tmp_path):
    (tmp_path / "log.txt").write_text("Traceback (most recent call last):\nKeyError: 1")
    assert kinds(judge(outcome(1, out="1 failed"), tmp_path)) == ["traceback"]


def test_failures_that_differ_in_numbers_and_names_are_one_defect():
    assert without_numbers("'a' at 3 of /x/y") == without_numbers("'b' at 14 of /z")


@pytest.mark.parametrize("name", ["a.json", "a.jsonl", "a.toml", "a.py", "a.txt"])
def test_every_damage_of_a_text_file_can_be_done(name, tmp_path):
    path = tmp_path / name
    for damage in every_kind(path, []):
        path.write_text('{"a": [1, {"b": "x"}]}\n' if "json" in name else "a = 1\nb = 2\n")
        damage.apply(path, random.Random(0))
        if path.is_dir():
            (path / "x").unlink()
            path.rmdir()
        path.unlink(missing_ok=True)


def test_an_edit_changes_one_entry():
    table = {"a": 1, "b": {"c": "x"}}
    for how in ("type", "value", "delete", "add"):
        copy = {"a": 1, "b": {"c": "x"}}
        assert edit(copy, random.Random(0), how) != table


def test_a_child_gives_its_output_its_status_and_its_end(tmp_path):
    folder = tmp_path / "a"
    folder.mkdir()

    def speak():
        os.write(1, b"hello")
        return 3

    ended = call(speak, folder)
    assert (ended.status, ended.out, ended.hung) == (3, "hello", False)
    assert call(lambda: os.kill(os.getpid(), 9), folder).signal == 9
    assert call(signal.pause, folder, Around(seconds=0.1)).hung


def test_a_child_may_not_write_outside_the_folder_of_the_campaign(tmp_path, monkeypatch):
    base, log, other = tmp_path / "base", tmp_path / "base" / "log.txt", tmp_path / "other.txt"
    (base / "a").mkdir(parents=True)
    other.write_text("mine")
    monkeypatch.setattr(execute, "FENCE", {"base": base, "log": log})

    def attempt(act):
        log.unlink(missing_ok=True)
        return call(act, base / "a").status == 1 and str(other) in log.read_text()

    (base / "a" / "link").symlink_to(other)
    for act in (
        lambda: other.write_text("x"),
        lambda: Path("link").write_text("x"),
        other.unlink,
        lambda: Path("new").rename(other),
        lambda: os.truncate(other, 0),
    ):
        (base / "a" / "new").write_text("new")
        assert attempt(act)
    assert other.read_text() == "mine"
    ended = call(
        lambda: Path("inside").write_text("x") and Path("/dev/null").write_text(""), base / "a"
    )
    assert ended.status == 0
    assert (base / "a" / "inside").exists()


def test_an_attempt_that_fails_by_itself_is_not_outside(tmp_path, monkeypatch):
    (tmp_path / "a").mkdir()
    log = tmp_path / "log.txt"
    monkeypatch.setattr(execute, "FENCE", {"base": tmp_path, "log": log})
    for path in (Path("/dev/null/x/y"), Path("/proc/nothing/x")):
        assert call(functools.partial(path.mkdir, parents=True), tmp_path / "a").status == 1
    assert not log.exists()


def test_the_page_has_the_table_of_the_record():
    root = Path(__file__).parents[1]
    page = (root / "docs" / "notes" / "chaos.md").read_text()
    assert page.endswith("\n\n" + record.table(root / "chaos" / "counts.jsonl"))


def test_a_device_is_made_in_the_folder_of_the_case(tmp_path):
    device(tmp_path / "full", FULL)
    with pytest.raises(OSError, match="No space left"):
        (tmp_path / "full").write_text("x")


def test_the_table_has_the_last_code_of_each_part(tmp_path):
    path = tmp_path / "chaos.jsonl"
    for seed in range(2):
        campaign = Campaign(seed)
        case = Case("kills", "one", "run", lambda _: Result())
        campaign.add(case, Result([Finding("loss", "it is gone")] * seed, 1, 3, 2))
        record.append(campaign, "kills", path, record.code_here(), whole=seed == 0)
    older = json.loads(path.read_text().splitlines()[0])
    older["code"] = {"digest": "0" * 16, "commit": "1234567890", "changed": False}
    disk = {**older, "part": "disk", "kills": 0, "inside": 0, "covered": [1, 2]}
    lines = [json.dumps(older), json.dumps(disk), path.read_text()]
    path.write_text("\n".join(lines))
    caption, _, head, _, kills, first, total = record.table(path).splitlines()
    assert caption == "Seed: 0 1."
    assert head.startswith("| part | cases | kills |")
    assert kills.startswith("| kills, stopped | 2 | 6 | 4 | 1 loss |")
    assert "1234567" not in kills
    assert first == "| disk | 1 |  |  | 0 | 1 of 2 | 1234567 |"
    assert total.startswith("| all | 3 | 6 | 4 | 1 loss |")


def test_a_short_campaign_kills_at_counted_writes_only(tmp_path):
    world = World(tmp_path, short=True)
    tried = list(islice(kills.cases(world, random.Random(0)), 20))
    assert not [case.name for case in tried if "soon after" in case.name]
    again = islice(kills.cases(world, random.Random(0)), 20)
    assert [case.name for case in again] == [case.name for case in tried]


@pytest.mark.slow
def test_the_short_campaign_finds_nothing():
    done = subprocess.run(
        [sys.executable, "-m", "chaos", "--short", "--cases", "24", "--kills", "3"],
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
