"""From files and folders to a file: what is read, what is refused, what is written."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from scale._errors import InputError, ScaleError, UnknownNameError
from scale.bench import read_run
from scale.cli import main
from scale.report.plots import draw_figure, select
from tests.report.plots.conftest import make_record

RESULTS = Path(__file__).parents[3] / "results"


@pytest.fixture
def records(write):
    return write([make_record(30.0), make_record(20.0, "simclr", stream="iid")])


@pytest.fixture
def bench(tmp_path):
    """The folder of a bench, with the folder of its only run."""
    folder = tmp_path / "bench"
    run = folder / "runs" / "scale-digits-seq-seed0-abc"
    (run / "embeddings").mkdir(parents=True)
    rng = np.random.default_rng(0)
    for position in (0, 20, 40):
        features = rng.normal(size=(30, 4)).astype(np.float32)
        np.savez(
            run / "embeddings" / f"{position:010d}.npz", features=features, labels=np.arange(30) % 2
        )
    record = make_record(30.0)
    summary = record.pop("summary")
    (run / "config.json").write_text(json.dumps(record))
    (run / "summary.json").write_text(json.dumps(summary))
    lines = [
        {"kind": "evaluation", "position": 0, "knn": 10.123456, "acc": 9.0},
        {"kind": "batch", "position": 20},
        {"kind": "evaluation", "position": 40, "knn": 30.0, "acc": 12.0},
    ]
    (run / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    marks = {"experiment": "own", "variant": "", "axes": {}, "job": "abc"}
    (folder / "records.jsonl").write_text(json.dumps(make_record(30.0, marks=marks)) + "\n")
    (folder / "own.toml").write_text('title = "Own"\nkind = "curves"\nmeasure = "acc"\n')
    return folder


def test_the_record_of_a_run_has_its_evaluations_along_the_stream(bench):
    (run,) = (bench / "runs").iterdir()
    assert read_run(run)["curve"] == {
        "position": [0, 40],
        "knn": [10.1235, 30.0],
        "acc": [9.0, 12.0],
    }


def test_a_run_without_labels_has_no_curve(bench):
    (run,) = (bench / "runs").iterdir()
    (run / "metrics.jsonl").write_text('{"kind": "evaluation", "position": 0}\n')
    assert "curve" not in read_run(run)


def test_a_bench_is_drawn_as_its_experiment_says_and_old_records_get_curves_from_their_runs(
    bench, tmp_path
):
    assert draw_figure([bench], tmp_path / "a.png") == "curves"
    assert draw_figure([bench / "records.jsonl"], tmp_path / "b.png") == "curves"
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()
    assert select([bench]).measure == "acc"


def test_records_of_no_experiment_are_bars_and_those_of_a_table_too(records, write, tmp_path):
    assert draw_figure([records], tmp_path / "a.png") == "bars"
    marks = {"experiment": "loss-ablation", "variant": "scale"}
    table = write([make_record(30.0, marks=marks)], "table.jsonl")
    assert draw_figure([table], tmp_path / "a.png") == "bars"


def test_maps_are_drawn_from_the_features_that_runs_keep(bench, tmp_path, write):
    (run,) = (bench / "runs").iterdir()
    for source in (bench, run):
        draw_figure([source], tmp_path / "maps.png", kind="maps")
        with Image.open(tmp_path / "maps.png") as image:
            assert image.width == pytest.approx(17 / 2.54 * 300, abs=1)
    alone = write([make_record(30.0)])
    with pytest.raises(InputError, match="no features of scale on cifar10 seq"):
        draw_figure([alone], tmp_path / "b.png", kind="maps")


def test_a_png_is_for_print_and_its_bytes_are_the_same_each_time(records, tmp_path):
    first, second = tmp_path / "a.png", tmp_path / "new folder" / "b.png"
    draw_figure([records], first)
    draw_figure([records], second)
    assert first.read_bytes() == second.read_bytes()
    with Image.open(first) as image:
        assert image.width == pytest.approx(17 / 2.54 * 300, abs=1)


def test_text_stays_text_in_vector_files(records, tmp_path):
    draw_figure([records], tmp_path / "a.svg")
    assert ">simclr</text>" in (tmp_path / "a.svg").read_text()
    draw_figure([records], tmp_path / "a.pdf")
    content = (tmp_path / "a.pdf").read_bytes()
    assert content.startswith(b"%PDF")
    assert b"/FontFile2" in content  # a TrueType font is embedded
    assert b"/Type3" not in content


def test_only_what_is_asked_for_is_drawn(records):
    assert [r["run"]["method"] for r in select([records], methods=["simclr"]).records] == ["simclr"]
    assert [r["run"]["method"] for r in select([records], streams=["seq"]).records] == ["scale"]
    assert len(select([records], datasets=["cifar10"]).records) == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"methods": ["scal"]}, "no record is of method 'scal'"),
        ({"streams": ["seq-bl"]}, "no record is of stream 'seq-bl'"),
        ({"datasets": ["mnist"]}, r"no record is of dataset 'mnist' \(there are: cifar10\)"),
        ({"measure": "knnn"}, "no measure is called 'knnn'"),
        ({"kind": "pie"}, "no figure is called 'pie'"),
        ({"experiment": "mu"}, "no record is of experiment 'mu'"),
    ],
)
def test_unknown_names_are_refused(records, tmp_path, options, message):
    with pytest.raises(UnknownNameError, match=message):
        draw_figure([records], tmp_path / "a.png", **options)


def test_what_cannot_be_written_or_read_is_refused(records, write, tmp_path):
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(InputError, match="does not end in"):
        draw_figure([records], tmp_path / "a.jpg")
    with pytest.raises(ScaleError, match="cannot write"):
        draw_figure([records], records / "a.png")
    with pytest.raises(InputError, match="no records of runs"):
        draw_figure([write([], "empty.jsonl")], tmp_path / "a.png")
    with pytest.raises(InputError, match="neither the folder of a run"):
        draw_figure([empty], tmp_path / "a.png")


def test_records_of_several_experiments_need_a_choice(write, tmp_path):
    both = write([make_record(30.0, marks={"experiment": name}) for name in ("mu", "lambda")])
    with pytest.raises(InputError, match=r"several experiments \(lambda, mu\)"):
        draw_figure([both], tmp_path / "a.png")
    assert len(select([both], experiment="mu").records) == 1


def test_the_command_draws_the_results_of_the_repository(records, tmp_path, capsys):
    out = tmp_path / "figure.png"
    source = RESULTS / "methods-mnist.jsonl"
    assert main(["plot", str(source), "--out", str(out), "--methods", "scale", "simclr"]) == 0
    assert "bars drawn in" in capsys.readouterr().out
    assert out.is_file()
    assert main(["plot", str(records), "--out", str(out), "--kind", "curves"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
