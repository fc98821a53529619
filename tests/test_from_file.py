"""A method of one's own is a file: in Python, on the command line, and in other processes."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import scale
from scale._errors import InputError, ScaleError, UnknownNameError
from scale._registry import Registry
from scale.cli import main
from scale.methods import METHODS, SimCLR
from tests.processes import start

MINE = '''\
from dataclasses import dataclass

import scale
from scale.methods import SimCLR


@dataclass(kw_only=True)
class Mine(SimCLR):
    """SimCLR, and a parameter."""

    sharpness: float = 0.5
    """A parameter of its own."""
'''
REGISTERED = MINE.replace("@dataclass", '@scale.register_method("sharp")\n@dataclass')
TWO = MINE + "\n\nclass Other(Mine):\n    pass\n"
SMALL = {"encoder": "cnn", "augmentation": "mnist", "steps_per_batch": 1}
BATCH = np.random.default_rng(0).integers(0, 256, (6, 1, 28, 28), dtype=np.uint8)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty current folder, and registries that forget what the test added."""
    monkeypatch.chdir(tmp_path)
    for table in ("_entries", "_of_files", "_places"):
        monkeypatch.setattr(METHODS, table, dict(getattr(METHODS, table)))
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def write(text: str, name: str = "mine.py") -> Path:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def run_in(folder: Path, *arguments: str) -> None:
    """Run a command in a process of its own to a good end."""
    process = start(arguments, cwd=folder)
    _, error = process.communicate()
    assert process.returncode == 0, error


@pytest.mark.parametrize("name", ["mine.py", "./mine.py", "mine.py:Mine", "{here}/mine.py:Mine"])
def test_a_file_is_looked_up_like_a_name_and_imported_once(name: str, folder: Path) -> None:
    write(MINE)
    name = name.format(here=folder)
    method = METHODS[name]
    assert method.__name__ == "Mine"
    assert issubclass(method, SimCLR)
    assert method.name == name
    assert METHODS[str(folder / "mine.py")] is method
    assert name in METHODS
    assert name not in list(METHODS)


def test_a_registered_class_keeps_its_name() -> None:
    write(REGISTERED)
    assert METHODS["mine.py"].name == "sharp"
    assert METHODS["sharp"] is METHODS["mine.py"]


def test_a_file_that_the_program_has_imported_is_not_run_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(REGISTERED, "imported_before.py")
    monkeypatch.syspath_prepend(folder)
    import imported_before  # type: ignore[import-not-found]

    assert METHODS["imported_before.py"] is imported_before.Mine


def test_a_file_that_was_looked_up_is_not_run_again_by_import(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(REGISTERED, "imported_after.py")
    monkeypatch.syspath_prepend(folder)
    method = METHODS["imported_after.py"]
    import imported_after  # type: ignore[import-not-found]

    assert imported_after.Mine is method


def test_a_file_imports_its_neighbours() -> None:
    write("SHARPNESS = 0.25\n", "a/neighbour_of_mine.py")
    write("from neighbour_of_mine import SHARPNESS\n" + MINE.replace("0.5", "SHARPNESS"), "a/m.py")
    assert METHODS["a/m.py"]().get_params()["sharpness"] == 0.25
    assert not any(path.endswith("/a") for path in sys.path)


def test_asking_whether_a_name_is_known_runs_no_file(folder: Path) -> None:
    write("raise SystemExit('run')\n")
    assert "mine.py" not in METHODS


def test_one_of_several_is_named() -> None:
    write(TWO)
    assert METHODS["mine.py:Other"].__name__ == "Other"
    with pytest.raises(InputError, match=r"more than one method \(Mine, Other\).* mine\.py:Mine"):
        METHODS["mine.py"]
    with pytest.raises(
        UnknownNameError, match=r"in mine.py is called 'Othr'; did you mean 'Other'"
    ):
        METHODS["mine.py:Othr"]


WRONG = {
    "missing": (None, r"there is no file mine\.py \(looked in /"),
    "syntax": ("def f(:\n", r"cannot import .*mine\.py: line 1: invalid syntax"),
    "exception": ("x = 1\nx / 0\n", r"mine\.py: line 2: ZeroDivisionError: division by zero"),
    "no such module": ("import no_such_module\n", "line 1: ModuleNotFoundError: No module named"),
    "exits": ("raise SystemExit(3)\n", "cannot import .* line 1: SystemExit: 3"),
    "no method": ("x = 1\n", r"mine\.py defines no method; docs/extending\.md"),
    "only imported": ("from scale.methods import ER\n", "defines no method"),
    "not complete": (
        "import scale\nclass Mine(scale.Learner):\n    pass\n",
        r"Mine in mine\.py is not complete; define embed, learn, setup in it",
    ),
    "name taken": (
        REGISTERED.replace('"sharp"', '"scale"'),
        "line 7: a method called 'scale' is already registered; choose another name",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_mistake_gets_one_sentence_and_leaves_nothing(case: str) -> None:
    text, message = WRONG[case]
    if text is not None:
        write(text)
    known = list(METHODS)
    for _ in range(2):  # the second time is no other mistake
        with pytest.raises(ScaleError, match=message) as error:
            METHODS["mine.py"]
        assert "\n" not in str(error.value)
    assert list(METHODS) == known
    assert "mine.py" not in METHODS


def test_a_file_that_fails_half_way_registers_nothing() -> None:
    write(REGISTERED + "\n\n1 / 0\n")
    for _ in range(2):
        with pytest.raises(InputError, match="ZeroDivisionError"):
            METHODS["mine.py"]
    assert "sharp" not in METHODS


def test_a_registry_without_files_does_not_look_for_them() -> None:
    write(MINE)
    with pytest.raises(UnknownNameError, match=r"no shape is called 'mine\.py'"):
        Registry("shape")["mine.py"]


@pytest.mark.parametrize("text", [MINE, REGISTERED], ids=["unregistered", "registered"])
def test_a_saved_learner_says_which_file_it_needs(text: str, folder: Path) -> None:
    write(text)
    learner = METHODS["mine.py"](**SMALL).partial_fit(BATCH)
    learner.save("learner.safetensors")
    assert learner.describe()["file"] == f"{folder / 'mine.py'}:Mine"
    assert type(scale.load("learner.safetensors")) is type(learner)
    for table in (METHODS._entries, METHODS._of_files):
        table.pop("sharp", None), table.pop("mine.py", None)
        table.pop(f"{folder / 'mine.py'}:Mine", None)
    with pytest.raises(InputError, match=r"needs the method .* is in .*mine\.py:Mine.*method="):
        scale.load("learner.safetensors")
    again = scale.load("learner.safetensors", method="mine.py")
    np.testing.assert_array_equal(again.transform(BATCH), learner.transform(BATCH))


def test_a_name_that_two_files_have_is_an_error(folder: Path) -> None:
    write(MINE, "a/mine.py")
    write(TWO)
    METHODS.locate("mine.py", f"{folder / 'a/mine.py'}:Mine")
    with pytest.raises(InputError, match=r"in this folder is not .*a/mine\.py"):
        METHODS["mine.py"]


@pytest.mark.slow
def test_a_run_of_a_file_goes_on_from_any_folder(
    folder: Path,
    small_set: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    write(REGISTERED, "code/mine.py")
    options = f"--dataset {small_set} --samples-per-class 10 --evaluations 1 --no-pictures"
    learner = "--encoder cnn --augmentation mnist --steps-per-batch 1 --sharpness 0.25"
    run = ["run", "--method", "./mine.py", "--out", str(folder / "run")]
    run_in(folder / "code", *run, *options.split(), *learner.split())
    config = json.loads((folder / "run/config.json").read_text())
    assert config["run"]["method"] == "./mine.py"
    assert config["run"]["params"]["sharpness"] == 0.25
    (folder / "elsewhere").mkdir()
    embed = ["embed", str(folder / "run"), str(small_set), "--out", "z.npy"]
    run_in(folder / "elsewhere", *embed)
    monkeypatch.chdir("elsewhere")
    assert main(["run", "--resume", "--no-pictures", "--out", str(folder / "run")]) == 0
    assert main(["evaluate", str(folder / "run"), "--bank-size", "20"]) == 0
    (folder / "code/mine.py").unlink()
    METHODS._places.clear()
    capsys.readouterr()
    assert main(embed) == 2
    assert capsys.readouterr().err.startswith("scale: there is no file mine.py (looked in ")


@pytest.mark.slow
def test_a_bench_runs_a_file_in_processes_of_its_own(folder: Path, small_set: Path) -> None:
    write(MINE, "code/mine.py")
    write(
        f'title = "Mine"\nshows = "Nothing."\nkind = "table"\n[base]\ndataset = "{small_set}"\n'
        'samples_per_class = 10\nevaluations = 1\nencoder = "cnn"\naugmentation = "mnist"\n'
        "steps_per_batch = 1\nsharpness = 0.25\n[axes]\nseeds = 1\n",
        "mine.toml",
    )
    bench = ["bench", "mine.toml", "--method", "code/mine.py:Mine", "--workers", "1"]
    assert main([*bench, "--out", "bench"]) == 0
    (record,) = (folder / "bench/records.jsonl").read_text().splitlines()
    assert "code/mine.py:Mine" in record


def test_the_methods_command_shows_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    write(MINE)
    assert main(["methods", "mine.py"]) == 0
    shown = capsys.readouterr().out
    assert "--sharpness" in shown
    assert "A parameter of its own." in shown
