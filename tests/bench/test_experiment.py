"""The files that describe experiments."""

from __future__ import annotations

from pathlib import Path

import pytest

from scale._errors import InputError, ScaleError
from scale.bench import list_experiments, load_experiment, parse_experiment, plan
from scale.cli import main

EXPERIMENTS = {experiment.name: experiment for experiment in list_experiments()}


def test_every_experiment_of_the_paper_is_there() -> None:
    assert set(EXPERIMENTS) == {
        *("settings", "beyond", "beyond-ablation", "optimizer", "objectives"),  # our own
        *("pretrained", "table1", "table1-time", "precision"),
        *("table1-small", "table1-small-time"),
        *("final-accuracy", "curves", "loss-ablation", "memory-ablation", "lambda", "mu"),
        *("stream-batch", "memory-batch", "temperature", "tsne"),
    }


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_built_in_experiment_can_be_planned_as_it_is_and_on_digits(name: str) -> None:
    experiment = EXPERIMENTS[name]
    assert experiment.title
    assert experiment.shows
    for chosen in ({}, {"dataset": ["digits"]}):
        jobs = plan(experiment, chosen)
        assert len({job.hash for job in jobs}) == len(jobs)
        for job in jobs:
            if job.config.dataset == "digits" and "memory_size" in job.config.params:
                assert job.config.params["memory_size"] < 1000, "it would hold all of digits"


@pytest.mark.parametrize("name", ["loss-ablation", "memory-ablation"])
def test_the_papers_values_belong_to_variants_and_datasets_of_the_experiment(name: str) -> None:
    experiment = EXPERIMENTS[name]
    assert set(experiment.paper) == set(experiment.axes["dataset"])
    for values in experiment.paper.values():
        assert set(values) == set(experiment.variants)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("title = ", "not valid TOML"),
        ("kind = 'pie'", "kind must be one of table, bars"),
        ("title = 'x'", "needs an entry 'kind'"),
        ("kind = 'table'\ncolour = 'red'", "unknown entry 'colour'"),
        ("kind = 'table'\nbase = 3", "base must be a table"),
        ("kind = 'table'\n[variants]\na = 3", "variants.a must be a table"),
        ("kind = 'table'\n[axes]\nlam = []", "lam has no values"),
        ("kind = 'table'\n[axes]\nseeds = 0", "seeds must be"),
        ("kind = 'table'\n[axes]\nseeds = [1, 2]", "write seed = "),
    ],
)
def test_a_wrong_file_gets_one_clear_message(text: str, expected: str) -> None:
    with pytest.raises(InputError, match=expected) as raised:
        parse_experiment("mine", text)
    assert "\n" not in str(raised.value)
    assert "mine" in str(raised.value) or "seeds" in str(raised.value)


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(ScaleError, match="did you mean 'lambda'"):
        load_experiment("lamda")
    with pytest.raises(ScaleError, match=r"no file nowhere\.toml"):
        load_experiment("nowhere.toml")


def test_the_list_and_the_files_are_printed(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["bench"]) == 0
    listed = capsys.readouterr().out
    for name in EXPERIMENTS:
        assert f"\n {name} " in listed
    assert main(["bench", "lambda", "--show"]) == 0
    mine = tmp_path / "mine.toml"
    mine.write_text(capsys.readouterr().out)
    assert load_experiment(str(mine)).axes == EXPERIMENTS["lambda"].axes
