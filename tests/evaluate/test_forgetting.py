import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from scale._errors import InputError
from scale.evaluate import average, drop, forgetting, learned_at

tables = arrays(
    np.float64, array_shapes(min_dims=2, max_dims=2, max_side=6), elements=st.floats(0, 100)
)


@given(tables)
def test_forgetting_equals_the_definition_written_out(table):
    if len(table) == 1:
        assert forgetting(table) == 0
        return
    losses = [max(table[:-1, c]) - table[-1, c] for c in range(table.shape[1])]
    assert forgetting(table) == pytest.approx(sum(losses) / len(losses))


def test_classes_that_go_on_improving_give_negative_forgetting():
    assert forgetting([[10, 10], [20, 30]]) == -15


@given(st.data())
def test_forgetting_once_seen_equals_the_definition_written_out(data):
    table = data.draw(tables)
    since = data.draw(arrays(np.int64, table.shape[1], elements=st.integers(0, len(table))))
    lost = []
    for c, k in enumerate(since):
        counted = table[k:-1, c].tolist()
        if counted:
            lost.append(max(counted) - table[-1, c])
    expected = sum(lost) / len(lost) if lost else 0
    assert forgetting(table, since) == pytest.approx(expected)


@given(
    st.lists(st.sampled_from([0, 3, 100, 250]), max_size=30),
    st.lists(st.integers(0, 40), min_size=1, unique=True).map(sorted),
    st.lists(st.sampled_from([0, 3, 7, 100, 250]), min_size=1, unique=True).map(sorted),
)
def test_a_class_is_learned_once_half_of_its_images_have_passed(labels, positions, classes):
    """Labels may have gaps, be evaluated and not streamed, or be streamed and not evaluated."""
    found = learned_at(labels, positions, classes)
    assert len(found) == len(classes)
    for c, index in zip(classes, found, strict=True):
        halved = [2 * labels[:at].count(c) >= max(1, labels.count(c)) for at in positions]
        assert index == (halved.index(True) if True in halved else len(positions))


def test_class_by_class_nothing_counts_before_a_class_has_come():
    # The second class is told apart best at the start, before any image of it.
    per_class = [[20, 60], [50, 40], [45, 50]]
    since = learned_at([0] * 10 + [1] * 10, positions=[0, 10, 20], classes=[0, 1])
    assert forgetting(per_class) == 7.5  # (5 + 10) / 2
    assert forgetting(per_class, since) == 5, "the last class has no evaluation but the final one"


@given(st.lists(st.floats(0, 100), min_size=1))
def test_drop_is_never_negative_and_zero_when_the_last_is_the_best(series):
    assert drop(series) >= 0
    assert drop(sorted(series)) == 0


def test_average_leaves_out_the_untrained_encoder():
    assert average([100, 10, 20], positions=[0, 64, 128]) == 15


@pytest.mark.parametrize(
    "call",
    [
        lambda: forgetting([1.0, 2.0]),
        lambda: forgetting(np.zeros((0, 3))),
        lambda: forgetting(np.zeros((2, 3)), since=[0]),
        lambda: forgetting(np.zeros((2, 3)), since=[0.5, 1, 1]),
        lambda: forgetting([["x"]]),
        lambda: drop([]),
        lambda: drop([1.0, float("nan")]),
        lambda: average([1.0], positions=[0]),
        lambda: average([1.0, 2.0], positions=[5]),
    ],
)
def test_series_without_an_answer_are_refused(call):
    with pytest.raises(InputError):
        call()
