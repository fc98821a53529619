"""The dataset fruits: a folder in $SCALE_DATA."""

from __future__ import annotations

import pytest
from PIL import Image

from scale._errors import InputError
from scale.data import list_datasets, load_dataset


def status():
    return next(one for one in list_datasets() if one.name == "fruits")


def test_it_is_read_from_the_folder_in_the_order_of_frames(tmp_path, monkeypatch):
    monkeypatch.setenv("SCALE_DATA", str(tmp_path))
    for split in ("train", "test"):
        for kind in ("apple", "fig"):
            folder = tmp_path / "fruits" / split / kind
            folder.mkdir(parents=True)
            for frame in range(3):
                Image.new("RGB", (8, 8), (frame * 10, 0, 0)).save(folder / f"{frame:03}.png")
    found = load_dataset("fruits")
    assert found.images.shape == (6, 3, 8, 8)
    assert found.images[:, 0, 0, 0].tolist() == [0, 10, 20, 0, 10, 20]
    assert found.class_names == ("apple", "fig")
    assert status().present


@pytest.mark.parametrize("place", [None, "empty"])
def test_without_the_folder_it_says_what_to_do(tmp_path, monkeypatch, place):
    monkeypatch.delenv("SCALE_DATA", raising=False)
    if place:
        monkeypatch.setenv("SCALE_DATA", str(tmp_path))
    with pytest.raises(InputError, match=r"fruits is not in \$SCALE_DATA/fruits; put images"):
        load_dataset("fruits")
    assert not status().present
