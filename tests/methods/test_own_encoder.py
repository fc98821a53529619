"""Learners with a module that the user brings."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from scale._errors import InputError, ScaleError
from scale.methods import load

from .learners import differences, fit, global_random_state, images, make, state


def own(*layers: nn.Module, seed: int = 0) -> nn.Sequential:
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return nn.Sequential(nn.AvgPool2d(4), nn.Flatten(), nn.Linear(49, 20), *layers)


def test_it_is_learned_with_but_the_callers_stays_as_it_was():
    module = own(nn.BatchNorm1d(20))
    before = {name: tensor.clone() for name, tensor in module.state_dict().items()}
    learner = make("scale", encoder=module)
    first = learner.transform(images())
    assert first.shape == (12, 20)
    assert not np.array_equal(fit(learner).transform(images()), first)
    assert differences(before, module.state_dict()) == []
    assert learner.encoder is module


def test_its_weights_are_the_starting_point():
    module = own()
    learner = make("scale", encoder=module, augmentation="none")
    pixels = (torch.from_numpy(images()).float() / 255 - 0.5) / 0.25
    with torch.no_grad():
        expected = module(pixels).numpy()
    np.testing.assert_allclose(learner.transform(images()), expected, rtol=1e-5, atol=1e-6)


def test_a_wrong_dimension_is_refused():
    module = own()
    module.output_dim = 7
    with pytest.raises(InputError, match="output_dim"):
        make("scale", encoder=module).partial_fit(images())


def test_its_file_is_loaded_with_the_module_given_again(tmp_path):
    whole = fit(make("scale", encoder=own(nn.BatchNorm1d(20))), last=3)
    whole.save(tmp_path / "learner")
    resumed = load(tmp_path / "learner", encoder=own(nn.BatchNorm1d(20), seed=1))
    for learner in (whole, resumed):
        fit(learner, 3, 5)
    assert differences(state(whole), state(resumed)) == []


def test_its_file_without_the_module_says_what_to_do(tmp_path):
    fit(make("scale", encoder=own()), last=1).save(tmp_path / "learner")
    with pytest.raises(InputError, match=r"encoder of your own \(Sequential\).*encoder=\.\.\."):
        load(tmp_path / "learner")


def test_its_file_with_another_module_is_refused(tmp_path):
    fit(make("scale", encoder=own()), last=1).save(tmp_path / "learner")
    with pytest.raises(ScaleError, match="does not fit"):
        load(tmp_path / "learner", encoder=own(nn.Linear(20, 20)))


def test_shared_weights_are_saved_and_stay_shared(tmp_path):
    twice = nn.Linear(20, 20)
    whole = fit(make("scale", encoder=own(twice, nn.ReLU(), twice)), last=2)
    whole.save(tmp_path / "learner")
    again = nn.Linear(20, 20)
    resumed = load(tmp_path / "learner", encoder=own(again, nn.ReLU(), again))
    for learner in (whole, resumed):
        fit(learner, 2, 4)
    np.testing.assert_array_equal(whole.transform(images()), resumed.transform(images()))


def test_dropout_draws_from_the_learners_own_generators():
    module = own(nn.Dropout(0.5))
    before = global_random_state()
    first = fit(make("scale", encoder=module), last=2)
    assert global_random_state() == before
    torch.rand(5)
    again = fit(make("scale", encoder=module), last=2)
    assert differences(state(first), state(again)) == []


def test_frozen_weights_stay_frozen():
    module = own(nn.Linear(20, 20))
    module[2].requires_grad_(False)
    learner = fit(make("scale", encoder=module), last=2)
    assert torch.equal(learner.encoder_[2].weight, module[2].weight)
    assert not torch.equal(learner.encoder_[3].weight, module[3].weight)


def test_an_encoder_that_fails_in_transform_goes_on_training_afterwards():
    class Fails(nn.Sequential):
        broken = False

        def forward(self, input):
            if self.broken:
                raise MemoryError
            return super().forward(input)

    learner = fit(make("scale", encoder=Fails(*own(nn.BatchNorm1d(20)))), last=1)
    learner.encoder_.broken = True
    with pytest.raises(MemoryError):
        learner.transform(images())
    learner.encoder_.broken = False
    assert learner.encoder_.training
