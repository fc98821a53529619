import pytest

from scale._errors import InputError
from scale.report import draw_curve

FLOORS = {"pixels": {"knn": 23.0}, "pca": {"knn": 23.1}, "random": {"knn": 23.2}, "none": {}}


def series(count):
    return [{"position": 512 * i, "knn": 20.0 + i, "acc": 15.0 + i / 2} for i in range(count)]


@pytest.mark.parametrize(("count", "floors"), [(1, {}), (2, FLOORS), (11, FLOORS)])
def test_any_number_of_evaluations_is_drawn(count, floors, picture):
    draw_curve(series(count), floors, picture.path, "SCALE on digits")
    picture.check()


def test_measures_that_are_missing_at_times_are_left_out(picture):
    evaluations = [
        {"position": 0, "knn": 10.0},
        {"position": 9, "knn": float("nan"), "acc": 3},
        {"position": 20, "knn": 30.0},
    ]
    draw_curve(evaluations, {"pixels": {"knn": float("nan")}}, picture.path)
    picture.check()


def test_perfect_and_hopeless_accuracies_fit(picture):
    draw_curve([{"position": 5, "knn": 100.0, "acc": 0.0}], {}, picture.path)
    picture.check()


def test_the_same_numbers_give_the_same_file(picture, tmp_path):
    draw_curve(series(4), FLOORS, picture.path, "title")
    draw_curve(series(4), FLOORS, tmp_path / "again.png", "title")
    assert picture.path.read_bytes() == (tmp_path / "again.png").read_bytes()


def test_no_evaluation_at_all_is_refused(picture):
    with pytest.raises(InputError, match="at least one"):
        draw_curve([], FLOORS, picture.path)
