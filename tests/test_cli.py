"""The commands as a user types them, with wrong input too."""

from __future__ import annotations

import dataclasses
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from scale._text import printable
from scale.cli import COMMANDS, TWO_STEP, main
from scale.runs import load_learner, measure_again, read_names

QUICK = [
    *("--encoder", "cnn", "--augmentation", "mnist", "--steps-per-batch", "1"),
    *("--stream-batch", "30", "--memory-size", "40", "--evaluations", "2"),
    *("--clusters", "8"),
]


@pytest.fixture(scope="module")
def finished(small_set: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("cli") / "run"
    assert main(["run", "--dataset", str(small_set), "--out", str(out), *QUICK]) == 0
    return out


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Return the one line that a mistake gets."""
    assert main([*arguments]) == 2
    error = capsys.readouterr().err
    assert error.startswith("scale: ")
    assert error.count("\n") == 1, error
    assert "Traceback" not in error
    return error


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    text = capsys.readouterr().out
    for command in (*TWO_STEP, *COMMANDS):
        assert f"\n  {command} " in text


def test_run_draws_its_pictures(finished: Path) -> None:
    for name in ("curve.png", "stream.png", "memory.png", "embedding.png"):
        with Image.open(finished / name) as picture:
            assert min(picture.size) > 200


def test_every_parameter_of_the_method_is_an_option(
    capsys: pytest.CaptureFixture[str],
) -> None:
    from scale.methods import METHODS

    with pytest.raises(SystemExit) as stopped:
        main(["run", "--help"])
    assert stopped.value.code == 0
    text = capsys.readouterr().out
    for field in dataclasses.fields(METHODS["scale-plus"]):
        if field.name != "seed":
            assert f"--{field.name.replace('_', '-')}" in text
    assert text.count("--seed") == 1


def test_a_preset_sets_the_parameters_and_options_come_before_it(
    small_set: Path, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    paper = ["--method", "scale", "--preset", "paper", "--mu", "0.2", "--no-pictures"]
    quick = QUICK[: QUICK.index("--clusters")]  # of scale-plus only
    assert main(["run", "--dataset", str(small_set), "--out", str(out), *quick, *paper]) == 0
    params = json.loads((out / "config.json").read_text())["run"]["params"]
    assert (params["kappa"], params["memory_anchors"], params["mu"]) == (0.1, False, 0.2)


def test_resuming_a_finished_run_changes_nothing(finished: Path) -> None:
    before = (finished / "metrics.jsonl").read_bytes()
    assert main(["run", "--out", str(finished), "--resume", "--no-pictures"]) == 0
    assert (finished / "metrics.jsonl").read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["nonsense"], "--help lists them"),
        (["run", "--out", "x", "--dataset", "cifar11"], "did you mean"),
        (["run", "--out", "x", "--dataset", "no/such/folder/"], "no/such/folder"),
        (["run", "--out", "x", "--stream", "sec"], "known: as-is, frames, iid, seq"),
        (["run", "--out", "x", "--method", "scail"], "did you mean 'scale'"),
        (["run", "--out", "x", "--method", "scale", "--preset", "papier"], "known: paper"),
        (["run", "--out", "x", "--preset", "paper"], "did you mean --method scale?"),
        (["run", "--out", "x", "--memory-policy", "best"], "no memory policy"),
        (["run", "--out", "x", "--encoder", "resnet19"], "did you mean 'resnet18'"),
        (["run", "--out", "x", "--augmentation", "mist"], "did you mean 'mnist'"),
        (["run", "--out", "x", "--steps-per-batch", "0"], "steps_per_batch"),
        (["run", "--out", "x", "--tau", "-1"], "tau"),
        (["run", "--out", "x", "--device", "abacus"], "abacus"),
        (["run", "--out", "x", "--evaluations", "0"], "evaluations"),
        (["run", "--out", "x", "--seed", "-1"], "seed"),
        (["run", "--out", "x", "--seed", "9" * 23], "seed must be from 0 to 4294967295"),
        (["run", "--out", "x", "--threads", "999999"], "threads must be from 1 to 1024"),
        (["run", "--out", "x", "--momentum=-1"], "momentum must be from 0 to 1, got -1"),
        (["run", "--out", "x", "--lr", "nan"], "lr must be 0 or more, got nan"),
        (["run", "--out", "x", "--resume"], "holds no run"),
        (["run", "--out", "x", "--resume", "--no-pictures"], "holds no run"),
        (["embed", "no-run", "digits", "--out", "z.npy"], "no-run"),
        (["evaluate", "no-run"], "no-run"),
        (["table", "no-run"], "no-run"),
        (["streams", "--dataset", "cifer10"], "cifar10"),
        (["streams", "--dataset", "digits", "--samples-per-class", "0"], "must be 1 or more"),
        (["bench", "mu", "--out", "x", "--seeds", "9" * 11], "seeds must be from 1 to 10000"),
        (["export", "no-run", "--to", "torch", "--out", "x.onnx"], "must end in .pt2"),
        (["data", "get", "cifer10"], "cifar10"),
    ],
)
def test_a_mistake_gets_one_clear_line(
    arguments: list[str],
    expected: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert expected in refused(capsys, *arguments)


def test_resuming_with_another_option_is_refused(
    finished: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    error = refused(capsys, "run", "--out", str(finished), "--resume", "--tau", "0.9")
    assert "with tau = " in error
    other = refused(capsys, "run", "--out", str(finished), "--resume", "--method", "simclr")
    assert "with method = scale-plus, not simclr" in other


def test_a_run_with_a_parameter_of_another_version_is_refused(
    finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    described = json.loads((finished / "config.json").read_text())
    described["run"]["params"]["warp"] = 9
    (tmp_path / "config.json").write_text(json.dumps(described))
    assert "warp" in refused(capsys, "run", "--out", str(tmp_path), "--resume")


def test_a_corrupt_image_stops_the_run_or_is_skipped_as_asked(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    rng = np.random.default_rng(0)
    for label in ("cat", "dog"):
        (tmp_path / "pets" / label).mkdir(parents=True)
        for i in range(12):
            pixels = rng.integers(0, 256, (16, 16, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(tmp_path / "pets" / label / f"{i}.png")
    (tmp_path / "pets" / "cat" / "broken.png").write_bytes(b"\x89PNG but not really")
    arguments = ["run", "--dataset", str(tmp_path / "pets"), "--out", str(tmp_path / "run"), *QUICK]
    arguments.append("--no-pictures")
    assert "broken.png" in refused(capsys, *arguments)
    assert not (tmp_path / "run" / "config.json").exists()
    assert main([*arguments, "--on-bad", "skip"]) == 0
    described = json.loads((tmp_path / "run" / "config.json").read_text())
    assert "broken.png" in described["data"]["skipped"][0]


def test_embed_writes_one_row_per_image(finished: Path, small_set: Path, tmp_path: Path) -> None:
    out = tmp_path / "z.npy"
    assert main(["embed", str(finished), str(small_set), "--out", str(out)]) == 0
    z = np.load(out, allow_pickle=False)
    assert z.shape == (120, 128)
    assert z.dtype == np.float32


def test_embed_brings_other_sizes_and_colours_to_those_of_the_run(
    finished: Path, tmp_path: Path
) -> None:
    images = np.random.default_rng(0).integers(0, 256, (4, 40, 30, 3), dtype=np.uint8)
    np.save(tmp_path / "colour.npy", images)
    out = tmp_path / "z.npy"
    assert main(["embed", str(finished), str(tmp_path / "colour.npy"), "--out", str(out)]) == 0
    assert np.load(out).shape == (4, 128)


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    """A folder with splits: three images, of different sizes, and one that cannot be read."""
    rng = np.random.default_rng(0)
    for side, name in enumerate(("test/cat/a.png", "train/cat/b.png", "train/dog/c.png"), 16):
        path = tmp_path / "pictures" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(rng.integers(0, 256, (side, side), dtype=np.uint8)).save(path)
    (tmp_path / "pictures" / "train" / "cat" / "bad.png").write_bytes(b"no image")
    return tmp_path / "pictures"


def test_embed_takes_all_images_of_a_folder_and_names_the_file_of_each_row(
    finished: Path, pictures: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "z.npy"
    arguments = ["embed", str(finished), str(pictures), "--out", str(out)]
    assert "bad.png" in refused(capsys, *arguments)
    assert not out.exists()
    assert main([*arguments, "--on-bad", "skip"]) == 0
    assert f"the file of each row in {tmp_path / 'z.files.txt'}" in capsys.readouterr().out
    names = (tmp_path / "z.files.txt").read_text().splitlines()
    expected = ("test/cat/a.png", "train/cat/b.png", "train/dog/c.png")
    assert names == [str(pictures / name) for name in expected]
    rows = np.load(out)
    for name, row in zip(names, rows, strict=True):
        assert main(["embed", str(finished), name, "--out", str(out)]) == 0
        np.testing.assert_allclose(np.load(out), row[None], rtol=1e-4, atol=1e-5)
        assert (tmp_path / "z.files.txt").read_text() == f"{name}\n"


def test_names_of_any_kind_stay_with_their_rows(finished: Path, tmp_path: Path) -> None:
    names = [
        "a.png",
        "b\nc.png",
        "d\x1b[2J\r.png",
        '"e".png',
        "f\u2028.png",
        "g\udcff.png",
        " h.png",
    ]
    folder = tmp_path / "odd"
    folder.mkdir()
    for shade, name in enumerate(names):
        Image.fromarray(np.full((16, 16), 30 * shade, np.uint8)).save(tmp_path / "one.png")
        (tmp_path / "one.png").rename(folder / name)
    out = tmp_path / "z.npy"
    assert main(["embed", str(finished), str(folder), "--out", str(out)]) == 0
    kept = tmp_path / "z.files.txt"
    assert sorted(read_names(kept)) == sorted(str(folder / name) for name in names)
    assert len(kept.read_text().splitlines()) == len(names) == len(np.load(out))
    assert f"{folder}/a.png\n" in kept.read_text(), "a plain name is written as it is"
    assert read_names(kept) == [str(path) for path in sorted(folder.iterdir())]


def test_embed_takes_a_folder_with_only_a_test_split(
    finished: Path, pictures: Path, tmp_path: Path
) -> None:
    shutil.rmtree(pictures / "train")
    out = tmp_path / "z.npy"
    assert main(["embed", str(finished), str(pictures), "--out", str(out)]) == 0
    assert len(np.load(out)) == 1


def test_embed_takes_the_split_that_is_asked_for(
    finished: Path, pictures: Path, small_set: Path, tmp_path: Path
) -> None:
    out = str(tmp_path / "z.npy")
    for images, count in ((pictures, 1), (small_set, 30)):
        arguments = ["embed", str(finished), str(images), "--out", out, "--split", "test"]
        assert main(arguments) == 0
        assert len(np.load(out)) == count


def test_embed_tells_of_a_damaged_checkpoint(
    small_set: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    quick = [*QUICK, "--no-pictures", "--checkpoint-seconds", "0"]
    assert main(["run", "--dataset", str(small_set), "--out", str(out), *quick]) == 0
    (out / "learner.safetensors").unlink()
    newest = max((out / "checkpoints").glob("*.safetensors"))
    newest.write_bytes(newest.read_bytes()[:-100])
    capsys.readouterr()
    assert main(["embed", str(out), str(small_set), "--out", str(tmp_path / "z.npy")]) == 0
    told = capsys.readouterr().out
    assert f"warning: {newest} is damaged" in told
    assert "going on from the checkpoint before it" in told
    with pytest.warns(UserWarning, match="is damaged"):
        load_learner(out)


@pytest.mark.parametrize(
    ("place", "reason"),
    [
        ("file/z", "a file is where a folder on its path should be"),
        ("folder", "it is a folder"),
    ],
)
def test_an_output_that_cannot_be_written_gets_one_clear_line(
    place: str,
    reason: str,
    finished: Path,
    small_set: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "file").write_text("old")
    (tmp_path / "folder").mkdir()
    out = str(tmp_path / place)
    for command in (
        ["embed", str(finished), str(small_set), "--out", out],
        ["evaluate", str(finished), "--to", out],
        ["streams", "--dataset", str(small_set), "--out", out],
    ):
        assert f"cannot write {out}: {reason}" in refused(capsys, *command)
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["file", "folder"]


@pytest.mark.parametrize("command", ["evaluate", "table"])
def test_what_the_system_refuses_gets_one_line(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "z" * 60 in refused(capsys, command, "z" * 300)


def test_evaluate_with_the_usual_bank_gives_what_the_run_gave(
    finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    summary = json.loads((finished / "summary.json").read_text())
    assert measure_again(finished, None)["scale-plus"]["knn"] == summary["knn"]
    assert measure_again(finished, None)["random"]["knn"] == summary["floors"]["random"]["knn"]
    kept = tmp_path / "evaluations.jsonl"
    assert main(["evaluate", str(finished), "--bank-size", "30", "--to", str(kept)]) == 0
    assert json.loads(kept.read_text())["measures"]["scale-plus"]["knn"] > 0
    text = capsys.readouterr().out
    assert "a bank of 30" in text
    assert "pixels" in text


def test_table_averages_over_seeds_and_keeps_records(
    small_set: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folders = []
    for seed in range(2):
        folders.append(str(tmp_path / f"run{seed}"))
        place = ["--dataset", str(small_set), "--out", folders[-1], "--seed", str(seed)]
        quick = ["--method", "patches", "--stream-batch", "60", "--evaluations", "1"]
        assert main(["run", *place, *quick, "--no-pictures"]) == 0
    capsys.readouterr()
    records = tmp_path / "records.jsonl"
    assert main(["table", *folders, "--markdown", "--to", str(records)]) == 0
    first = capsys.readouterr().out
    knn = [json.loads((Path(f) / "summary.json").read_text())["knn"] for f in folders]
    assert f"{np.mean(knn):.2f} ± {np.std(knn, ddof=1):.2f}" in first
    for floor in ("random", "pixels", "pca (bank)"):
        assert f"| floor: {floor} |" in first
    assert main(["table", *folders, "--to", str(records)]) == 0
    assert len(records.read_text().splitlines()) == 2, "equal runs are kept once"
    kept = json.loads(records.read_text().splitlines()[0])
    assert "source" not in kept["data"], "no paths of this machine"
    capsys.readouterr()
    assert main(["table", str(records), "--markdown"]) == 0
    assert capsys.readouterr().out == first


def test_data_lists_every_dataset(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data"]) == 0
    text = capsys.readouterr().out
    for name in ("digits", "cifar10", "cifar100", "tinyimagenet10", "mnist"):
        assert name in text


def test_a_hostile_name_reaches_no_terminal(
    small_set: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, run = tmp_path / "d\x1b]0;x\x07\n.npz", str(tmp_path / "r\x1b[2J\n")
    shutil.copy(small_set, data)
    assert main(["run", "--dataset", str(data), "--out", run, *QUICK, "--no-pictures"]) == 0
    assert main(["table", run]) == 0
    assert main(["evaluate", run]) == 0
    assert main(["embed", run, str(data), "--out", str(tmp_path / "z\x1bc.npy")]) == 0
    assert main(["run", "--dataset", str(data), "--out", run, "--seed", "3"]) == 2
    assert main(["table", f"{run}\x1b[0m"]) == 2
    shown = capsys.readouterr()
    assert printable(shown.out, keep="\n") == shown.out
    assert printable(shown.err, keep="\n") == shown.err
    assert shown.err.count("\n") == 2


def test_streams_draws_one_picture(tmp_path: Path) -> None:
    out = tmp_path / "streams.png"
    assert main(["streams", "--dataset", "digits", "--out", str(out)]) == 0
    with Image.open(out) as picture:
        assert picture.height > picture.width


def test_class_names_are_drawn_as_plain_text(tmp_path: Path) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (16, 16), dtype=np.uint8)
    for name in ("a$^$b", "\x1b[2J\n", "東京"):
        (tmp_path / "odd" / name).mkdir(parents=True)
        for i in range(4):
            Image.fromarray(pixels).save(tmp_path / "odd" / name / f"{i}.png")
    out = tmp_path / "streams.png"
    assert main(["streams", "--dataset", str(tmp_path / "odd"), "--out", str(out)]) == 0
    assert out.exists()
