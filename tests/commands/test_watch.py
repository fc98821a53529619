"""``scale watch`` and ``scale status``, as a user types them."""

from __future__ import annotations

import json
import resource
import signal

import numpy as np
import pytest

from scale.cli import main
from scale.commands.watch import parse_watch, with_port
from scale.live import Store
from scale.methods import METHODS
from tests.live.tools import make_images
from tests.processes import start
from tests.waiting import until

SMALL = ["--method", "patches", "--batch-size", "8", "--image-size", "16", "--poll-seconds", "0.05"]


def watch(tmp_path, *more: str) -> int:
    return main(["watch", *more, "--out", str(tmp_path / "live")])


def test_a_folder_is_learned_once_and_its_status_shown(tmp_path, capsys):
    make_images(tmp_path / "in", 12)
    assert watch(tmp_path, str(tmp_path / "in"), "--once", *SMALL) == 0
    assert "the learner is saved in" in capsys.readouterr().out
    assert main(["status", str(tmp_path / "live")]) == 0
    shown = capsys.readouterr().out
    assert "state        stopped" in shown
    assert "2 batches" in shown
    assert "events       0 open, 0 closed, 0 dismissed" in shown
    assert main(["status", str(tmp_path / "live"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["images"], found["step"], found["state"]) == (12, 2, "stopped")


def test_commands_that_need_a_learner_take_that_of_a_live_folder(tmp_path, capsys):
    make_images(tmp_path / "in", 12)
    live, out = str(tmp_path / "live"), tmp_path / "z.npy"
    assert watch(tmp_path, str(tmp_path / "in"), "--once", *SMALL) == 0
    (tmp_path / "live/learner.safetensors").write_bytes(b"older than the checkpoint")
    assert main(["embed", live, str(tmp_path / "in"), "--out", str(out)]) == 0
    assert len(np.load(out)) == 12
    capsys.readouterr()
    for command in ("report", "table", "evaluate"):
        assert main([command, live]) == 2
        assert "holds a live learner, not a run: scale serve" in capsys.readouterr().err


def test_the_folder_remembers_sources_and_options(tmp_path):
    make_images(tmp_path / "in", 4)
    assert watch(tmp_path, str(tmp_path / "in"), "--once", *SMALL) == 0
    place, config = parse_watch(["--out", str(tmp_path / "live")])
    assert place.sources == (str(tmp_path / "in"),)
    assert (config.method, config.batch_size, config.image_size) == ("patches", 8, 16)


def test_parameters_of_the_method_are_options():
    arguments = ["in", "--out", "x", "--encoder", "cnn", "--steps-per-batch", "2"]
    _, config = parse_watch(arguments)
    assert (config.params["encoder"], config.params["steps_per_batch"]) == ("cnn", 2)
    assert parse_watch(["in", "--out", "x"])[1].params["steps_per_batch"] == 5


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--out", "{}/live"], "say what to watch"),
        (["{}/nothing", "--out", "{}/live"], "there is no"),
        (["{}", "--out", "{}/live", "--every", "5"], "add s or f"),
        (["{}", "--out", "{}/live", "--cpu", "7"], "cpu must be"),
        (["{}", "--out", "{}/live", "--method", "no"], "no"),
        (["{}"], "--out"),
    ],
)
def test_a_mistake_is_one_line_and_makes_nothing(tmp_path, capsys, arguments, why):
    assert main(["watch", *(one.format(tmp_path) for one in arguments)]) == 2
    told = capsys.readouterr().err
    assert why in told
    assert told.count("\n") == 1
    assert not (tmp_path / "live").exists()


def test_the_status_of_nothing_is_a_mistake(tmp_path, capsys):
    assert main(["status", str(tmp_path)]) == 2
    assert "holds no live learner" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.usefixtures("default_signals")
def test_ctrl_c_saves_and_says_how_to_go_on(tmp_path):
    make_images(tmp_path / "in", 12)
    out = tmp_path / "live"
    process = start(["watch", str(tmp_path / "in"), "--out", str(out), *SMALL])
    assert process.stdout is not None
    assert process.stdout.readline().startswith("watching")
    with Store(out) as store:
        until(lambda: len(store.query("SELECT id FROM images")) == 12)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate()
    assert process.returncode == 130, told
    assert f"go on with the same command, or: scale watch --out {out}" in told
    with Store(out) as store:
        assert len(store.query("SELECT id FROM images")) == 12
    assert (out / "learner.safetensors").is_file()


def test_no_arguments_have_no_port():
    assert with_port([]) == []


@pytest.mark.parametrize("name", ["config.json", "summary.json", "records.jsonl"])
def test_a_folder_that_holds_something_else_is_refused_and_stays_as_it_is(name, tmp_path, capsys):
    make_images(tmp_path / "in", 4)
    (tmp_path / "live").mkdir()
    (tmp_path / "live" / name).write_text("{}")
    assert watch(tmp_path, str(tmp_path / "in"), "--once", *SMALL) == 2
    assert "choose another --out" in capsys.readouterr().err
    assert [path.name for path in (tmp_path / "live").iterdir()] == [name]


def test_a_learner_that_could_not_be_saved_is_not_called_saved(tmp_path, capsys, limit_files):
    make_images(tmp_path / "in", 16)
    command = [str(tmp_path / "in"), "--once", "--image-size", "16", "--batch-size", "8"]
    command += ["--steps-per-batch", "1", "--encoder", "cnn"]
    limit_files(1_000_000)  # the store fits, the learner does not
    assert watch(tmp_path, *command) == 2
    shown = capsys.readouterr()
    assert "is saved" not in shown.out
    assert "the learner is not saved" in shown.err
    limit_files(resource.RLIM_INFINITY)
    assert watch(tmp_path, *command) == 0
    assert "the learner is saved" in capsys.readouterr().out
    with Store(tmp_path / "live") as store:
        assert store.query("SELECT COUNT(*), MAX(batch) FROM images")[0][:] == (16, 2)


@pytest.mark.parametrize("method", list(METHODS))
def test_every_method_has_a_parser(method, tmp_path):
    _place, config = parse_watch(["photos", "--out", str(tmp_path), "--method", method])
    assert config.method == method


def test_a_parameter_with_the_name_of_an_option_is_the_methods_with_a_prefix(tmp_path):
    given = ["photos", "--out", str(tmp_path), "--method", "er"]
    _place, config = parse_watch([*given, "--queue", "50", "--method-queue", "64"])
    assert config.queue == 50
    assert config.params["queue"] == 64
