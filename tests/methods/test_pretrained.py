"""Learners that start from pretrained weights."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from scale._errors import DamagedFileError, InputError
from scale._tensors import read_tensors, write_tensors
from scale.evaluate import guard
from scale.methods import load
from scale.models import ENCODERS, default_rng
from scale.models.resnet import ResNet18

from .learners import differences, images, make, state

SMALL = {"steps_per_batch": 1, "memory_batch": 4, "encoder_side": 32}


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    """Weights of a small network."""
    return write_weights(tmp_path, ENCODERS["cnn"])


@pytest.fixture(scope="module")
def resnet(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A network with stages and its weights."""
    folder = tmp_path_factory.mktemp("weights")
    return f"resnet18@{write_weights(folder, ENCODERS['resnet18'])}"


def write_weights(tmp_path: Path, network: Callable[..., nn.Module]) -> Path:
    with default_rng(torch.Generator().manual_seed(0)):
        save_file(network((3, 32, 32)).state_dict(), tmp_path / "w.safetensors")
    facts = {"mean": [0.4, 0.5, 0.6], "std": [0.2, 0.3, 0.4], "licence": "MIT"}
    (tmp_path / "w.json").write_text(json.dumps(facts))
    return tmp_path / "w.safetensors"


def er(weights: Path, **params: object):
    return make("er", encoder=f"cnn@{weights}", **{**SMALL, **params})


def test_features_are_those_of_the_network_with_its_own_normalisation(resnet):
    with default_rng(torch.Generator().manual_seed(0)):
        network = ResNet18(3).eval()
    camera = images()  # grey, 28 x 28
    learner = make("er", encoder=resnet, **{**SMALL, "encoder_side": 28})
    pixels = torch.from_numpy(camera).float().expand(-1, 3, -1, -1) / 255
    mean, std = torch.tensor([0.4, 0.5, 0.6]), torch.tensor([0.2, 0.3, 0.4])
    with torch.no_grad():
        expected = network((pixels - mean[:, None, None]) / std[:, None, None]).numpy()
    np.testing.assert_allclose(learner.transform(camera), expected, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("method", ["er", "scale-plus", "random"])
def test_a_saved_learner_goes_on_without_the_file(weights, tmp_path, method):
    params = {} if method == "random" else SMALL
    whole = make(method, encoder=f"cnn@{weights}", **params)
    whole.partial_fit(images(20))
    whole.save(tmp_path / "learner")
    weights.unlink()
    loaded = load(tmp_path / "learner")
    assert loaded.weights_ == whole.weights_
    assert loaded.weights_.licence == "MIT"
    assert torch.equal(loaded.pixel_mean_, whole.pixel_mean_)
    for learner in (whole, loaded):
        learner.partial_fit(images(20, seed=1))
    assert differences(state(whole), state(loaded)) == []
    np.testing.assert_array_equal(whole.transform(images()), loaded.transform(images()))


def test_a_thread_reads_without_the_file(weights):
    learner = er(weights).partial_fit(images())
    weights.unlink()
    found = []
    thread = threading.Thread(target=lambda: found.append(learner.transform(images())))
    thread.start()
    thread.join()
    np.testing.assert_array_equal(found[0], learner.transform(images()))


def test_the_guard_compares_with_the_pretrained_start(weights):
    learner = er(weights, lr=0.0, memory_size=60).partial_fit(images(60))
    assert guard(learner) is not None
    start = learner.encode_by_start(images())
    np.testing.assert_allclose(start, er(weights).transform(images()), rtol=1e-5, atol=1e-6)


def test_a_damaged_record_is_refused(weights, tmp_path):
    er(weights).partial_fit(images()).save(tmp_path / "learner")
    tensors, meta = read_tensors(tmp_path / "learner")
    write_tensors(tmp_path / "learner", tensors, {**meta, "weights": {"network": 3}})
    with pytest.raises(DamagedFileError, match="record of weights is damaged"):
        load(tmp_path / "learner")


def test_a_random_start_has_no_features_of_its_own():
    learner = make("er", encoder="cnn").partial_fit(images())
    with pytest.raises(InputError, match="method random"):
        learner.encode_by_start(images())


def test_frozen_is_the_start_of_length_1(weights):
    camera = images()
    start = er(weights, encoder_side=None).transform(camera)
    frozen = make("frozen", encoder=f"cnn@{weights}")
    expected = start / np.linalg.norm(start, axis=1, keepdims=True)
    np.testing.assert_allclose(frozen.transform(camera), expected, rtol=1e-4, atol=1e-5)
    frozen.partial_fit(images(20, seed=1))
    np.testing.assert_allclose(frozen.transform(camera), expected, rtol=1e-4, atol=1e-5)


def test_frozen_with_a_readout_goes_on_exactly(weights, tmp_path):
    whole = make("frozen", encoder=f"cnn@{weights}", readout=True, encoder_side=32)
    whole.partial_fit(images(30))
    whole.save(tmp_path / "learner")
    weights.unlink()
    loaded = load(tmp_path / "learner")
    for learner in (whole, loaded):
        learner.partial_fit(images(30, seed=1))
    np.testing.assert_array_equal(whole.transform(images()), loaded.transform(images()))
    assert differences(state(whole), state(loaded)) == []


def plus(resnet: str, **params: object):
    return make("scale-plus", encoder=resnet, **{**SMALL, **params})


def test_only_the_last_stages_learn_and_statistics_stay(resnet):
    learner = plus(resnet)
    learner.start((1, 28, 28))
    before = {name: one.clone() for name, one in learner.encoder_.state_dict().items()}
    for seed in range(2):
        learner.partial_fit(images(20, seed=seed))
    changed = differences(before, learner.encoder_.state_dict())
    assert changed
    assert all(name.startswith("layer4.") and "running" not in name for name in changed)
    assert learner.optimizer_.param_groups[0]["lr"] == pytest.approx(0.1 * learner.lr)


def test_the_first_embeddings_are_the_starts(resnet):
    camera = images()
    z = plus(resnet, encoder_side=None).transform(camera)
    start = make("frozen", encoder=resnet).transform(camera)
    np.testing.assert_allclose(z[:, :512], start, rtol=1e-4, atol=1e-5)
    assert not z[:, 512:].any()


def test_what_it_says_is_what_it_looked_at(resnet):
    told = plus(resnet).partial_fit(images(40)).diagnostics_
    assert told["held_back"] == float(told["retrieval"] < told["start_retrieval"])


def test_a_learner_that_holds_back_embeds_with_its_start(resnet):
    learner = plus(resnet).partial_fit(images(40))
    learner.trust_[0] = 0.0
    start = learner.encode_by_start(images())
    block = learner.transform(images())[:, :512]
    cosines = (block * start).sum(1) / np.linalg.norm(block, axis=1) / np.linalg.norm(start, axis=1)
    np.testing.assert_allclose(cosines, 1, atol=1e-4)


def test_without_patches_there_is_no_such_block(resnet):
    assert plus(resnet, clusters=0).partial_fit(images(20)).transform(images()).shape == (12, 768)


@pytest.mark.parametrize("start", ["resnet18", "pretrained"])
def test_a_first_embedding_multiplies_at_most_three_times_as_much_as_the_encoder(start, resnet):
    """Whatever the size of memory: the read-out is kept up to date while learning."""
    encoder = resnet if start == "pretrained" else start
    learner = plus(encoder, clusters=400, memory_size=64, memory_batch=1)
    learner.partial_fit(images(64)).partial_fit(images(2))
    if start == "pretrained":
        learner.trust_[:] = 1.0
    asked = images(16, seed=1)
    products = []
    for embed in (learner.transform, learner.encode):
        with FlopCounterMode(display=False) as count:
            embed(asked)
        products.append(count.get_total_flops())
    assert 0 < products[0] <= 3 * products[1]


def trained_module() -> nn.Module:
    """A module of the user whose BatchNorm has seen images."""
    network = nn.Sequential(
        nn.Conv2d(1, 4, 3, stride=4), nn.BatchNorm2d(4), nn.Flatten(), nn.Linear(196, 20)
    )
    network(torch.rand(8, 1, 28, 28))
    return network


def test_a_trained_module_of_the_user_is_a_pretrained_start(tmp_path):
    module = trained_module()
    statistics = module[1].running_mean.clone()
    learner = make("scale-plus", encoder=module).partial_fit(images(40))
    assert learner.pretrained_
    assert "held_back" in learner.diagnostics_
    assert torch.equal(learner.encoder_[1].running_mean, statistics)
    learner.save(tmp_path / "learner")
    loaded = load(tmp_path / "learner", encoder=trained_module())
    np.testing.assert_array_equal(learner.transform(images()), loaded.transform(images()))


def test_a_module_may_say_that_it_was_not_trained():
    module = trained_module()
    module.pretrained = False
    assert "held_back" not in make("scale-plus", encoder=module).partial_fit(images()).diagnostics_
