"""The numbers behind a picture of a stream."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scale._errors import InputError
from scale.streams import STREAMS, class_over_time, make_order

unhurried = settings(max_examples=25)


@unhurried
@given(stream=st.sampled_from(list(STREAMS)), each=st.integers(1, 40), bins=st.integers(1, 60))
def test_rows_are_fractions_of_one(stream, each, bins):
    labels = np.tile(np.arange(5), each)
    picture = class_over_time(make_order(stream, labels), labels, 5, bins)
    assert picture.shape == (bins, 5)
    assert (picture >= 0).all()
    assert np.allclose(picture.sum(1), 1)


def test_seq_is_a_staircase_and_seq_cc_comes_in_pairs():
    labels = np.repeat(np.arange(4), 100)
    seq = class_over_time(make_order("seq", labels), labels, 4, bins=8)
    assert np.array_equal(seq, np.repeat(np.eye(4), 2, axis=0))
    pairs = class_over_time(make_order("seq-cc", labels), labels, 4, bins=2)
    assert np.allclose(pairs, [[0.5, 0.5, 0, 0], [0, 0, 0.5, 0.5]])


def test_a_short_stream_is_stretched():
    picture = class_over_time(np.array([1, 0]), np.array([0, 1]), 2, bins=4)
    assert picture.tolist() == [[0, 1], [0, 1], [1, 0], [1, 0]]


@pytest.mark.parametrize(("order", "classes", "bins"), [([], 2, 4), ([0, 1], 1, 4), ([0, 1], 2, 0)])
def test_a_picture_of_nothing_is_refused(order, classes, bins):
    with pytest.raises(InputError):
        class_over_time(np.array(order, int), np.array([0, 1]), classes, bins)
