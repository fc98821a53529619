"""Views of FiftyOne, on a stand-in with the parts of its documented interface that are used."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scale
from scale._errors import InputError
from scale.data import load_dataset


@dataclass
class Classification:
    label: str | None


@dataclass
class Sample:
    filepath: str
    ground_truth: Any = None
    weather: Any = None


class View:
    """`DatasetView` of FiftyOne 1.22: samples, fields, and `values` of a field or its part."""

    name = "quick"
    media_type = "image"

    def __init__(self, samples: list[Sample]) -> None:
        self.samples = samples

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self, sample_id: str) -> Sample:
        raise KeyError(sample_id)

    def iter_samples(self) -> Iterator[Sample]:
        return iter(self.samples)

    def get_field_schema(self) -> dict[str, Any]:
        return {"filepath": str, "ground_truth": Classification, "weather": str}

    def values(self, field: str) -> list[Any]:
        name, _, part = field.partition(".")
        found = [getattr(sample, name) for sample in self.samples]
        return [getattr(one, part, None) for one in found] if part else found


@pytest.fixture
def view(class_folder: Path) -> View:
    files = sorted(class_folder.rglob("*.png"))
    return View([Sample(str(f), Classification(f.parent.name), "sunny") for f in files])


def test_a_view_goes_in_with_its_ground_truth(
    view: View, class_folder: Path, own_cache: Path
) -> None:
    found = load_dataset(view)
    assert not own_cache.exists()
    expected = load_dataset(class_folder)
    np.testing.assert_array_equal(found.images, expected.images)
    assert expected.labels is not None
    np.testing.assert_array_equal(found.labels, expected.labels)
    assert (found.name, found.class_names) == ("quick", ("cat", "dog"))


def test_a_field_of_words_may_be_the_label(view: View) -> None:
    assert load_dataset(view, label="weather").class_names == ("sunny",)
    with pytest.raises(InputError, match=r"no field 'wether'.*weather"):
        load_dataset(view, label="wether")


def test_batches_decode_a_view_on_the_way(view: View, class_folder: Path) -> None:
    got = np.concatenate(list(scale.batches(view, 4)))
    np.testing.assert_array_equal(got, load_dataset(class_folder).images)


def test_labels_are_all_there_or_none(view: View) -> None:
    view.samples[1].ground_truth = None
    with pytest.raises(InputError, match="missing in some samples"):
        load_dataset(view)
    for sample in view.samples:
        sample.ground_truth = None
    assert load_dataset(view).labels is None


def test_videos_empty_views_and_missing_files_are_refused(view: View) -> None:
    view.samples[0].filepath = "/nowhere/x.png"
    with pytest.raises(InputError, match=r"cannot read /nowhere/x\.png: no such file"):
        load_dataset(view)
    with pytest.raises(InputError, match="no samples"):
        load_dataset(View([]))
    view.media_type = "video"
    with pytest.raises(InputError, match="media type 'video'"):
        load_dataset(view)
