import numpy as np
import pytest

from scale._errors import InputError
from scale.report import draw_streams


def names(T):
    return [f"class {t} with a rather long name" for t in range(T)]


@pytest.mark.parametrize(("T", "count"), [(1, 2), (20, 2), (100, 1)])
def test_any_number_of_classes_and_streams_is_drawn(T, count, picture):
    rng = np.random.default_rng(0)
    pictures = {f"stream {i}": rng.dirichlet(np.ones(T), size=50) for i in range(count)}
    draw_streams(pictures, names(T), picture.path)
    if T > 1:  # one class alone is one even strip
        picture.check()
    assert picture.path.exists()


def test_a_single_bin_is_drawn(picture):
    draw_streams({"seq": [[0.25, 0.75]]}, ["a", "b"], picture.path)
    picture.check()


@pytest.mark.parametrize(
    ("pictures", "message"),
    [
        ({}, "no stream to draw"),
        ({"seq": [[1.0, 0.0, 0.0]]}, "'seq' has 3 classes and there are 2"),
        ({"seq": [[np.nan, 1.0]]}, "finite"),
    ],
)
def test_pictures_that_cannot_be_drawn_are_refused(pictures, message, picture):
    with pytest.raises(InputError, match=message):
        draw_streams(pictures, ["a", "b"], picture.path)
    assert not picture.path.exists()
