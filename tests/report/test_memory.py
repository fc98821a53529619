import numpy as np
import pytest
from PIL import Image

from scale._errors import InputError
from scale.report import draw_memory
from scale.report.memory import STRIP


@pytest.mark.parametrize(("T", "times"), [(1, 1), (12, 40), (13, 1), (100, 40)])
def test_any_number_of_classes_and_times_is_drawn(T, times, picture):
    counts = np.random.default_rng(0).integers(0, 50, (times, T))
    draw_memory(counts, 128 * np.arange(times), [f"class {t}" for t in range(T)], picture.path)
    picture.check()


@pytest.mark.parametrize("T", [3, 30])
def test_an_empty_memory_is_drawn(T, picture):
    draw_memory(np.zeros((4, T), int), [1, 2, 3, 4], [str(t) for t in range(T)], picture.path)
    picture.check()


@pytest.mark.parametrize(("count", "channels"), [(1, 3), (100, 1)])
def test_images_in_memory_are_shown_below(count, channels, picture):
    images = np.random.default_rng(0).integers(0, 256, (count, channels, 8, 8), dtype=np.uint8)
    draw_memory([[3, 4]], [7], ["a", "b"], picture.path, images)
    picture.check()
    with Image.open(picture.path) as shown:
        assert shown.height == pytest.approx(150 * (4.2 + STRIP), abs=1)


def test_positions_must_match_the_counts(picture):
    with pytest.raises(InputError, match="one position for each row"):
        draw_memory(np.ones((3, 2)), [1, 2], ["a", "b"], picture.path)
    with pytest.raises(InputError, match="class names"):
        draw_memory(np.ones((2, 2)), [1, 2], ["a"], picture.path)
