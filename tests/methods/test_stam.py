"""STAM's memories against its rules, and its clustering against a slow sequential version."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from torch import Tensor

from scale._errors import InputError
from scale.methods import STAM, load
from scale.methods.dictionary.patches import nearest_centroid, patches_of, relative_distances
from scale.methods.dictionary.stam_layer import PER_IMAGE, PatchLayer
from scale.runs import default_parameters

from .learners import images

SMALL = {"receptive_fields": [3, 5], "stride": 2, "delta": 30, "theta": 4, "long_term_size": 25}
SHAPES = {
    "cifar10": (3, 32, 32),
    "cifar100": (3, 32, 32),
    "tinyimagenet10": (3, 64, 64),
    "mnist": (1, 28, 28),
    "digits": (1, 28, 28),
    "digits8": (1, 8, 8),
}


def smooth(n: int, seed: int = 0, side: int = 12) -> np.ndarray:
    """Images with structure: a few blurred patterns, some noise, and a flat corner."""
    rng = np.random.default_rng(seed)
    patterns = np.random.default_rng(99).uniform(0, 200, (4, side // 3, side // 3))
    pixels = patterns[rng.integers(4, size=n)].repeat(3, 1).repeat(3, 2)
    pixels = pixels + rng.uniform(0, 55, pixels.shape)
    pixels[:, -6:, -6:] = 0
    return pixels[:, None].astype(np.uint8)


def make_layer(points: list[list[float]], **params: Any) -> tuple[PatchLayer, torch.Generator]:
    """A layer whose short-term memory was filled with these points, in an order of its own."""
    usual = {"theta": 100, "alpha": 0.1, "percentile": 95.0, "window": 1000, "limit": 50}
    start = torch.tensor(points)
    layer = PatchLayer(start.shape[1], **{**usual, **params, "delta": len(points)})
    generator = torch.Generator().manual_seed(0)
    layer.learn(start[None], generator)
    assert layer.measured > 0
    return layer, generator


def rows(tensor: Tensor) -> set[tuple[float, ...]]:
    return {tuple(round(number, 4) for number in row) for row in tensor.tolist()}


def points(*patches: list[float]) -> Tensor:
    """One image with these patches."""
    return torch.tensor([patches])


class SlowLayer:
    """One layer of STAM as the paper tells it: image by image, centroid by centroid, float64."""

    def __init__(self, layer: PatchLayer) -> None:
        self.delta, self.theta, self.alpha = layer.delta, layer.theta, layer.alpha
        self.quantile, self.window = layer.percentile / 100, len(layer.recent)
        self.stm = [row.astype(np.float64) for row in layer.centroids[: self.delta].numpy()]
        self.counts = [0] * self.delta
        self.last = layer.last.tolist()
        self.ltm: list[np.ndarray] = []
        self.recent = layer.recent[: int(layer.measured)].double().tolist()
        self.now = int(layer.images)

    def learn(self, patches: np.ndarray, drawn: list[int]) -> None:
        threshold = np.quantile(self.recent, self.quantile)
        slots = [i for i in range(self.delta) if self.last[i] >= 0]
        known = np.stack([*(self.stm[i] for i in slots), *self.ltm])
        distances = cdist(patches, known)
        nearest, least = distances.argmin(1), distances.min(1)
        spared = {slots[k] for k in nearest if k < len(slots)}
        chosen: dict[int, int] = {}
        for place in np.flatnonzero(least <= threshold):
            slot = slots[nearest[place]] if nearest[place] < len(slots) else -1
            if slot >= 0 and (slot not in chosen or least[place] < least[chosen[slot]]):
                chosen[slot] = place
        founded: list[np.ndarray] = []
        for place in np.flatnonzero(least > threshold):
            free = [i for i in range(self.delta) if i not in spared]
            if not free:
                break
            if any(np.array_equal(patches[place], other) for other in founded):
                continue
            slot = min(free, key=lambda i: (self.last[i], i))
            founded.append(patches[place])
            self.stm[slot], self.counts[slot], self.last[slot] = patches[place], 1, self.now
            spared.add(slot)
        for slot, place in chosen.items():
            self.stm[slot] = (1 - self.alpha) * self.stm[slot] + self.alpha * patches[place]
            self.counts[slot] += 1
            self.last[slot] = self.now
        self.recent = [*self.recent, *least[drawn]][-self.window :]
        for slot in range(self.delta):
            if self.counts[slot] >= self.theta:
                self.ltm.append(self.stm[slot])
                self.counts[slot], self.last[slot] = 0, -1
        self.now += 1


def test_one_image_at_a_time_equals_the_slow_sequential_version() -> None:
    side, stride, generator = 5, 1, torch.Generator().manual_seed(3)
    stream = torch.from_numpy(smooth(90)).float() / 255
    layer = PatchLayer(
        25, delta=40, limit=200, theta=5, alpha=0.1, percentile=90.0, window=60
    )  # a window that distances leave again
    for image in stream[:4]:
        layer.learn(patches_of(image[None], side, stride), generator)
    slow, draws = SlowLayer(layer), torch.Generator().manual_seed(0)
    draws.set_state(generator.get_state())
    for image in stream[4:]:
        patches = patches_of(image[None], side, stride)
        layer.learn(patches, generator)
        drawn = torch.randint(patches.shape[1], (1, PER_IMAGE), generator=draws)
        slow.learn(patches[0].double().numpy(), drawn[0].tolist())
        occupied = [row for row, last in zip(slow.stm, slow.last, strict=True) if last >= 0]
        np.testing.assert_allclose(layer.short_term.numpy(), np.stack(occupied), atol=1e-4)
        assert layer.chosen.tolist() == slow.counts
        assert layer.last.tolist() == slow.last
    assert len(slow.ltm) > 10
    np.testing.assert_allclose(layer.long_term.numpy(), np.stack(slow.ltm), atol=1e-4)


def test_patches_are_normalised_one_by_one() -> None:
    pixels = torch.from_numpy(smooth(2)).float() / 255
    found = patches_of(pixels, 4, 3)
    expected = []
    for image in pixels.double().numpy():
        for top in (0, 3, 6):
            for left in (0, 3, 6):
                patch = image[:, top : top + 4, left : left + 4].flatten()
                patch = patch - patch.mean()
                expected.append(patch / patch.std() if patch.std() > 0 else patch)
    np.testing.assert_allclose(found.flatten(0, 1).numpy(), expected, atol=1e-4)


@pytest.mark.parametrize("level", [0, 1, 77, 255])
def test_patches_without_contrast_are_zero(level: int) -> None:
    pixels = torch.full((1, 3, 9, 9), level, dtype=torch.uint8).float() / 255
    assert patches_of(pixels, 7, 1).count_nonzero() == 0


@given(st.integers(1, 40), st.integers(1, 30), st.integers(1, 20), st.integers(0, 99))
@settings(max_examples=30, deadline=None)
def test_the_nearest_centroid_is_found(n: int, k: int, p: int, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    x, centroids = torch.randn(n, p, generator=generator), torch.randn(k, p, generator=generator)
    nearest, distances = nearest_centroid(x, centroids, centroids.square().sum(1) / 2)
    expected = cdist(x.double(), centroids.double())
    np.testing.assert_allclose(distances.numpy(), expected.min(1), rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(
        expected[np.arange(n), nearest.numpy()], expected.min(1), rtol=1e-3, atol=1e-3
    )


def test_an_embedding_is_the_nearest_patchs_distance_over_the_mean_distance() -> None:
    learner = STAM(**SMALL)
    for seed in range(4):
        learner.partial_fit(smooth(12, seed))
    test = smooth(3, seed=50)
    expected = []
    for image in torch.from_numpy(test).double() / 255:
        row: list[float] = []
        for side, layer in zip(learner.receptive_fields, learner.layers_, strict=True):
            distances = cdist(patches_of(image[None], side, 2)[0], layer.long_term.double())
            row.extend(distances.min(0) / distances.mean())
        expected.append(row)
    assert sum(len(layer.long_term) for layer in learner.layers_) == len(expected[0]) > 10
    np.testing.assert_allclose(learner.transform(test), expected, atol=1e-3)


def test_an_image_that_equals_all_centroids_has_finite_features() -> None:
    flat = torch.zeros(2, 3, 4)
    assert relative_distances(flat, torch.zeros(5, 4)).tolist() == [[0.0] * 5] * 2


def test_features_are_constant_then_short_term_then_long_term() -> None:
    learner = STAM(**SMALL)
    assert learner.transform(smooth(3)).tolist() == [[1.0]] * 3
    learner.partial_fit(smooth(2))
    assert learner.transform(smooth(3)).shape == (3, 2 * PER_IMAGE + 2 * PER_IMAGE)
    for seed in range(4):
        learner.partial_fit(smooth(12, seed))
    assert learner.transform(smooth(3)).shape == (3, learner.diagnostics_["long_term"])


@given(
    st.integers(2, 40), st.integers(1, 12), st.integers(1, 5), st.integers(1, 9), st.integers(1, 60)
)
@settings(max_examples=8, deadline=None)
def test_memories_keep_to_their_sizes(
    delta: int, limit: int, theta: int, chunk: int, window: int
) -> None:
    params = {**SMALL, "delta": delta, "theta": theta, "long_term_size": limit, "window": window}
    learner = STAM(**params, chunk=chunk)
    for seed in range(3):
        learner.partial_fit(smooth(11, seed))
        for layer in learner.layers_:
            assert len(layer.short_term) <= delta
            assert len(layer.long_term) <= limit
            assert len(layer.recent) == window
            assert (layer.chosen < theta).all()
            assert layer.centroids.isfinite().all()
    assert np.isfinite(learner.transform(smooth(3))).all()


def test_a_centroid_moves_to_long_term_memory_after_theta_choices_and_no_earlier() -> None:
    layer, generator = make_layer([[0.0, 0.0], [9.0, 9.0]], theta=4)
    for _ in range(3):
        layer.learn(points([1.0, 0.0]), generator)
        assert len(layer.long_term) == 0
    layer.learn(points([1.0, 0.0]), generator)
    assert rows(layer.long_term) == {(round(1 - 0.9**4, 4), 0.0)}
    assert rows(layer.short_term) == {(9.0, 9.0)}


def test_patches_of_one_image_choose_a_centroid_once_and_the_nearest_moves_it() -> None:
    layer, generator = make_layer([[0.0, 0.0], [9.0, 9.0]])
    layer.learn(points([2.0, 0.0], [0.0, 1.0], [-3.0, 0.0]), generator)
    assert rows(layer.short_term) == {(0.0, 0.1), (9.0, 9.0)}
    assert sorted(layer.chosen.tolist()) == [0, 1]


def test_a_novel_patch_founds_a_centroid_and_is_its_first_choice() -> None:
    layer, generator = make_layer([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], theta=3)
    layer.learn(points([50.0, 50.0]), generator)
    assert (50.0, 50.0) in rows(layer.short_term)
    layer.learn(points([50.0, 50.0]), generator)
    assert len(layer.long_term) == 0
    layer.learn(points([50.0, 50.0]), generator)
    assert rows(layer.long_term) == {(50.0, 50.0)}


def test_the_short_term_centroid_not_chosen_for_the_longest_time_leaves() -> None:
    layer, generator = make_layer([[0.0, 0.0], [3.0, 0.0], [0.0, 3.0]])
    for patch in ([0.0, 3.0], [0.0, 0.0], [3.0, 0.0], [0.0, 0.0]):
        layer.learn(points(patch), generator)
    layer.learn(points([-90.0, -90.0], [0.0, 0.0]), generator)
    assert rows(layer.short_term) == {(0.0, 0.0), (3.0, 0.0), (-90.0, -90.0)}


def test_centroids_that_the_image_chooses_do_not_leave() -> None:
    layer, generator = make_layer([[0.0, 0.0], [3.0, 0.0]])
    layer.learn(points([0.0, 0.0], [3.0, 0.0], [90.0, 90.0]), generator)
    assert rows(layer.short_term) == {(0.0, 0.0), (3.0, 0.0)}


def test_a_full_long_term_memory_keeps_centroids_of_the_whole_stream_alike() -> None:
    kept = []
    for seed in range(8):
        random = torch.Generator().manual_seed(seed)
        # Everything is novel, and what is novel moves to long-term memory at once.
        layer, _ = make_layer(torch.randn(10, 16, generator=random).tolist(), percentile=0, theta=1)
        stream = torch.randn(600, 1, 16, generator=random)
        for part in torch.split(stream, 8):
            layer.learn(part, random)
        assert layer.promoted > 400
        kept.append(cdist(layer.long_term, stream[:, 0]).argmin(1))
    arrivals = np.concatenate(kept)
    assert len(arrivals) == 8 * 50
    counts = np.histogram(arrivals, 4, (0, 600))[0]
    assert (np.abs(counts - 100) < 40).all()


def test_long_term_centroids_never_move() -> None:
    learner = STAM(**{**SMALL, "long_term_size": 1000})
    before = [layer.long_term.clone() for layer in learner.partial_fit(smooth(20)).layers_]
    for seed in range(1, 6):
        learner.partial_fit(smooth(12, seed))
        for layer, earlier in zip(learner.layers_, before, strict=True):
            assert torch.equal(layer.long_term[: len(earlier)], earlier)
        before = [layer.long_term.clone() for layer in learner.layers_]
    assert all(len(earlier) > 20 for earlier in before)


@given(st.floats(0, 100), st.integers(1, 50), st.integers(0, 99))
@settings(max_examples=30, deadline=None)
def test_the_threshold_is_the_percentile_of_the_last_distances(
    percentile: float, window: int, seed: int
) -> None:
    layer, _ = make_layer([[0.0], [2.0]], percentile=percentile, window=window)
    generator = np.random.default_rng(seed)
    seen = layer.recent[: int(layer.measured)].tolist()
    for n in (1, 7, 60):
        distances = generator.uniform(0, 9, n).astype(np.float32)
        layer._remember(torch.from_numpy(distances))
        seen.extend(distances.tolist())
        expected = np.percentile(seen[-window:], percentile)
        assert float(layer.threshold) == pytest.approx(expected, rel=1e-4, abs=1e-5)


def test_images_of_a_chunk_move_a_centroid_one_after_the_other() -> None:
    stream = torch.tensor([[[1.0, 0.0]], [[0.0, 2.0]], [[9.0, 8.0]], [[3.0, 1.0]]])
    together, generator = make_layer([[0.0, 0.0], [9.0, 9.0]])
    together.learn(stream, generator)
    alone, generator = make_layer([[0.0, 0.0], [9.0, 9.0]])
    for image in stream:
        alone.learn(image[None], generator)
    torch.testing.assert_close(together.centroids, alone.centroids)
    assert together.chosen.tolist() == alone.chosen.tolist()
    assert together.last.tolist() == alone.last.tolist()


def test_images_of_a_chunk_do_not_found_the_same_centroid_twice() -> None:
    layer, generator = make_layer(
        [[row, column] for row in (0.0, 1.0) for column in (0.0, 1.0, 2.0)]
    )
    novel = [[50.0, 50.0], [80.0, 80.0], [50.0, 50.0]]
    near = [[50.0, 50.5], [80.5, 80.0], [20.0, 90.0]]
    layer.learn(torch.tensor([novel, near]), generator)
    found = {row for row in rows(layer.short_term) if max(row) > 2}
    assert found == {(50.0, 50.0), (80.0, 80.0), (20.0, 90.0)}


@pytest.mark.parametrize("chunk", [2, 5, 100])
def test_a_chunked_learner_goes_on_from_its_file_as_if_never_stopped(chunk: int, tmp_path) -> None:
    learner = STAM(**SMALL, chunk=chunk)
    for seed in range(3):
        learner.partial_fit(smooth(12, seed))
    learner.save(tmp_path / "stam")
    resumed = load(tmp_path / "stam")
    for seed in range(3, 6):
        learner.partial_fit(smooth(12, seed))
        resumed.partial_fit(smooth(12, seed))
    np.testing.assert_array_equal(learner.transform(smooth(5)), resumed.transform(smooth(5)))


def test_one_image_at_a_time_batches_do_not_matter() -> None:
    stream = smooth(40)
    one = STAM(**SMALL).partial_fit(stream)
    other = STAM(**SMALL)
    for part in np.split(stream, [3, 4, 21]):
        other.partial_fit(part)
    np.testing.assert_array_equal(one.transform(stream), other.transform(stream))


@pytest.mark.parametrize("dataset", SHAPES)
def test_the_cards_of_all_datasets_fit_their_images(dataset: str) -> None:
    shape = SHAPES[dataset]
    learner = STAM(**default_parameters(dataset, "stam"))
    learner.partial_fit(images(2, shape=shape))
    assert learner.transform(images(2, shape=shape)).shape[0] == 2


def test_images_are_brought_to_the_working_side() -> None:
    learner = STAM(image_side=8, receptive_fields=[4])
    learner.partial_fit(images(3, shape=(1, 16, 16)))
    assert learner.layers_[0].centroids.shape[1] == 16


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"receptive_fields": []}, "got none"),
        ({"receptive_fields": [5, 29]}, r"from 2 to 28.* got \[5, 29\]"),
        ({"receptive_fields": [5], "image_side": 4}, "from 2 to 4"),
        ({"receptive_fields": [1]}, "from 2"),
        ({"image_side": 0}, "image_side must be 1 or more"),
        ({"stride": 0}, "stride must be 1 or more, got 0"),
        ({"delta": 1}, "delta must be 2 or more"),
        ({"long_term_size": 0}, "long_term_size must be 1 or more"),
        ({"theta": 0}, "theta must be 1 or more"),
        ({"alpha": 1.5}, "alpha must be from 0 to 1, got 1.5"),
        ({"percentile": 101.0}, "percentile must be from 0 to 100"),
        ({"window": 0}, "window must be 1 or more"),
        ({"chunk": 0}, "chunk must be 1 or more"),
    ],
)
def test_impossible_parameters_are_refused_at_the_start(params: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        STAM(**params).partial_fit(images())


def test_costs_tell_what_is_kept() -> None:
    costs = STAM(delta=400, receptive_fields=[8, 13]).costs()
    assert (
        costs.memory
        == "400 short- and up to 1000 long-term centroids of patches of each side (8, 13)"
    )
    assert dataclasses.replace(costs, memory="none") == type(costs)()
