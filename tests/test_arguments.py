"""Wrong arguments of public functions raise an `InputError` of one line."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
import torch

import scale
import scale.live
import scale.methods
import scale.models
import scale.report
import scale.runs
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


def refusal(function: Callable[..., Any], given: dict[str, Any]) -> str:
    """Return what a call says to wrong arguments; nothing if it takes them."""
    try:
        function(**given)
    except ScaleError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(("call", "argument"), CASES)
def test_a_wrong_argument_is_refused_in_one_line(call: str, argument: str) -> None:
    function, given = CALLS[call]
    told = {name: refusal(function, {**given, argument: WRONG[name]}) for name in WRONG}
    assert [name for name, text in told.items() if not text] == []
    assert [text for text in told.values() if "\n" in text or len(text) >= 500] == []


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


LONG, NUL = "x" * 300, "a\0b"


@pytest.mark.parametrize(
    "call",
    [
        lambda: scale.live.load_learner(Path(LONG), print),
        lambda: scale.live.live_parameters("er", given="x"),  # type: ignore[arg-type]
        lambda: scale.runs.config_from(Path(LONG), "digits"),
        lambda: scale.runs.measure_again(Path(LONG), None),
        lambda: scale.report.draw_streams({"iid": [[1.0]]}, ["a"], NUL),
        lambda: scale.report.draw_memory([[1]], ["x"], ["a"], "a.png"),
        lambda: scale.report.draw_curve([{"knn": 1}], {}, "a.png"),
        lambda: scale.report.draw_embedding([("", FEATURES, LABELS)], list("abcd"), "a.png", -1),
        lambda: scale.runs.measures_table({}, ""),
        lambda: scale.methods.restore(torch.ones(2), {}),  # type: ignore[arg-type]
        lambda: scale.models.Projector(-3),
        lambda: scale.models.Projector(8, 10**9),
        lambda: scale.models.build_projector(8, 8, None),  # type: ignore[arg-type]
        lambda: scale.models.build_trunk((1, 8), 8),  # type: ignore[arg-type]
        lambda: scale.models.build_decoder(-1, (1, 8, 8), 8),
        lambda: scale.models.network_bytes((1, 8, 8), 8, 3),  # type: ignore[arg-type]
    ],
)
def test_functions_of_the_sub_packages_refuse_what_they_cannot_use(
    call: Callable[[], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ScaleError):
        call()
    assert not list(tmp_path.iterdir())
