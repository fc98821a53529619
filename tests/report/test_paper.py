"""Which rows the paper's values stand beside."""

from __future__ import annotations

import itertools
from collections import defaultdict
from typing import Any

import pytest

from scale.bench import load_experiment
from scale.methods import METHODS
from scale.report import make_table
from scale.report.paper import paper_key, paper_knn

from .records import of_variant, record

PAPER = METHODS["scale"].presets["paper"]


@pytest.fixture(scope="module")
def known() -> dict[str, float]:
    return paper_knn(["cifar10", "cifar100", "mnist"])


def key(method: str = "scale", **changes: Any) -> str:
    return paper_key(record(method, **{"dataset": "cifar10", **changes})["run"])


@pytest.mark.parametrize("name", ["loss-ablation", "memory-ablation"])
def test_every_value_of_an_experiment_stands_beside_its_variant(name: str) -> None:
    experiment = load_experiment(name)
    records = []
    for dataset, variant in itertools.product(experiment.paper, experiment.variants):
        settings = {**experiment.base, **experiment.variants[variant]}
        run = {"dataset": dataset, "stream": settings.pop("stream")}
        method = settings.pop("method")
        records.append(of_variant(variant, method=method, **run, params=settings))
    found: dict[str, dict[str, float | None]] = defaultdict(dict)
    for row in make_table(records).rows:
        if not row.is_floor:
            found[row.dataset][row.features] = row.paper
    assert found == experiment.paper


def test_a_preset_and_another_number_of_updates_are_still_what_the_paper_measured(
    known: dict[str, float],
) -> None:
    for params in ({}, PAPER, {**PAPER, "steps_per_batch": 5}, {"device": "cuda"}):
        assert known[key(params=params)] == 32.18
    assert known[key(params={**PAPER, "lam": 0})] == 30.45
    usual = {"samples_per_class": 4096, "bank_size": 1000, "stream_batch": 128}
    assert known[key(**usual, evaluations=3)] == 32.18


@pytest.mark.parametrize(
    "changes",
    [
        {"params": {"memory_policy": "reservoir"}},
        {"params": {"memory_policy": "random"}},  # has one on seq-im only
        {"params": {"lam": 0.5}},
        {"params": {"memory_size": 256}},
        {"params": {"encoder": "resnet18_cifar"}},
        {"params": {"kappa": 0.1}},  # half a preset
        {"params": {"lam": 0.0}, "stream": "seq-im"},
        {"stream": "iid"},
        {"samples_per_class": 1024},
        {"bank_size": 5000},
        {"validation": True},
        {"class_order": "seeded"},
        {"stream_batch": 64},
        {"dataset": "mnist"},
        {"dataset": "cifar100"},  # seq-im only
        {"method": "er"},
    ],
)
def test_a_row_that_the_paper_did_not_measure_has_no_value(
    changes: dict[str, Any], known: dict[str, float]
) -> None:
    assert key(**changes) not in known


def test_the_column_is_shown_where_there_is_a_value() -> None:
    assert "paper" in make_table([record("scale", dataset="cifar10")]).columns
    assert "paper" not in make_table([record("scale")]).columns
