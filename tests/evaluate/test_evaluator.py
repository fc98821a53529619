import json
import os

import numpy as np
import pytest

from scale.data import load_dataset
from scale.evaluate import (
    Evaluator,
    draw_evaluation_sets,
    floor_transforms,
    knn_accuracy,
    protocol_for,
)


@pytest.fixture(scope="module")
def digits():
    protocol = protocol_for("digits", [])
    return protocol, draw_evaluation_sets(
        load_dataset("digits", split="train"), load_dataset("digits", split="test"), protocol, 0
    )


def test_floors_on_digits_are_well_above_chance_and_every_measure_is_there(digits):
    protocol, sets = digits
    evaluator = Evaluator(sets, protocol, seed=0)
    for transform in floor_transforms(sets.bank_images, image_size=None).values():
        measures = evaluator(transform, full=True)
        json.dumps(measures)
        assert set(measures) == {
            *("knn", "knn_per_class", "acc", "nmi", "ari", "kmeans_acc", "linear"),
            *("effective_rank", "knn_full"),
        }
        assert measures["knn"] == pytest.approx(np.mean(measures["knn_per_class"]))
        assert len(measures["knn_per_class"]) == 10
        assert 12 < measures["knn"] < measures["knn_full"] <= 100
        assert measures["knn_full"] > 30
        assert 10 < measures["linear"] <= 100


def test_features_that_are_the_labels_score_perfectly_and_equal_ones_at_chance(digits):
    protocol, sets = digits
    evaluator = Evaluator(sets, protocol, seed=0)
    perfect = evaluator.measure(np.eye(10)[sets.eval_labels], np.eye(10)[sets.bank_labels])
    for name in ("knn", "acc", "nmi", "ari", "kmeans_acc", "linear"):
        assert perfect[name] == pytest.approx(100)
    blank = evaluator(lambda images: np.ones((len(images), 8), np.float32))
    assert blank["knn"] == pytest.approx(10)
    assert blank["linear"] == pytest.approx(10)
    assert blank["effective_rank"] == 0


def test_the_size_of_the_chunks_changes_no_feature_and_images_are_given_writable(digits):
    protocol, sets = digits

    def transform(images):
        assert images.flags.writeable
        assert images.dtype == np.uint8
        return images.reshape(len(images), -1).astype(np.float32)

    small, large = (Evaluator(sets, protocol, 0, chunk=chunk) for chunk in (7, 5000))
    for few, many in zip(small.features(transform), large.features(transform), strict=True):
        np.testing.assert_array_equal(few, many)


@pytest.mark.slow
@pytest.mark.skipif("SCALE_DATA" not in os.environ, reason="needs real images")
def test_raw_pixels_of_cifar10_reach_the_published_floor():
    protocol = protocol_for("cifar10", [])
    train, test = (load_dataset("cifar10", split=split) for split in ("train", "test"))
    sets = draw_evaluation_sets(train, test, protocol, seed=0)
    pixels = floor_transforms(sets.bank_images, image_size=32)["pixels"]
    queries, bank = Evaluator(sets, protocol, seed=0).features(pixels)
    found = 100 * knn_accuracy(bank, sets.bank_labels, queries, sets.eval_labels)
    assert found == pytest.approx(23.0, abs=2.0)
