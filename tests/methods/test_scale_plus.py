"""scale-plus: an encoder that learns as er does, patches beside it, and one read-out of both."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import scipy.linalg
import torch
from torch import nn

import scale
from scale._errors import InputError, NonFiniteLossError
from scale.augment import resize
from scale.methods import ER, ScalePlus
from scale.methods.core.pixels import PIXEL_MEAN, PIXEL_STD
from scale.methods.readout.whitening import contrast_whitening

from .learners import differences, fit, images, learn, make, state

OWN = (
    "dictionary",
    "patch_rng",
    "readout",
    "slow",
    "witness",
)  # parts of the state that er does not have


def turn_slowly(
    sample: np.ndarray, views: list[np.ndarray], rows: np.ndarray, keep: int, ridge: float
) -> np.ndarray:
    """Rows of unit length along what tells images apart, one direction after the other."""
    images = np.cov(sample.T, bias=True)
    noise = sum(sum(np.outer(v, v) for v in view - sample) for view in views) / (
        len(views) * len(sample)
    )
    noise = noise + ridge * np.trace(images) / len(images) * np.eye(len(images))
    lams, directions = scipy.linalg.eigh(images, noise)
    columns = [
        (rows - sample.mean(0))
        @ directions[:, i]
        / np.sqrt(lams[i])
        * (lams[i] / (1 + lams[i])) ** 2
        for i in np.argsort(lams)[::-1][:keep]
        if lams[i] > 1e-6
    ]
    features = np.stack(columns, 1)
    return features / np.linalg.norm(features, axis=1, keepdims=True)


def similarities(features: np.ndarray) -> np.ndarray:
    """Dot products: they tell all that distances do, whatever the signs and order of directions."""
    return features @ features.T


def test_the_encoder_learns_exactly_as_in_er():
    ours, er = fit(make("scale-plus")), fit(make("er"))
    assert isinstance(er, ER)
    mine = {name: t for name, t in state(ours).items() if not name.startswith(OWN)}
    assert differences(mine, state(er)) == []


@pytest.mark.parametrize("views", [1, 2])
def test_features_are_roots_turned_to_what_tells_images_from_views(views):
    learner = fit(
        make("scale-plus", patch_weight=2.0, ridge=0.5, readout_views=views, time_weight=0)
    )
    assert isinstance(learner, ScalePlus)
    assert learner.dictionary_ is not None
    held, new = learner.memory_.images, torch.from_numpy(images(7, seed=9))
    er = make("er")
    er.start((1, 28, 28))
    er.encoder_.load_state_dict(learner.encoder_.state_dict())

    def of_encoder(pixels: torch.Tensor) -> np.ndarray:
        er.encoder_.eval()
        with torch.no_grad():
            h = er.encoder_((pixels - PIXEL_MEAN) / PIXEL_STD)
        return np.sqrt(h.numpy()).astype(np.float64)

    def of_patches(pixels: torch.Tensor) -> np.ndarray:
        return np.sqrt(learner.dictionary_.activations(pixels).numpy()).astype(float)

    def turned(name: str, features: Callable[[torch.Tensor], np.ndarray]) -> np.ndarray:
        rows = learner.readout_.get_buffer(f"{name}_features").double().numpy()
        order = learner.readout_.arrivals.argsort()
        sample = features(held / 255)[learner.memory_.arrivals.argsort()]
        np.testing.assert_allclose(rows[order, 0], sample, atol=1e-5)
        drawn = [rows[:, 1 + view] for view in range(views)]
        return turn_slowly(rows[:, 0], drawn, features(new / 255), 64, 0.5)

    of_both = (turned("patches", of_patches), turned("encoder", of_encoder))
    expected = (4 * similarities(of_both[0]) + similarities(of_both[1])) / 5
    features = learner.transform(new)
    assert features.shape == (7, 128)
    np.testing.assert_allclose(similarities(features), expected, atol=2e-4)


def test_what_views_change_counts_less():
    """Images differ alike in two features, and views in the second alone."""
    generator = torch.Generator().manual_seed(0)
    sample = torch.randn(200, 2, generator=generator)
    view = sample + torch.tensor([0.1, 1.0]) * torch.randn(200, 2, generator=generator)
    matrix = contrast_whitening(sample, [view], 1e-6, 2).matrix
    first, second = matrix.norm(dim=1)
    assert first > 3 * second
    plain = contrast_whitening(sample, [], 1e-6, 2).matrix
    first, second = plain.norm(dim=1)
    assert 0.8 < first / second < 1.25


def test_views_that_change_nothing_are_as_none():
    batch = images(6, seed=9)
    one, none = (fit(make("scale-plus", augmentation="none", readout_views=n)) for n in (1, 0))
    np.testing.assert_allclose(
        similarities(one.transform(batch)), similarities(none.transform(batch)), atol=1e-4
    )


def test_images_that_differ_less_than_rounding_are_alike_and_features_stay_as_they_are():
    same = torch.ones(20, 6) + 1e-7 * torch.rand(20, 6, generator=torch.Generator().manual_seed(0))
    views = same + torch.rand(20, 6, generator=torch.Generator().manual_seed(1))
    turn = contrast_whitening(same, [views], 0.2, 3)
    torch.testing.assert_close(turn.matrix, torch.eye(6, 3))
    nothing = contrast_whitening(torch.zeros(20, 6), [torch.zeros(20, 6)], 0.2, 3)
    torch.testing.assert_close(nothing.matrix, torch.eye(6, 3))


def test_without_patches_all_features_are_the_encoders():
    learner = fit(make("scale-plus", clusters=0))
    assert isinstance(learner, ScalePlus)
    assert learner.dictionary_ is None
    assert not any(name.startswith("dictionary") for name in learner.state_dict())
    features = learner.transform(images(5))
    assert features.shape == (5, 128)
    np.testing.assert_allclose(np.linalg.norm(features, axis=1), 1, atol=1e-5)


def test_without_the_root_features_differ():
    batch = images(5, seed=9)
    rooted, plain = (fit(make("scale-plus", root=root)).transform(batch) for root in (True, False))
    assert np.abs(similarities(rooted) - similarities(plain)).max() > 1e-3


@pytest.mark.parametrize("policy", ["reservoir", "psa", "minred"])
def test_asking_for_features_changes_nothing_that_is_learned(policy):
    asked, left_alone = (make("scale-plus", memory_policy=policy) for _ in range(2))
    for seed in range(4):
        learn(asked, images(seed=seed))
        asked.transform(images(3, seed=99))
        learn(left_alone, images(seed=seed))
    assert differences(state(asked), state(left_alone)) == []


def test_a_loaded_learner_gives_the_same_features_bit_for_bit(tmp_path):
    learner = fit(make("scale-plus"))
    before = learner.transform(images(5))
    learner.save(tmp_path / "learner.safetensors")
    loaded = scale.load(tmp_path / "learner.safetensors")
    np.testing.assert_array_equal(loaded.transform(images(5)), before)


def test_before_the_first_batch_features_are_the_start_of_the_encoder():
    start = make("er").transform(images(5))
    np.testing.assert_array_equal(make("scale-plus").transform(images(5)), start)


def test_the_first_batch_may_be_a_single_image_and_images_may_be_small():
    learner = make("scale-plus")
    few = images(4, shape=(3, 8, 8))
    for seed in range(16):
        learn(learner, images(1, shape=(3, 8, 8), seed=seed))
        features = learner.transform(few)
        assert features.shape == (4, 128)
        assert np.isfinite(features).all()
        # Until there are enough images to whiten by, features are the encoder's.
        assert (features == learner.encode(few)).all() == (seed < 15)


def test_a_batch_that_fails_leaves_no_trace_in_the_dictionary():
    learner = fit(make("scale-plus"), last=1)
    assert isinstance(learner, ScalePlus)
    before = {k: v for k, v in state(learner).items() if k.startswith(("dictionary", "patch_rng"))}
    with torch.no_grad():
        next(learner.projector_.parameters()).fill_(torch.nan)
    with pytest.raises(NonFiniteLossError):
        learn(learner, images(seed=1))
    after = {k: v for k, v in state(learner).items() if k in before}
    assert differences(before, after) == []


def test_patches_of_large_images_are_those_of_reduced_ones():
    learner = make("scale-plus")
    large = images(6, shape=(1, 96, 80))
    learn(learner, large)
    assert isinstance(learner, ScalePlus)
    small = resize(torch.from_numpy(large), 32)
    expected = learner.dictionary_.activations(small).sqrt()
    torch.testing.assert_close(learner._patch_features(torch.from_numpy(large)), expected)


def test_the_read_out_takes_as_many_images_of_memory_as_told():
    few, all_ = (make("scale-plus", readout_images=count) for count in (5, 1280))
    fit(few)
    fit(all_)
    learned = (
        {
            name: t
            for name, t in state(one).items()
            if not name.startswith(("readout", "slow", "witness"))
        }
        for one in (few, all_)
    )
    assert differences(*learned) == [], "learning does not depend on it"
    batch = images(4, seed=9)
    assert (
        np.abs(similarities(few.transform(batch)) - similarities(all_.transform(batch))).max()
        > 1e-3
    )
    # With at most 5 images, no more than 4 directions of each half are there.
    assert np.linalg.matrix_rank(few.transform(images(20, seed=9)), tol=1e-4) <= 8


def test_a_camera_that_saw_one_and_the_same_picture_tells_other_pictures_apart():
    learner = make("scale-plus")
    for _ in range(3):
        learn(learner, np.repeat(images(1), 12, axis=0))
    features = learner.transform(images(6, seed=1))
    np.testing.assert_allclose(np.linalg.norm(features, axis=1), 1, atol=1e-5)
    assert np.abs(similarities(features) - 1)[np.triu_indices(6, 1)].min() > 1e-4


def test_embeddings_of_two_moments_can_be_compared():
    """The axes of a new read-out are turned to those of the last one."""
    digits = scale.load_dataset("digits").images
    learner = make("scale-plus", memory_size=300, steps_per_batch=1)
    for batch in scale.batches(digits[:300], batch_size=50):
        before = learner.transform(digits[300:400])
        learner.partial_fit(batch)
    after = learner.transform(digits[300:400])
    assert (before * after).sum(1).mean() > 0.6
    nearest = (after @ before.T).argmax(1)
    assert (nearest == np.arange(100)).mean() > 0.9, "an image is found by its older embedding"


def test_an_encoder_of_ones_own_may_have_features_below_zero():
    own = nn.Sequential(nn.Flatten(), nn.Linear(64, 6))
    own.output_dim = 6
    learner = make("scale-plus", encoder=own)
    learn(learner, images(12, shape=(1, 8, 8)))
    features = learner.transform(images(4, shape=(1, 8, 8)))
    assert features.shape == (4, 6)
    assert np.isfinite(features).all()


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"clusters": -1}, "clusters must be 0 or more"),
        ({"patch_weight": 0.0}, "patch_weight must be above 0"),
        ({"ridge": -1.0}, "ridge must be above 0"),
        ({"readout_images": 0}, "readout_images must be 1 or more"),
        ({"readout_views": -1}, "readout_views must be 0 or more"),
        ({"patch_side": 0}, "patch_side must be 1 or more"),
        ({"memory_size": 15}, "memory_size must be 16 or more, got 15.*method er needs none"),
    ],
)
def test_settings_out_of_range_are_refused(setting, message):
    with pytest.raises(InputError, match=message):
        learn(make("scale-plus", **setting), images())


def test_images_without_room_for_a_patch_are_refused_unless_patches_are_off():
    speck = images(20, shape=(1, 1, 9))
    with pytest.raises(InputError, match="1 x 9 are too small for patches; set clusters=0"):
        learn(make("scale-plus"), speck)
