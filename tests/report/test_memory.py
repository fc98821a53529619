import numpy as np
import pytest

from scale._errors import InputError
from scale.report import draw_memory


@pytest.mark.parametrize("T", [1, 12, 13, 100])
@pytest.mark.parametrize("times", [1, 40])
def test_any_number_of_classes_and_times_is_drawn(T, times, picture):
    counts = np.random.default_rng(0).integers(0, 50, (times, T))
    draw_memory(counts, 128 * np.arange(times), [f"class {t}" for t in range(T)], picture.path)
    picture.check()


@pytest.mark.parametrize("T", [3, 30])
def test_an_empty_memory_is_drawn(T, picture):
    draw_memory(np.zeros((4, T), int), [1, 2, 3, 4], [str(t) for t in range(T)], picture.path)
    picture.check()


def test_positions_must_match_the_counts(picture):
    with pytest.raises(InputError, match="one position for each row"):
        draw_memory(np.ones((3, 2)), [1, 2], ["a", "b"], picture.path)
    with pytest.raises(InputError, match="class names"):
        draw_memory(np.ones((2, 2)), [1, 2], ["a"], picture.path)
