"""Which rows the paper's values stand beside."""

from __future__ import annotations

import itertools
from collections import defaultdict
from typing import Any

import pytest

from scale.bench import load_experiment
from scale.methods import METHODS
from scale.report import make_table
from scale.report.names import settings_of
from scale.report.paper import paper_value

from .records import of_variant, record, without

PAPER = METHODS["scale"].presets["paper"]


def value(method: str = "scale", **changes: Any) -> float | None:
    return paper_value(settings_of(record(**{"method": method, "dataset": "cifar10", **changes})))


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
            found[row.dataset][row.name] = row.paper
    assert found == experiment.paper


def test_a_preset_and_another_number_of_updates_are_still_what_the_paper_measured() -> None:
    for params in ({}, PAPER, {**PAPER, "steps_per_batch": 5}, {"device": "cuda"}):
        assert value(params=params) == 32.18
    assert value(params={**PAPER, "lam": 0}) == 30.45
    assert value(samples_per_class=4096, bank_size=1000, stream_batch=128, evaluations=3) == 32.18


def test_a_setting_that_is_not_recorded_decides_nothing() -> None:
    found = record("scale", dataset="cifar10")
    assert paper_value(settings_of(without(found, "similarity"))) == 32.18
    assert paper_value(settings_of(without(found, "lam"))) is None, "one of two variants"


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
def test_a_row_that_the_paper_did_not_measure_has_no_value(changes: dict[str, Any]) -> None:
    assert value(**changes) is None


def test_the_column_is_shown_where_there_is_a_value() -> None:
    assert "paper" in make_table([record("scale", dataset="cifar10")]).columns
    assert "paper" not in make_table([record("scale")]).columns
