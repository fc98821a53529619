"""The graph of every method computes what `transform` returns."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from scale._errors import InputError
from scale.augment import AUGMENTATIONS
from scale.export import export_module
from scale.export.layers import Resize
from scale.methods import METHODS, ContrastiveLearner, Learner, ScalePlus
from scale.methods.pixels import Pixels
from scale.models import build_encoder
from tests.methods.learners import fit, images, make

CLOSE = 2e-6


def same(learner: Learner, more: np.ndarray | None = None) -> None:
    shown = images(7) if more is None else more
    wanted = learner.transform(shown)
    found = export_module(learner)(torch.from_numpy(shown)).numpy()
    assert np.abs(found - wanted).max() <= CLOSE * max(1, np.abs(wanted).max())


@pytest.mark.parametrize("name", list(METHODS))
def test_the_graph_is_transform(name: str) -> None:
    same(fit(make(name)))


@pytest.mark.parametrize("name", ["stam", "patches", "scale-plus", "pnn", "randum"])
def test_the_graph_is_transform_early_in_the_stream(name: str) -> None:
    same(fit(make(name), 0, 1))


@pytest.mark.parametrize(
    "params", [{"clusters": 0}, {"root": False}, {"patch_weight": 0.5}, {"readout_views": 0}]
)
def test_every_form_of_scale_plus(params: dict[str, object]) -> None:
    same(fit(make("scale-plus", **params)))


@pytest.mark.slow
@pytest.mark.parametrize(("trust", "count"), [([1.0, 0.5], 24), ([0.0, 0.0], 24), ([1.0, 0.5], 8)])
def test_scale_plus_from_pretrained_weights(trust: list[float], count: int, tmp_path: Path) -> None:
    module = build_encoder("resnet18", (3, 32, 32), torch.Generator().manual_seed(0))[0]
    save_file(dict(module.state_dict()), tmp_path / "weights.safetensors")
    spec = f"resnet18@{tmp_path / 'weights.safetensors'}"
    learner = ScalePlus(
        encoder=spec, encoder_side=32, clusters=8, steps_per_batch=1, memory_batch=8
    )
    shown = np.random.default_rng(0).integers(0, 256, (count, 3, 32, 32), dtype=np.uint8)
    learner.partial_fit(shown)
    learner.trust_.copy_(torch.tensor(trust))
    same(learner, shown[:5])


def test_frozen_through_its_read_out() -> None:
    same(fit(make("frozen", readout=True)))


def test_scale_plus_without_enough_images_gives_the_encoders_features() -> None:
    learner = make("scale-plus").partial_fit(images(5))
    assert len(learner.memory_ or ()) < 16
    same(learner)


def test_patches_that_are_not_normalised() -> None:
    same(fit(make("patches", normalise=False)))


def test_large_images_are_resized_inside_the_graph() -> None:
    rng = np.random.default_rng(0)
    photos = rng.integers(0, 256, (24, 3, 48, 40), dtype=np.uint8)
    resizing = next(name for name in AUGMENTATIONS if AUGMENTATIONS[name].size is not None)
    learner = make("scale-plus", augmentation=resizing).partial_fit(photos)
    same(learner, photos)


@pytest.mark.parametrize("side", [1, 5, 16, 33])
def test_resizing_by_matrices_is_torchs_interpolation(side: int) -> None:
    photos = torch.randint(0, 256, (3, 3, 20, 13), dtype=torch.uint8)
    wanted = nn.functional.interpolate(photos / 255, (side, side), mode="bilinear", antialias=True)
    assert torch.allclose(Resize((3, 20, 13), side)(photos), wanted, atol=1e-6)


def test_an_own_normalisation_of_the_learner_is_used() -> None:
    learner = fit(make("er"))
    before = export_module(learner)(torch.from_numpy(images(4)))
    channels = images(1).shape[1]
    learner.pixel_mean_ = torch.full((1, channels, 1, 1), 0.1)
    after = export_module(learner)(torch.from_numpy(images(4)))
    assert not torch.allclose(before, after)


def test_the_learner_does_not_change() -> None:
    learner = fit(make("scale-plus"))
    before = {name: tensor.clone() for name, tensor in learner.state_dict().items()}
    export_module(learner)
    assert isinstance(learner, ContrastiveLearner)
    assert learner.encoder_.training
    for name, tensor in learner.state_dict().items():
        assert torch.equal(tensor, before[name]), name


def test_a_learner_that_saw_no_image_cannot_be_exported() -> None:
    with pytest.raises(InputError, match="has seen no images"):
        export_module(make("er"))


class Own(Pixels):
    """A method with an embed of its own."""

    def embed(self, batch: Tensor) -> Tensor:
        return super().embed(batch) * 2


class WithHook(Own):
    """The same, with its graph."""

    def export_module(self) -> nn.Module:
        return nn.Sequential(Resize((3, 4, 4), None), nn.Flatten(), Doubled())


class Doubled(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * 2


def test_a_method_of_ones_own_says_what_is_missing_and_may_define_it() -> None:
    shown = np.arange(96, dtype=np.uint8).reshape(2, 3, 4, 4)
    with pytest.raises(InputError, match=r"define export_module\(self\)"):
        export_module(Own().partial_fit(shown))
    same(WithHook().partial_fit(shown), shown)


def test_a_subclass_of_a_known_method_is_exported_like_it() -> None:
    class Mine(ScalePlus):
        """Only its losses would differ."""

    small = make("scale-plus").get_params()
    same(fit(Mine(**small)))
