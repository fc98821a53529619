from __future__ import annotations

import copy

import numpy as np
import pytest
import torch

from scale._errors import InputError
from scale.methods import load

from .learners import differences, fit, images, make, state


def learned(learner) -> dict[str, torch.Tensor]:
    """Weights, momenta and the generator of the views."""
    return {k: v for k, v in state(learner).items() if not k.startswith("memory")}


def pixels(batch: torch.Tensor) -> torch.Tensor:
    """What the encoder gets without augmentation: each image twice."""
    return (batch.repeat(2, 1, 1, 1).float() / 255 - 0.5) / 0.25


@pytest.mark.parametrize("option", [{"alpha": 0.0}, {"memory_size": 0}, {"memory_batch": 0}])
def test_without_a_penalty_it_equals_simclr(option):
    der, simclr = fit(make("der", **option)), fit(make("simclr"))
    assert differences(learned(der), learned(simclr)) == []
    assert "penalty" not in der.diagnostics_
    assert differences(learned(fit(make("der"))), learned(simclr)) != []


def test_stored_outputs_are_those_of_the_first_view_in_training_mode():
    learner = make("der", augmentation="none", steps_per_batch=1, memory_policy="fifo")
    learner.start((1, 28, 28))
    encoder = copy.deepcopy(learner.encoder_).train()
    learner.partial_fit(images())
    with torch.no_grad():
        expected = encoder(pixels(torch.from_numpy(images())))[:12]
    torch.testing.assert_close(learner.memory_.columns["outputs"], expected)


def test_stored_outputs_follow_their_images_through_the_reservoir(tmp_path):
    learner, outputs = make("der", memory_size=30), []
    for batch in range(10):
        fit(learner, batch, batch + 1)
        outputs.append(learner.features_[:12])
        if batch == 5:
            learner.save(tmp_path / "learner")
            learner = load(tmp_path / "learner")
    memory = learner.memory_
    everything = np.concatenate([images(seed=batch) for batch in range(10)])
    assert len(memory) == len(memory.columns["outputs"]) == 30
    assert memory.arrivals.max() > 30
    np.testing.assert_array_equal(memory.images, everything[memory.arrivals])
    assert torch.equal(memory.columns["outputs"], torch.cat(outputs)[memory.arrivals])


def test_the_penalty_is_the_mean_square_between_todays_and_stored_outputs():
    options = {"augmentation": "none", "steps_per_batch": 1, "alpha": 0.3}
    learner = fit(make("der", memory_size=40, memory_batch=7, **options), last=2)
    encoder = copy.deepcopy(learner.encoder_).train()
    learner.partial_fit(images(seed=7))  # 36 images fit in: none leaves its place
    replayed = learner.replayed_
    assert len(replayed) == 7
    with torch.no_grad():
        today = encoder(pixels(learner.memory_.images[replayed])).double().numpy()
    stored = learner.memory_.columns["outputs"][replayed].double().numpy()
    squares = [
        (today[view, j] - stored[view % 7, j]) ** 2
        for view in range(14)
        for j in range(stored.shape[1])
    ]
    got = learner.diagnostics_
    assert got["penalty"] == pytest.approx(sum(squares) / len(squares), rel=1e-4)
    assert got["loss"] == pytest.approx(got["contrastive"] + 0.3 * got["penalty"], rel=1e-6)


def test_a_heavier_penalty_keeps_the_features_of_memory_nearer_to_the_stored_ones():
    options = {"augmentation": "none", "memory_policy": "fifo", "memory_size": 12}
    drift = {}
    for alpha in (1e-6, 30.0):
        learner = fit(make("der", alpha=alpha, steps_per_batch=8, **options), last=1)
        drift[alpha] = fit(learner, 1, 2).diagnostics_["penalty"]
    assert drift[30.0] < drift[1e-6]


def test_its_costs_name_the_stored_features():
    learner = make("der", memory_size=40, memory_batch=16, steps_per_batch=2)
    assert learner.costs().memory == "40 images + their features"
    learner.start((1, 28, 28))
    assert learner.costs().memory == "40 images + 128 features each"
    assert learner.costs().replayed_views == 2 * 16 * 2


def test_a_negative_alpha_is_refused():
    with pytest.raises(InputError, match="alpha must be 0 or more"):
        make("der", alpha=-0.1).partial_fit(images())
