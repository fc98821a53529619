import numpy as np
import pytest

from scale._errors import InputError
from scale.report import draw_embedding
from scale.report.embedding import project


def blobs(count, T, dims=16):
    labels = np.arange(count) % T
    rng = np.random.default_rng(0)
    return 3 * rng.normal(size=(T, dims))[labels] + rng.normal(size=(count, dims)), labels


@pytest.mark.parametrize("T", [1, 20, 100])
def test_any_number_of_classes_is_drawn(T, picture):
    draw_embedding([("end", *blobs(100, T))], [f"class {t}" for t in range(T)], picture.path, 0)
    picture.check()


@pytest.mark.parametrize(
    "features",
    [
        np.ones((50, 8)),
        np.zeros((50, 8)),
        np.outer(np.arange(50), np.ones(8)),
        np.arange(50)[:, None],
        np.eye(3),
        np.ones((1, 4)),
        np.eye(6),
    ],
    ids=["equal", "zero", "line", "one dimension", "three rows", "one row", "six rows"],
)
def test_features_without_neighbourhoods_have_a_map(features):
    assert np.isfinite(project(features.astype(np.float32), 0)[0]).all()


def test_collapsed_features_are_drawn(picture):
    draw_embedding([("start", np.ones((50, 8)), np.arange(50) % 2)] * 2, "ab", picture.path, 0)
    picture.check()


def test_the_title_says_when_features_have_collapsed():
    assert project(np.ones((50, 8), np.float32), 0)[1] == " (all equal)"
    assert project(np.eye(3, dtype=np.float32), 0)[1] == " (not t-SNE)"
    assert project(blobs(60, 3)[0].astype(np.float32), 0)[1] == ""


def test_equal_seeds_give_equal_maps():
    features = blobs(80, 4)[0].astype(np.float32)
    np.testing.assert_array_equal(project(features, 5)[0], project(features, 5)[0])


@pytest.mark.parametrize(
    ("features", "labels", "message"),
    [
        (np.eye(6), np.arange(6), "labels go from 0 to 5"),
        (np.eye(6), np.zeros(5, int), "expected finite"),
        (np.full((6, 2), np.nan), np.zeros(6, int), "expected finite"),
        (np.zeros((0, 2)), np.zeros(0, int), "expected finite"),
    ],
)
def test_snapshots_that_cannot_be_drawn_are_refused(features, labels, message, picture):
    with pytest.raises(InputError, match=message):
        draw_embedding([("end", features, labels)], ["a", "b"], picture.path, 0)
