from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils.data import TensorDataset

from scale._errors import InputError
from scale.data import load_dataset

PIXELS = np.random.default_rng(0).integers(0, 256, (3, 7, 8, 3), dtype=np.uint8)
NCHW = PIXELS.transpose(0, 3, 1, 2)


class Listed(torch.utils.data.Dataset):  # type: ignore[type-arg]
    def __init__(self, items: list[Any], classes: list[str] | None = None) -> None:
        self.items = items
        if classes is not None:
            self.classes = classes

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, index: int) -> Any:
        if isinstance(self.items[index], Exception):
            raise self.items[index]
        return self.items[index]


@pytest.mark.parametrize(
    "convert",
    [
        Image.fromarray,
        np.asarray,
        torch.from_numpy,
        lambda hwc: torch.from_numpy(hwc).permute(2, 0, 1),
        lambda hwc: torch.from_numpy(hwc).permute(2, 0, 1) / 255,
    ],
    ids=["pillow", "array", "tensor HWC", "tensor CHW", "float CHW"],
)
def test_every_kind_of_item_gives_the_same_images(convert: Any) -> None:
    bare = load_dataset(Listed([convert(one) for one in PIXELS]))
    assert np.array_equal(bare.images, NCHW)
    assert bare.labels is None
    pairs = [(convert(one), i) for i, one in enumerate(PIXELS)]
    labelled = load_dataset(Listed(pairs, ["a", "b", "c"]))
    assert np.array_equal(labelled.images, NCHW)
    assert (labelled.labels.tolist(), labelled.class_names) == ([0, 1, 2], ("a", "b", "c"))


def test_a_tensor_dataset_with_tensor_labels_loads() -> None:
    dataset = TensorDataset(torch.zeros(4, 1, 5, 5), torch.tensor([0, 1, 1, 0]))
    loaded = load_dataset(dataset)
    assert loaded.images.shape == (4, 1, 5, 5)
    assert loaded.labels is not None
    assert loaded.labels.tolist() == [0, 1, 1, 0]


def test_grey_and_colour_together_become_colour() -> None:
    loaded = load_dataset(Listed([PIXELS[0], PIXELS[1, :, :, 0]]))
    assert loaded.images.shape == (2, 3, 7, 8)


@pytest.mark.parametrize(
    ("item", "says"),
    [
        (torch.full((3, 5, 5), torch.nan), "item 1 of Listed .* NaN"),
        (np.zeros((5, 6, 7), np.uint8), "channels of item 1"),
        ("cat.png", "not an image"),
        (np.zeros((9, 9, 3), np.uint8), "image_size"),
    ],
)
def test_items_that_are_not_images_are_refused(item: Any, says: str) -> None:
    with pytest.raises(InputError, match=says):
        load_dataset(Listed([PIXELS[0], item]))


def test_an_item_that_fails_stops_or_is_skipped() -> None:
    dataset = Listed([(PIXELS[0], 1), OSError("disk"), (PIXELS[1], 0)])
    with pytest.raises(InputError, match="item 1 of Listed: disk"):
        load_dataset(dataset)
    loaded = load_dataset(dataset, on_bad="skip")
    assert loaded.labels is not None
    assert (loaded.labels.tolist(), loaded.skipped) == ([1, 0], ("item 1 of Listed",))


def test_an_empty_dataset_is_refused() -> None:
    with pytest.raises(InputError, match="no items"):
        load_dataset(Listed([]))


def test_different_sizes_are_brought_to_one() -> None:
    items = [PIXELS[0], Image.new("RGB", (20, 30))]
    assert load_dataset(Listed(items), image_size=6).images.shape == (2, 3, 6, 6)
