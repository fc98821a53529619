from __future__ import annotations

import re
import sys

import pytest

from scale._errors import ScaleError, UnknownNameError
from scale._registry import Registry
from scale.augment import AUGMENTATIONS
from scale.data.registry import DATASETS
from scale.memory import POLICIES
from scale.methods import METHODS
from scale.models import ENCODERS
from scale.streams._registry import STREAMS

ALL = [AUGMENTATIONS, DATASETS, ENCODERS, METHODS, POLICIES, STREAMS]


@pytest.fixture
def shapes():
    registry: Registry[object] = Registry("shape")
    registry.register("square")(4)
    registry.register("circle")(0)
    return registry


@pytest.fixture
def third_party(tmp_path, monkeypatch):
    """An installed distribution with a `pentagon` and a `square` of its own."""
    (tmp_path / "other_shapes.py").write_text("pentagon = 5\nsquare = 'not ours'\n")
    info = tmp_path / "other_shapes-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: other-shapes\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[scale.shape]\npentagon = other_shapes:pentagon\nsquare = other_shapes:square\n"
        "[scale.unrelated]\nhexagon = other_shapes:hexagon\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    yield
    sys.modules.pop("other_shapes", None)


def test_what_is_registered_is_found(shapes):
    assert shapes["square"] == 4
    assert "circle" in shapes
    assert "triangle" not in shapes
    assert list(shapes) == ["circle", "square"]


def test_registering_returns_the_thing_itself():
    registry: Registry[object] = Registry("shape")

    @registry.register("line")
    class Line:
        pass

    assert isinstance(Line, type)
    assert registry["line"] is Line


def test_an_unknown_name_is_answered_with_the_nearest_and_all_known(shapes):
    expected = "no shape is called 'sqaure'; did you mean 'square'? (known: circle, square)"
    with pytest.raises(UnknownNameError, match=f"^{re.escape(expected)}$"):
        shapes["sqaure"]


def test_a_name_like_no_other_is_answered_without_a_guess(shapes):
    with pytest.raises(UnknownNameError, match=r"no shape is called 'xyz' \(known"):
        shapes["xyz"]


@pytest.mark.parametrize("name", [None, 3, ["square"]])
def test_what_is_no_text_is_an_unknown_name(shapes, name):
    with pytest.raises(UnknownNameError, match=r"no shape is called .*known: circle, square"):
        shapes[name]


def test_an_unknown_name_is_a_users_mistake_and_a_key_error(shapes):
    with pytest.raises(KeyError):
        shapes["xyz"]
    with pytest.raises(ScaleError):
        shapes["xyz"]


def test_a_name_is_given_once(shapes):
    with pytest.raises(ScaleError, match="a shape called 'square' is already registered"):
        shapes.register("square")(5)
    assert shapes["square"] == 4


def test_registering_the_same_thing_again_is_harmless(shapes):
    thing = object()
    shapes.register("thing")(thing)
    shapes.register("thing")(thing)
    assert shapes["thing"] is thing


@pytest.mark.usefixtures("third_party")
def test_other_distributions_add_theirs_by_entry_point(shapes):
    assert shapes["pentagon"] == 5
    assert list(shapes) == ["circle", "pentagon", "square"]
    assert "hexagon" not in shapes


@pytest.mark.usefixtures("third_party")
def test_other_distributions_cannot_replace_ours(shapes):
    assert shapes["square"] == 4


def test_nothing_is_loaded_from_other_distributions_before_it_is_asked_for(third_party, shapes):
    assert "other_shapes" not in sys.modules
    assert "pentagon" in shapes
    assert "other_shapes" in sys.modules


def test_a_broken_distribution_is_named_and_ours_are_still_found(third_party, tmp_path, shapes):
    (tmp_path / "other_shapes.py").write_text("import a_module_that_is_not_there\n")
    with pytest.warns(UserWarning, match="pentagon"):
        assert shapes["square"] == 4


@pytest.mark.parametrize("registry", ALL, ids=lambda registry: registry.kind)
def test_every_registry_is_open_to_entry_points_that_packagers_accept(
    registry, third_party, tmp_path
):
    # A group is named \w+(.\w+)*: https://packaging.python.org/specifications/entry-points
    group = "scale." + re.sub(r"\W", "_", registry.kind)
    points = tmp_path / "other_shapes-1.0.dist-info" / "entry_points.txt"
    points.write_text(f"[{group}]\npentagon = other_shapes:pentagon\n")
    assert "pentagon" in Registry(registry.kind)
