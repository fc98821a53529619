"""Coherence: the losses, the attention, what it learns from and what it declines."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from scale.losses.coherence import spatial_coherence, spatial_contrast, temporal_coherence
from scale.methods import METHODS
from scale.methods.video.attention import Attention
from scale.methods.video.motion import blurred_grey, correlation, slide

from .learners import differences, images, learn, make, state


def small(**params):
    given = {"width": 4, "dim": 4, "edges": 200, "lr": 0.05, "cut": 0.5, **params}
    return METHODS["coherence"](**given)


def video(n: int = 12, start: int = 0) -> np.ndarray:
    """A bright square that moves to the right over a dim pattern, n x 1 x 24 x 24."""
    ground = np.random.default_rng(0).integers(0, 60, (24, 24), dtype=np.uint8)
    frames = np.repeat(ground[None], n, axis=0)
    for t in range(n):
        left = 6 + (start + t) % 10
        frames[t, 8:16, left : left + 6] = 220
    return frames[:, None]


def rows(n: int, seed: int, unit: bool) -> torch.Tensor:
    z = torch.randn(n, 3, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return torch.nn.functional.normalize(z, dim=1) if unit else z


def test_the_losses_are_means_over_pairs():
    for unit in (False, True):
        a, b = rows(5, 0, unit), rows(4, 1, unit)
        pairs = [(i, j) for i in range(5) for j in range(i)]
        gaps = [float((a[i] - a[j]).square().sum()) for i, j in pairs]
        cosines = [float(a[i] @ a[j]) for i, j in pairs]
        expected = 1 - np.mean(cosines) if unit else np.mean(gaps)
        assert float(spatial_coherence(a, unit=unit)) == pytest.approx(expected)
        gaps = [float((x - y).square().sum()) for x in a for y in b]
        cosines = [float(x @ y) for x in a for y in b]
        expected = 1 + np.mean(cosines) if unit else 1 / np.mean(gaps)
        assert float(spatial_contrast(a, b, unit=unit)) == pytest.approx(expected, rel=1e-6)
        gap = float((a[0] - b[0]).square().sum())
        expected = 1 - float(a[0] @ b[0]) if unit else gap
        assert float(temporal_coherence(a[0], b[0], unit=unit)) == pytest.approx(expected)


def test_equal_features_cost_nothing_and_unit_losses_are_between_0_and_2():
    same = torch.ones(6, 3) / 3**0.5
    assert spatial_coherence(same, unit=False).item() == pytest.approx(0, abs=1e-6)
    assert spatial_coherence(same, unit=True).item() == pytest.approx(0, abs=1e-6)
    assert spatial_coherence(same[:1], unit=True).item() == 0
    for seed in range(5):
        a, b = rows(5, seed, True), rows(5, seed + 9, True)
        for loss in (
            spatial_coherence(a, unit=True),
            spatial_contrast(a, b, unit=True),
            temporal_coherence(a[0], b[0], unit=True),
        ):
            assert 0 <= float(loss) <= 2


def test_nodes_lie_inside_and_outside_of_what_moves():
    learner = small(edges=100)
    learner.start((1, 24, 24))
    moving = torch.zeros(24, 24, dtype=torch.bool)
    moving[5:12, 6:14] = True
    inside, outside = learner.nodes(moving, (7, 8))
    flat = moving.flatten()
    assert flat[inside].all()
    assert inside[0] == 7 * 24 + 8
    assert len(set(inside.tolist())) == len(inside)
    assert len(inside) * (len(inside) - 1) / 2 <= 100
    assert len(outside) > 0
    assert not flat[outside].any()


def test_a_static_video_changes_nothing():
    learner = small()
    learner.start((1, 24, 24))
    before = state(learner)
    learn(learner, np.repeat(video(1), 8, axis=0))
    changed = differences(before, state(learner))
    assert not any(name.startswith(("net", "optimizer")) for name in changed)
    assert learner.diagnostics_ == {"cuts": 1, "still": 7, "learned": 0}


def test_it_learns_from_motion_and_the_spatial_loss_falls():
    learner = small(contrast=0.0, temporal=0.0, spatial=1.0)
    learn(learner, video(20))
    assert learner.diagnostics_["learned"] > 5
    assert learner.diagnostics_["spatial"] < 1
    first, later = (learner.diagnostics_["spatial"], learn(learner, video(20)).diagnostics_)
    assert later["spatial"] < first


def test_a_step_makes_the_moving_pixels_of_a_frame_more_alike():
    learner = small(contrast=0.0, temporal=0.0, spatial=1.0, edges=2000)
    learner.start((1, 24, 24))
    frame = torch.from_numpy(video(1)[0]).float() / 255
    moving = torch.zeros(24, 24, dtype=torch.bool)
    moving[6:14, 4:10] = True  # all pairs of them are compared
    losses = [learner._update(frame, moving, (8, 6))["spatial"].item() for _ in range(5)]
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < losses[0]


def test_frames_one_by_one_equal_frames_in_batches():
    whole, single = learn(small(), video(12)), small()
    for frame in video(12):
        learn(single, frame[None])
    assert differences(state(whole), state(single)) == ["step"]  # it counts batches
    assert differences(state(small().partial_fit(video(1))), state(whole))


def test_unrelated_stills_leave_the_start_and_a_warning_says_why():
    learner = METHODS["coherence"](width=4, dim=4)
    untrained = learner.transform(images())
    with pytest.warns(UserWarning, match="have next to nothing in common with the one before"):
        learn(learner, images())
    assert learner.diagnostics_ == {"cuts": 12, "still": 0, "learned": 0}
    assert np.array_equal(learner.transform(images()), untrained)


def test_synthetic_motion_learns_from_stills():
    learner = learn(make("coherence"), images())
    assert learner.diagnostics_["learned"] == 12


def test_a_sliding_patch_moves_one_pixel_and_its_place_is_known():
    image = torch.from_numpy(images(1)[0]).float() / 255
    frames = slide(image, 4, torch.Generator().manual_seed(0))
    places = [centre for _, _, centre in frames]
    for (frame, moving, centre), last in zip(frames[1:], places, strict=False):
        assert (centre - last).abs().max() <= 1
        assert moving[tuple(centre.tolist())]
        assert torch.equal(frame[:, ~moving], image[:, ~moving])


def test_transform_does_not_touch_the_attention():
    asked, plain = learn(small(), video(6)), learn(small(), video(6))
    asked.transform(images(5, shape=(1, 24, 24)))
    learn(asked, video(6, start=6))
    learn(plain, video(6, start=6))
    assert differences(state(asked), state(plain)) == []


def test_attention_stays_inside_and_follows_motion():
    attention = Attention(24, 30, details=0.0, motion=1.0, friction=0.5)
    motion = torch.zeros(24, 30)
    motion[20:24, 26:30] = 1
    for _ in range(60):
        attention.move(torch.zeros(24, 30), motion)
        row, column = attention.pixel()
        assert 5 <= row <= 18
        assert 5 <= column <= 24
    assert (row, column) == (18, 24)


def test_correlation_of_frames():
    a, b = (blurred_grey(torch.from_numpy(images(1, seed)).float())[0] for seed in (0, 1))
    assert correlation(a, a) == 1
    assert correlation(a, torch.zeros_like(a)) == 0
    assert correlation(a, b) == pytest.approx(np.corrcoef(a.flatten(), b.flatten())[0, 1], abs=1e-4)
