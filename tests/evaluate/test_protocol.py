import numpy as np
import pytest

from scale._errors import InputError
from scale.data import ImageSet
from scale.evaluate import (
    Protocol,
    draw_evaluation_sets,
    hold_out,
    protocol_for,
)
from scale.streams import make_order


def image_set(counts, name="made"):
    """Images whose pixels say which they are: the value of an image is its index, modulo 256."""
    labels = np.random.default_rng(0).permutation(np.repeat(np.arange(len(counts)), counts))
    images = np.tile(np.arange(len(labels), dtype=np.uint8)[:, None, None, None], (1, 1, 4, 4))
    return ImageSet(images, labels, tuple("abcdefghij"[: len(counts)]), name, "made by a test")


def test_sets_are_balanced_and_of_the_size_asked_for():
    sets = draw_evaluation_sets(
        image_set([50, 60, 70]), image_set([20, 20, 30]), Protocol(None, 10, 31), seed=0
    )
    assert np.bincount(sets.eval_labels).tolist() == [10, 10, 10]
    assert np.bincount(sets.bank_labels).tolist() == [11, 10, 10]
    assert sets.counts() == {"classes": 3, "eval": 30, "bank": 31, "train": 180}


def test_images_keep_their_labels_and_none_is_drawn_twice():
    train, test = image_set([50, 60, 70]), image_set([20, 25, 30])
    sets = draw_evaluation_sets(train, test, Protocol(None, 15, 60), seed=0)
    drawn = sets.bank_images[:, 0, 0, 0]
    assert len(np.unique(drawn)) == 60
    np.testing.assert_array_equal(train.labels[drawn], sets.bank_labels)
    np.testing.assert_array_equal(test.labels[sets.eval_images[:, 0, 0, 0]], sets.eval_labels)


def test_a_class_with_fewer_images_than_asked_gives_all_it_has():
    sets = draw_evaluation_sets(
        image_set([3, 60]), image_set([2, 30]), Protocol(None, 10, 40), seed=0
    )
    assert np.bincount(sets.eval_labels).tolist() == [2, 10]
    assert np.bincount(sets.bank_labels).tolist() == [3, 20]


def test_the_draw_depends_on_the_seed_alone():
    train, test, protocol = image_set([90, 90]), image_set([90, 90]), Protocol(None, 20, 20)
    first, again, other = (draw_evaluation_sets(train, test, protocol, s) for s in (1, 1, 2))
    np.testing.assert_array_equal(first.eval_images, again.eval_images)
    np.testing.assert_array_equal(first.bank_images, again.bank_images)
    assert not np.array_equal(first.eval_images, other.eval_images)
    assert not np.array_equal(first.bank_images, other.bank_images)


def test_holding_out_splits_the_images_without_losing_or_repeating_any():
    whole = image_set([3, 40, 80])
    train, test = hold_out(whole, per_class=10, seed=0)
    assert np.bincount(test.labels).tolist() == [1, 10, 10]
    parts = np.concatenate([train.images, test.images])[:, 0, 0, 0]
    assert sorted(parts) == list(range(123))
    assert test.class_names == whole.class_names


def test_evaluation_without_labels_is_refused():
    blank = ImageSet(np.zeros((5, 1, 4, 4), np.uint8), None, (), "blank", "made by a test")
    with pytest.raises(InputError, match="no labels"):
        draw_evaluation_sets(blank, blank, Protocol(), 0)
    with pytest.raises(InputError, match="no labels"):
        hold_out(blank, 1, 0)
    with pytest.raises(InputError, match="no image can be held out"):
        hold_out(image_set([1, 1]), 1, 0)


def test_an_unknown_dataset_gets_a_protocol_from_its_counts():
    protocol = protocol_for("photos", np.repeat([0, 1, 2], 1000), np.repeat([0, 1, 2], 40))
    assert (protocol.eval_per_class, protocol.bank_size, protocol.k) == (40, 300, 50)
    assert protocol_for("few", [0, 1]).eval_per_class == 1


def test_all_images_of_an_unknown_dataset_are_streamed():
    labels = np.repeat([0, 1, 2], [7, 40, 3])
    protocol = protocol_for("photos", labels)
    order = make_order("seq", labels, samples_per_class=protocol.samples_per_class)
    assert sorted(order) == list(range(50))
    assert protocol_for("no labels", []).samples_per_class is None
