import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from scale._errors import InputError
from scale.evaluate import average, drop, forgetting

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
        lambda: drop([]),
        lambda: drop([1.0, float("nan")]),
        lambda: average([1.0], positions=[0]),
        lambda: average([1.0, 2.0], positions=[5]),
    ],
)
def test_series_without_an_answer_are_refused(call):
    with pytest.raises(InputError):
        call()
