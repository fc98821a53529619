"""From an experiment and the command line to jobs."""

from __future__ import annotations

from typing import Any

import pytest

from scale._errors import ScaleError
from scale.bench import Experiment, Job, parse_experiment, plan
from scale.bench.job import setting_of
from scale.commands.bench import parse
from scale.methods import METHODS
from scale.runs import RunConfig, complete

GRID = parse_experiment(
    "grid",
    """
kind = "lines"
[base]
method = "scale"
memory_size = 200
mu = 0.5
[axes]
dataset = ["mnist", "digits"]
lam = [0.0, 0.1, 1.0]
seeds = 2
[datasets.digits]
memory_size = 100
mu = 0.6
""",
)
ROWS = parse_experiment(
    "rows",
    """
kind = "table"
[axes]
dataset = ["digits"]
[variants.plain]
method = "simclr"
[variants.replay]
method = "er"
memory_size = 50
""",
)


def chosen(line: str) -> dict[str, list[Any]]:
    return parse(["grid", *line.split()]).chosen()


def test_every_combination_is_one_job_and_the_first_seed_comes_first() -> None:
    jobs = plan(GRID)
    assert len({job.hash for job in jobs}) == len(jobs) == 2 * 3 * 2
    assert [job.config.seed for job in jobs] == [0] * 6 + [1] * 6
    assert jobs[0].axes == {"seed": 0, "dataset": "mnist", "lam": 0.0}


def test_what_holds_on_a_dataset_wins_over_the_base_and_the_command_line_over_both() -> None:
    def params(line: str) -> set[tuple[str, int, float]]:
        found = [job.config for job in plan(GRID, chosen(line))]
        return {(c.dataset, c.params["memory_size"], c.params["mu"]) for c in found}

    assert params("") == {("mnist", 200, 0.5), ("digits", 100, 0.6)}
    assert params("--mu 0.7") == {("mnist", 200, 0.7), ("digits", 100, 0.7)}


def test_any_setting_can_be_given_on_the_command_line() -> None:
    line = "--dataset digits --seeds 3 --updates 5 --streams seq iid --lam 0.3 --tau=0.2 0.5"
    jobs = plan(GRID, chosen(f"{line} --samples-per-class 20 --validation true"))
    assert len(jobs) == 3 * 2 * 2
    assert {job.config.params["tau"] for job in jobs} == {0.2, 0.5}
    assert {job.config.stream for job in jobs} == {"seq", "iid"}
    for job in jobs:
        assert job.config.params["steps_per_batch"] == 5
        assert job.config.samples_per_class == 20
        assert job.config.validation is True


def test_the_config_is_what_scale_run_would_have() -> None:
    from scale.commands.run import parse_run

    options = ["--dataset", "digits", "--method", "er", "--memory-size", "50", "--out", "x"]
    _, config = parse_run(options)
    assert plan(ROWS, variants=["replay"])[0].config == config


def test_a_preset_applies_to_the_methods_that_have_it() -> None:
    (job,) = plan(GRID, chosen("--preset paper --dataset mnist --lam 0.1 --seeds 1"))
    assert job.config.params["views"] == METHODS["scale"].presets["paper"]["views"]
    assert job.config.params["mu"] == 0.5, "what the experiment says comes first"


def test_a_parameter_that_a_method_lacks_makes_no_more_runs_of_it() -> None:
    jobs = plan(GRID, chosen("--methods simclr scale --dataset digits --seeds 1"))
    assert [job.config.method for job in jobs].count("scale") == 3
    assert [job.config.method for job in jobs].count("simclr") == 1


SPARSE = parse_experiment(
    "sparse",
    """
kind = "table"
skip = [{dataset = "mnist", stream = "frames"}]
[base]
steps_per_batch = 5
[axes]
dataset = ["mnist", "digits"]
stream = ["seq", "frames"]
method = ["er", "vae"]
[updates.mnist]
vae = 40
""",
)


def test_combinations_that_mean_nothing_are_left_out() -> None:
    found = {(job.config.dataset, job.config.stream) for job in plan(SPARSE)}
    assert found == {("mnist", "seq"), ("digits", "seq"), ("digits", "frames")}


def test_a_method_may_have_updates_of_its_own_on_a_dataset() -> None:
    def updates(line: str) -> dict[tuple[str, str], int]:
        configs = [job.config for job in plan(SPARSE, chosen(f"--streams seq {line}"))]
        return {(c.dataset, c.method): c.params["steps_per_batch"] for c in configs}

    assert updates("") == {
        ("mnist", "er"): 5,
        ("mnist", "vae"): 40,
        ("digits", "er"): 5,
        ("digits", "vae"): 5,
    }
    assert set(updates("--updates 2").values()) == {2}


def test_variants_can_be_chosen() -> None:
    assert [job.variant for job in plan(ROWS)] == ["plain", "replay"]
    assert [job.variant for job in plan(ROWS, variants=["replay"])] == ["replay"]


@pytest.mark.parametrize(
    ("experiment", "line", "expected"),
    [
        (GRID, "--lamm 1", "did you mean 'lam'"),
        (GRID, "--lam many", "lam must be a number, got 'many'"),
        (GRID, "--memory-size 1.5", "memory_size must be a whole number"),
        (GRID, "--stream-batch x", "stream_batch must be a whole number or none"),
        (GRID, "--views twice", "views must be 'once' or 'anew'"),
        (GRID, "--lam", "--lam needs a value"),
        (GRID, "--methods scail", "did you mean 'scale'"),
        (GRID, "--streams sec", "no stream is called 'sec'"),
        (GRID, "--preset papier", "none of its methods has a preset"),
        (GRID, "--methods simclr --mu 1", "neither a run nor simclr has a setting"),
        (GRID, "--methods stam --updates 5", "leave it out, or add a method that has it"),
        (GRID, "--seeds 0", "seeds must be"),
        (GRID, "--evaluations 0", "evaluations must be from 1"),
        (GRID, "--workers 0", "workers must be from 1 to 1024"),
        (GRID, "--engine in-process --workers 2", "--workers is for --engine pool"),
        (GRID, "--address x:1", "--address is for --engine ray"),
        (ROWS, "--methods scale", "variants differ in method"),
        (SPARSE, "--dataset mnist --streams frames", "leaves out dataset mnist, stream frames"),
    ],
)
def test_a_mistake_gets_one_clear_message(experiment: Experiment, line: str, expected: str) -> None:
    with pytest.raises(ScaleError, match=expected) as raised:
        plan(experiment, chosen(line))
    assert "\n" not in str(raised.value)


def test_a_method_that_is_no_text_is_told() -> None:
    with pytest.raises(ScaleError, match=r"method must be a text, got \{\}"):
        plan(GRID, {"method": [{}]})


def test_an_unknown_variant_is_told_with_the_known_ones() -> None:
    with pytest.raises(ScaleError, match=r"no variant 'plane' \(known: plain, replay\)"):
        plan(ROWS, variants=["plane"])


@pytest.mark.parametrize(
    "change",
    [{"seed": 9}, {"stream": "iid"}, {"params": {"tau": 0.9}}, {"dataset": "mnist"}],
)
def test_the_hash_is_that_of_the_content(change: dict[str, Any]) -> None:
    config, same = RunConfig(evaluations=3), RunConfig(evaluations=3, threads=2)
    assert Job("a", config).hash == Job("b", same, "variant", {"axis": 1}).hash
    assert Job("a", config).name == Job("b", same).name
    assert Job("a", RunConfig(evaluations=3, **change)).hash != Job("a", config).hash


def test_the_usual_batch_and_the_same_one_given_are_the_same_job() -> None:
    usual, given = RunConfig(dataset="mnist"), RunConfig(dataset="mnist", stream_batch=256)
    assert Job("a", usual).hash == Job("a", given).hash
    older = {**usual.to_json(), "params": complete(usual).params}
    assert setting_of(older) == Job("a", given).setting


@pytest.mark.parametrize("values", [3, "er", None])
def test_the_chosen_values_of_an_axis_are_a_list(values: Any) -> None:
    with pytest.raises(ScaleError, match=r"the values of method must be a list, got"):
        plan(GRID, {"method": values})
