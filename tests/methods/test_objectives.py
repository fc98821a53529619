"""The objectives of `er`."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from scale._errors import UnknownNameError
from scale.losses import contrastive_loss, dot_products, stream_and_memory_twins
from scale.methods import METHODS, load
from scale.methods.objectives import OBJECTIVES
from scale.report import method_facts
from scale.testing import LEARNER_CHECKS

from .learners import differences, fit, images, make, small_params, state

QUEUE = {"queue": 50}
OWN = [check for check in LEARNER_CHECKS if check.__name__[6:] in ("batches", "seeds", "threads")]
"""Checks of what an objective can break; others are of `er` and `Learner`."""
OTHERS = sorted(set(OBJECTIVES) - {"ntxent"})


def test_the_default_is_nt_xent():
    learner = fit(make("er"))
    stream, memory = learner.draw_views(torch.from_numpy(images(5))), learner.replay_views()
    z = learner.project(torch.cat([stream, memory]))
    positives = stream_and_memory_twins(5, len(memory) // 2)
    expected = contrastive_loss(dot_products(z), positives, learner.tau)
    assert learner.losses(stream, memory)["loss"].item() == pytest.approx(expected.item())


@pytest.mark.parametrize("objective", OTHERS)
def test_a_saved_learner_goes_on_exactly(objective, tmp_path):
    whole = fit(make("er", objective=objective, **QUEUE), last=3)
    whole.save(tmp_path / "learner")
    loaded = load(tmp_path / "learner")
    for learner in (whole, loaded):
        fit(learner, 3, 5)
    assert differences(state(whole), state(loaded)) == []
    np.testing.assert_array_equal(whole.transform(images()), loaded.transform(images()))


@pytest.mark.parametrize("objective", OTHERS)
def test_an_update_changes_encoder_and_heads_and_tells_its_losses(objective):
    learner = make("er", objective=objective, **QUEUE)
    learner.start((1, 28, 28))
    before = {name: one.clone() for name, one in state(learner).items()}
    fit(learner, last=2)
    changed = {name.split(".")[0] for name in differences(before, state(learner))}
    assert {"encoder", "projector"} <= changed
    assert ("heads" in changed) == bool(learner.heads_)
    assert ("slow" in changed) == (objective in ("byol", "moco"))
    assert np.isfinite(list(learner.diagnostics_.values())).all()


def test_a_slow_copy_follows_by_its_momentum():
    learner = fit(make("er", objective="byol", ema=0.0), last=1)
    slow, now = learner.objective_.slow[0], learner.encoder_
    assert all(map(torch.equal, slow.parameters(), now.parameters()))


def test_an_unknown_objective_is_refused_before_any_image():
    with pytest.raises(
        UnknownNameError, match="no objective is called 'ntxnt'; did you mean 'ntxent'"
    ):
        make("er", objective="ntxnt").check_params()


def test_the_help_names_every_objective():
    told = {one["name"]: one["help"] for one in method_facts("er")["parameters"]}
    assert all(name in told["objective"] for name in OBJECTIVES)


@pytest.mark.slow
@pytest.mark.parametrize("check", OWN, ids=lambda check: check.__name__)
@pytest.mark.parametrize("objective", OTHERS)
def test_er_keeps_the_contract_with_every_objective(objective, check):
    check(METHODS["er"], **{**small_params("er"), "objective": objective, **QUEUE})
