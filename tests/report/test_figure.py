import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scale._errors import InputError
from scale.report._figure import (
    CATEGORIES,
    class_colours,
    matrix,
    new_figure,
    shorten,
    spread,
    tell_start,
)


@given(st.lists(st.floats(0, 100), max_size=12), st.floats(0.1, 20))
def test_labels_are_moved_apart_and_keep_their_order_within_the_limits(values, gap):
    placed = spread(values, gap, 0, 100)
    assert len(placed) == len(values)
    if len(values) > 1:
        room = min(gap, 100 / (len(values) - 1))
        assert np.diff(np.sort(placed)).min() >= room - 1e-6
        assert (np.diff(placed[np.argsort(values, kind="stable")]) > 0).all()
        assert placed.min() >= -1e-6
        assert placed.max() <= 100 + 1e-6


def test_labels_that_are_apart_already_stay_where_they_are():
    np.testing.assert_allclose(spread([9.0, 1.0, 5.0], 2, 0, 10), [9, 1, 5])


@pytest.mark.parametrize(
    ("values", "start", "label"),
    [([43, 58], 40, "kNN (%), axis from 40"), ([0, 58], 0, "kNN (%)"), ([-3, 8], None, "kNN (%)")],
)
def test_an_axis_says_where_it_begins_unless_at_zero(values, start, label):
    axes = new_figure(4, 3).add_subplot()
    axes.plot([0, 1], values)
    axes.set_ylabel("kNN (%)")
    tell_start(axes)
    assert axes.get_ylabel() == label
    assert axes.get_ylim()[0] == (start if start is not None else pytest.approx(-4, abs=1))


@pytest.mark.parametrize("T", [1, 2, 12, 13, 100])
def test_every_class_has_a_colour_of_its_own(T):
    assert len({tuple(np.atleast_1d(colour)) for colour in class_colours(T)}) == T


def test_the_categories_do_not_rest_on_the_palette_of_a_library():
    assert len(set(CATEGORIES)) == 12


def test_names_are_cut_to_a_length_and_must_be_as_many_as_the_classes():
    assert all(len(name) <= 16 for name in shorten(["x" * 100, "y"], 2))
    with pytest.raises(InputError, match="1 class names for 2 classes"):
        shorten(["only"], 2)


@pytest.mark.parametrize("values", [[], [1.0], [[np.nan]], np.zeros((0, 3))])
def test_tables_that_cannot_be_drawn_are_refused(values):
    with pytest.raises(InputError, match="the counts have shape"):
        matrix(values, "the counts")


@pytest.mark.slow
def test_matplotlib_is_loaded_late_and_drawing_leaves_no_global_figure(run_alone, tmp_path):
    code = f"""
import sys
from scale.report import draw_curve, draw_memory, draw_streams
print("matplotlib" in sys.modules)
draw_curve([{{"position": 1, "knn": 3.0}}], {{}}, r"{tmp_path / "a.png"}")
draw_streams({{"seq": [[1, 0], [0, 1]]}}, ["a", "b"], r"{tmp_path / "b.png"}")
draw_memory([[1, 0], [0, 1]], [1, 2], ["a", "b"], r"{tmp_path / "c.png"}")
print("matplotlib.pyplot" in sys.modules)
import matplotlib.pyplot
print(matplotlib.pyplot.get_fignums())
"""
    assert run_alone(code).split("\n") == ["False", "False", "[]"]
