"""PNN: when columns grow, what stays, what learns, and what is saved."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from scale._errors import DamagedFileError, InputError, NonFiniteLossError
from scale.methods import PNN, load

from .learners import differences, fit, images, make, state


def own(seed: int = 0) -> nn.Sequential:
    """A module as a user would bring it, with BatchNorm and dropout."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return nn.Sequential(
            nn.AvgPool2d(4), nn.Flatten(), nn.Linear(49, 20), nn.BatchNorm1d(20), nn.Dropout(0.1)
        )


def column(learner: PNN, index: int) -> dict[str, Tensor]:
    """A copy of one column's state, running statistics included."""
    found = learner.columns_.columns[index].state_dict()
    return {name: tensor.clone() for name, tensor in found.items()}


def grown(learner: PNN) -> int:
    return len(learner.columns_.columns)


def test_columns_grow_at_the_stated_batches_and_stop_at_the_limit():
    learner = make("pnn", column_every=2, max_columns=3)
    counts = []
    for batch in range(8):
        fit(learner, batch, batch + 1)
        counts.append(grown(learner))
        assert learner.diagnostics_["columns"] == counts[-1]
    assert counts == [1, 1, 2, 2, 3, 3, 3, 3]


@pytest.mark.parametrize("encoder", ["cnn", own()])
def test_older_columns_do_not_move_while_the_newest_does(encoder):
    learner = fit(make("pnn", encoder=encoder, column_every=2, max_columns=3), last=2)
    first = column(learner, 0)
    fit(learner, 2, 4).transform(images())
    second = column(learner, 1)
    fit(learner, 4, 6).transform(images())
    third = column(learner, 2)
    fit(learner, 6, 7)
    assert differences(first, column(learner, 0)) == []
    assert differences(second, column(learner, 1)) == []
    moved = set(differences(third, column(learner, 2)))
    assert {name for name in third if not name.endswith("num_batches_tracked")} <= moved


def test_with_fewer_batches_than_a_column_takes_it_equals_simclr():
    pnn, simclr = fit(make("pnn", column_every=4)), fit(make("simclr"))
    mine = state(pnn)
    for name, tensor in state(simclr).items():
        tensor_here = mine[name.replace("encoder.", "encoder.columns.0.encoder.")]
        assert torch.equal(tensor_here, tensor), name
    np.testing.assert_array_equal(pnn.transform(images()), simclr.transform(images()))


def test_one_column_at_most_equals_simclr():
    pnn, simclr = fit(make("pnn", column_every=1, max_columns=1)), fit(make("simclr"))
    np.testing.assert_array_equal(pnn.transform(images()), simclr.transform(images()))


@pytest.mark.parametrize("encoder", ["cnn", own()])
def test_the_optimiser_starts_anew_with_the_newest_column_and_its_projector(encoder):
    learner = fit(make("pnn", encoder=encoder, column_every=2), last=2)
    projector = learner.projector_
    learner.grow()
    (group,) = learner.optimizer_.param_groups
    expected = [*learner.columns_.columns[1].parameters(), *learner.projector_.parameters()]
    assert [id(p) for p in group["params"]] == [id(p) for p in expected]
    assert len(learner.optimizer_.state) == 0
    assert learner.projector_ is not projector
    fit(learner, 2, 3)
    assert {id(p) for p in learner.optimizer_.state} == {id(p) for p in expected}
    assert (group["lr"], group["momentum"], group["weight_decay"]) == (0.03, 0.9, 1e-4)


def test_a_new_column_starts_from_fresh_weights():
    learner = make("pnn", column_every=2)
    learner.start((1, 28, 28))
    first = learner.columns_.columns[0].encoder.layers[0][0].weight.clone()
    fit(learner, last=2)
    learner.grow()
    old, new = (c.encoder.layers[0][0].weight for c in learner.columns_.columns)
    assert not torch.equal(new, first)
    assert not torch.equal(new, old)
    assert 0.8 < new.std() / first.std() < 1.25


def test_a_new_column_of_the_users_module_starts_from_the_weights_it_came_with():
    module = own()
    given = {name: tensor.clone() for name, tensor in module.state_dict().items()}
    learner = fit(make("pnn", encoder=module, column_every=2), last=2)
    nn.init.zeros_(module[2].weight)  # of no concern to the learner any more
    learner.grow()
    assert differences(given, learner.columns_.columns[1].encoder.state_dict()) == []


@pytest.mark.parametrize("encoder", ["cnn", "resnet18", own()])
def test_features_right_after_growth_are_finite_and_as_many(encoder):
    learner = fit(make("pnn", encoder=encoder), last=1)
    before = learner.transform(images(5))
    learner.grow()
    after = learner.transform(images(5))
    assert np.isfinite(after).all()
    assert after.shape == before.shape
    assert not np.array_equal(after, before)


@pytest.mark.parametrize("stop", [1, 2, 3, 5])
@pytest.mark.parametrize("brings", [False, True])
def test_saving_loading_and_going_on_across_a_growth_equals_not_stopping(stop, brings, tmp_path):
    params = {"encoder": own()} if brings else {}
    whole = fit(make("pnn", column_every=2, max_columns=3, **params), last=stop)
    whole.save(tmp_path / "learner")
    resumed = load(tmp_path / "learner", encoder=own(seed=1) if brings else None)
    assert differences(state(whole), state(resumed)) == []
    for learner in (whole, resumed):
        fit(learner, stop, 6)
    assert differences(state(whole), state(resumed)) == []
    assert grown(resumed) == 3
    np.testing.assert_array_equal(whole.transform(images()), resumed.transform(images()))


def test_an_earlier_state_can_be_gone_back_to():
    learner = fit(make("pnn", column_every=1), last=2)
    early = state(learner)
    first = fit(learner, 2, 4).transform(images())
    learner.load_state_dict(early)
    assert grown(learner) == 2
    assert differences(early, state(learner)) == []
    np.testing.assert_array_equal(fit(learner, 2, 4).transform(images()), first)


def test_a_state_carries_all_randomness_whatever_the_seed_of_the_learner():
    whole = fit(make("pnn", column_every=2), last=3)
    other = make("pnn", column_every=2, seed=9)
    other.start((1, 28, 28))
    other.load_state_dict(state(whole))
    for learner in (whole, other):
        fit(learner, 3, 6)
    assert differences(state(whole), state(other)) == []


@pytest.mark.parametrize("columns", [0, 6, 10**9])
def test_a_state_with_more_columns_than_allowed_is_refused(columns):
    learner = fit(make("pnn"), last=1)
    altered = {**state(learner), "columns.value": torch.tensor(columns)}
    with pytest.raises(DamagedFileError, match=f"{columns} columns, but max_columns is 5"):
        learner.load_state_dict(altered)


def test_a_batch_that_failed_and_comes_again_grows_one_column():
    learner = fit(make("pnn", column_every=2), last=2)
    learner.lr, learner.steps_per_batch = 1e30, 10
    for _ in range(2):
        with pytest.raises(NonFiniteLossError):
            fit(learner, 2, 3)
        assert grown(learner) == 2


def test_the_state_stops_growing_at_the_limit():
    learner = make("pnn", column_every=1, max_columns=2, steps_per_batch=1)
    sizes = []
    for batch in range(5):
        fit(learner, batch, batch + 1)
        sizes.append(sum(t.numel() for t in learner.state_dict().values()))
    assert sizes[0] < sizes[1] == sizes[4]


@pytest.mark.parametrize("name", ["column_every", "max_columns"])
def test_counts_below_one_are_refused(name):
    with pytest.raises(InputError, match=f"{name} must be 1 or more, got 0"):
        make("pnn", **{name: 0}).partial_fit(images())


def test_it_says_what_it_keeps():
    assert make("pnn", max_columns=3).costs().memory == "up to 3 columns of weights"
