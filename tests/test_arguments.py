"""Wrong arguments of public functions raise an `InputError` of one line."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse
import torch

import scale
from scale._errors import ScaleError
from scale.data import ImageSet, as_images, card_for, get_dataset, image_files, load_files
from scale.streams import class_over_time

IMAGES = np.zeros((20, 1, 8, 8), np.uint8)
LABELS = np.arange(20) % 4
FEATURES = np.ones((20, 5), np.float32)
SET = ImageSet(IMAGES, LABELS.astype(np.int64), ("a", "b", "c", "d"), "set", "made here")
WRONG: dict[str, Any] = {
    "2.5": 2.5,
    "-1": -1,
    "nan": float("nan"),
    "10**5000": 10**5000,
    "bytes": b"x",
    "ragged": [[1, 2], [3]],
    "objects": np.array([None, {}], dtype=object),
    "complex": FEATURES.astype(complex),
    "masked": np.ma.masked_array(LABELS, LABELS > 2),
    "sparse": scipy.sparse.csr_matrix(FEATURES),
    "sparse tensor": torch.tensor(FEATURES).to_sparse(),
    "meta tensor": torch.empty(20, 5, device="meta"),
    "a square of nan": np.full((20, 5), np.nan, np.float32),
    "fractions": LABELS + 0.5,
    "object": object(),
}
CALLS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "batches": (
        lambda **given: list(itertools.islice(scale.batches(**given), 2)),
        {"source": IMAGES, "batch_size": 4},
    ),
    "Stream": (scale.Stream, {"images": IMAGES, "order": np.arange(5), "batch_size": 4}),
    "seek": (scale.Stream(IMAGES).seek, {"cursor": 0}),
    "make_order": (
        scale.make_order,
        {"stream": "seq", "labels": LABELS, "samples_per_class": 2, "class_order": "natural"}
        | {"seed": 0, "num_samples": 20},
    ),
    "class_over_time": (
        class_over_time,
        {"order": np.arange(20), "labels": LABELS, "num_classes": 4, "bins": 3},
    ),
    "load_dataset": (
        scale.load_dataset,
        {"dataset": IMAGES, "split": "train", "label": None, "image_size": 8}
        | {"on_bad": "stop", "progress": None},
    ),
    "as_images": (as_images, {"array": IMAGES}),
    "card_for": (card_for, {"dataset": "mnist"}),
    "get_dataset": (get_dataset, {"name": "digits"}),
    "image_files": (image_files, {"source": "nowhere"}),
    "load_files": (lambda files: load_files(files, None), {"files": []}),  # type: ignore[arg-type]
    "ImageSet": (
        ImageSet,
        {"images": IMAGES, "labels": SET.labels, "class_names": SET.class_names, "name": "set"}
        | {"source": "made here", "skipped": ()},
    ),
    "register_dataset": (
        lambda name: scale.register_dataset(name)(lambda split, options: SET),
        {"name": "digits"},
    ),
}
UNCHECKED = {("ImageSet", "source")}  # only shown
CASES = [
    (call, name)
    for call, (_, given) in CALLS.items()
    for name in given
    if (call, name) not in UNCHECKED
]


@pytest.mark.parametrize(("call", "argument"), [one for one in CASES if one not in UNCHECKED])
@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_argument_is_refused_in_one_line(call: str, argument: str, wrong: str) -> None:
    function, given = CALLS[call]
    with pytest.raises(ScaleError) as caught:
        function(**{**given, argument: WRONG[wrong]})
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize("indices", [10**12, 2.5, "a", [[0]], np.ones(3, bool), object()])
def test_a_subset_needs_indices_of_its_images(indices: Any) -> None:
    with pytest.raises(ScaleError, match="indices must be"):
        SET.subset(indices)


def test_labels_of_a_trillion_take_no_memory() -> None:
    assert len(scale.make_order("seq", np.array([0, 10**12, 0, 10**12]))) == 4


@pytest.mark.parametrize("value", [0, -1, True])
def test_counts_start_at_one(value: int) -> None:
    for call, name in (("batches", "batch_size"), ("make_order", "samples_per_class")):
        function, given = CALLS[call]
        with pytest.raises(ScaleError, match=f"{name} must be"):
            function(**{**given, name: value})


def test_batches_that_do_not_fit_in_memory_are_refused_before_they_are_made() -> None:
    with pytest.raises(ScaleError, match=r"needs at least .* of memory"):
        next(scale.batches(IMAGES, 10**13))
