"""Exports can be read by other programs, and no name leaves the folder."""

import csv
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from scale._errors import InputError
from scale.live.export import export_names, folder_names

HOSTILE = ["../../etc", "=1+1", "a/b"]


@pytest.fixture
def rows(knowledge):
    for at, name in enumerate(HOSTILE, start=1):
        knowledge.name([at], name)
    return knowledge.named([1, 2, 3, 4])


def test_a_table_has_every_image(knowledge, rows, tmp_path):
    assert export_names(knowledge.store, rows, "csv", tmp_path / "n.csv") == 4
    with open(tmp_path / "n.csv", newline="") as file:
        table = list(csv.DictReader(file))
    assert [row["image"] for row in table] == ["1", "2", "3", "4"]
    assert [row["name"] for row in table[:3]] == ["../../etc", "'=1+1", "a/b"]


def test_folders_stay_inside(knowledge, rows, tmp_path):
    out = tmp_path / "deep" / "out"
    export_names(knowledge.store, rows[:3], "folders", out)
    files = sorted(out.rglob("*.png"))
    assert len(files) == 3
    assert {file.parent.parent for file in files} == {out}
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["out"]
    with Image.open(files[0]) as image:
        assert image.size == (16, 16)


def test_coco_and_imagefolder_name_each_image(knowledge, rows, tmp_path):
    export_names(knowledge.store, rows[:3], "coco", tmp_path / "coco")
    whole = json.loads((tmp_path / "coco" / "annotations.json").read_text())
    names = {one["id"]: one["name"] for one in whole["categories"]}
    assert [names[one["category_id"]] for one in whole["annotations"]] == HOSTILE
    assert all((tmp_path / "coco" / one["file_name"]).is_file() for one in whole["images"])
    export_names(knowledge.store, rows[:3], "imagefolder", tmp_path / "hf")
    with open(tmp_path / "hf" / "train" / "metadata.csv", newline="") as file:
        table = list(csv.DictReader(file))
    assert [row["name"] for row in table] == HOSTILE
    assert all((tmp_path / "hf" / "train" / row["file_name"]).is_file() for row in table)


def test_nothing_is_written_over_a_folder_with_files(knowledge, rows, tmp_path):
    (tmp_path / "x").write_text("mine")
    with pytest.raises(InputError, match="empty"):
        export_names(knowledge.store, rows, "folders", tmp_path)
    with pytest.raises(InputError, match="folder"):
        export_names(knowledge.store, rows, "csv", tmp_path)
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["x"]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.text(min_size=1, max_size=100), max_size=20))
def test_each_name_has_one_folder_of_its_own(names):
    places = folder_names(names)
    assert set(places) == set(names)
    assert len({place.casefold() for place in places.values()}) == len(places)
    for place in places.values():
        assert place not in ("", ".", "..")
        assert not set(place) & set("/\\\0")
        assert len(place.encode()) < 100
