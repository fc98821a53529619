"""Labels reach the learners that declare them, and no other."""

from __future__ import annotations

import dataclasses
import functools
import gc
import types
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import pytest
import torch

from scale._errors import InputError
from scale.memory import POLICIES
from scale.methods import ER, METHODS, Knowledge, Learner, Replay, SupCon, register_method
from scale.runs import RunConfig, read_metrics, run

from .learners import SMALL, differences, images, make, state

REPLAYING = [
    name
    for name in METHODS
    if issubclass(METHODS[name], Replay) and "memory_policy" in make(name).get_params()
]
BLIND = [name for name in METHODS if not make(name).needs_labels]
SIGHTED = [name for name in METHODS if make(name).needs_labels]
PARAMS = {**SMALL, "memory_size": 30, "memory_batch": 10, "steps_per_batch": 1}
MIXED = {"stream": "iid", "stream_batch": 40}  # 40 labels in a row are found by chance nowhere


class Records:
    """What a learner was given: mixed into a method in front of its own `partial_fit`."""

    made: ClassVar[list[Any]]

    def start(self, image_shape: tuple[int, int, int]) -> None:
        super().start(image_shape)  # type: ignore[misc]
        self.images_given: list[np.ndarray] = []
        self.labels_given: list[object] = []
        self.labels_learned: list[object] = []
        type(self).made.append(self)

    def partial_fit(self, images: Any, labels: object = None) -> Self:
        self.images_given.append(images.copy())
        self.labels_given.append(labels)
        return super().partial_fit(images, labels)  # type: ignore[misc, no-any-return]

    def learn(self, batch: object, labels: object) -> None:
        self.labels_learned.append(labels)
        super().learn(batch, labels)  # type: ignore[misc]


@dataclass(kw_only=True)
class Blind(Records, ER):
    """A method that says nothing of labels."""

    made: ClassVar[list[Any]] = []


@dataclass(kw_only=True)
class Sighted(Records, ER):
    """A method that declares labels."""

    made: ClassVar[list[Any]] = []
    knows: ClassVar[Knowledge] = Knowledge(labels=True)


@pytest.fixture(params=[Blind, Sighted])
def recording(request: pytest.FixtureRequest) -> Iterator[type[Learner]]:
    """A method that is registered for the time of one test."""
    method: Any = request.param
    method.made.clear()
    yield register_method("recording")(method)
    del METHODS._entries["recording"]


def config(dataset: Path, method: str, **changes: Any) -> RunConfig:
    known = {field.name for field in dataclasses.fields(METHODS[method])}
    params = {**PARAMS, **changes.pop("params", {})}
    params = {name: value for name, value in params.items() if name in known}
    settings = {"stream_batch": 20, "evaluations": 1, **changes}
    return RunConfig(dataset=str(dataset), method=method, params=params, **settings)


def labels_of(dataset: Path, stream: list[np.ndarray]) -> list[np.ndarray]:
    """The true classes of each batch, found by its images."""
    with np.load(dataset) as stored:
        pairs = zip(stored["x_train"], stored["y_train"], strict=True)
        label_of = {image.tobytes(): int(label) for image, label in pairs}
    return [np.array([label_of[image.tobytes()] for image in batch]) for batch in stream]


def reachable(root: object) -> Iterator[np.ndarray]:
    """Everything numeric that can be reached from an object or its classes, whole buffers."""
    seen: dict[int, object] = {}
    ahead = [root, *(dict(vars(kind)) for kind in type(root).__mro__)]
    while ahead:
        thing = ahead.pop()
        if id(thing) in seen or isinstance(thing, types.ModuleType | type):
            continue
        seen[id(thing)] = thing
        # The globals of a function are its module's: not what the learner holds.
        outside = [getattr(thing, name, None) for name in ("__globals__", "__builtins__")]
        ahead += [held for held in gc.get_referents(thing) if all(held is not o for o in outside)]
        if isinstance(thing, torch.Tensor):
            buffer = torch.empty(0, dtype=thing.dtype, device=thing.device)
            yield buffer.set_(thing.untyped_storage()).cpu().numpy()  # type: ignore[call-overload]
        elif isinstance(thing, np.ndarray):
            ahead.append(thing.base)
            yield thing.ravel()
        elif isinstance(thing, list | tuple) and all(isinstance(x, int) for x in thing):
            yield np.array(thing, dtype=object)


def holds(root: object, labels: np.ndarray) -> bool:
    """Whether these labels lie one after the other in anything that can be reached."""
    return any(occurs(array, labels) for array in reachable(root))


def occurs(values: np.ndarray, labels: np.ndarray) -> bool:
    starts = np.arange(max(len(values) - len(labels) + 1, 0))
    for offset, label in enumerate(labels):
        starts = starts[values[starts + offset] == label]
    return len(starts) > 0


def test_a_run_gives_labels_to_a_method_that_declares_them_and_to_no_other(
    recording: Any, small_set: Path, tmp_path: Path
) -> None:
    run(config(small_set, "recording", **MIXED), tmp_path / "run")
    (learner,) = recording.made
    assert len(learner.images_given) == 3
    true = labels_of(small_set, [batch[:, 0] for batch in learner.images_given])
    assert all(len(set(labels.tolist())) == 3 for labels in true)
    if recording is Blind:
        assert learner.labels_given == [None] * 3
        assert learner.labels_learned == [None] * 3
        assert not any(holds(learner, labels) for labels in true)
        assert learner.memory_.columns == {}
    else:
        for given, labels in zip(learner.labels_given, true, strict=True):
            np.testing.assert_array_equal(given, labels)
        assert all(holds(learner, labels) for labels in true), "the search finds what is there"


def test_the_search_finds_labels_wherever_a_learner_may_keep_them() -> None:
    labels = np.random.default_rng(0).integers(0, 3, 40)
    learner: Any = make("er")
    learner.partial_fit(images())
    assert not holds(learner, labels)
    hidden = labels.copy()
    padded = np.concatenate([[7], hidden, [7]])
    for place in (
        hidden.astype(np.float32),
        [{"deep": (torch.from_numpy(hidden),)}],
        hidden.tolist(),
        deque([padded[3:5]]),
        torch.from_numpy(padded)[3:5],
        lambda: hidden,
        functools.partial(print, key=hidden),
        torch.nn.Parameter(torch.from_numpy(hidden).float()),
    ):
        learner.encoder_.kept = place
        assert holds(learner, labels), place
        del learner.encoder_.kept


def test_a_refusal_says_how_to_call() -> None:
    with pytest.raises(InputError, match=r"'er' may not see labels; .*partial_fit\(images\)"):
        make("er").partial_fit(images(), np.zeros(12, np.int64))
    with pytest.raises(InputError, match=r"'supcon'.*learns from labels; .*images, labels\)"):
        make("supcon").partial_fit(images())


def test_the_only_methods_that_see_labels_are_the_supervised_references() -> None:
    assert SIGHTED == ["supcon"]
    assert [name for name in POLICIES if POLICIES[name].knows.labels] == ["label"]


WRONG = {
    "floats": (np.zeros(12), "labels must be integers, got float64"),
    "bools": (np.zeros(12, bool), "labels must be integers, got bool"),
    "names": (["cat"] * 12, "labels must be integers, got list"),
    "objects": ([None] * 12, "labels must be integers, got list"),
    "too few": (np.zeros(11, int), r"labels must have shape \(12,\), .* got \(11,\)"),
    "too many": (np.zeros(13, int), r"got \(13,\)"),
    "one for all": (3, r"got \(\)"),
    "one-hot": (np.eye(12, dtype=int), r"got \(12, 12\)"),
    "a column": (np.zeros((12, 1), int), r"got \(12, 1\)"),
}


@pytest.mark.parametrize("case", WRONG)
def test_labels_that_cannot_be_used_are_refused_and_change_nothing(case: str) -> None:
    labels, message = WRONG[case]
    learner = make("supcon")
    params = dict(vars(learner))
    with pytest.raises(InputError, match=message):
        learner.partial_fit(images(), labels)
    assert vars(learner) == params
    learner.partial_fit(images(), np.arange(12) % 3)
    before = state(learner)
    with pytest.raises(InputError, match=message):
        learner.partial_fit(images(seed=1), labels)
    assert differences(before, state(learner)) == []


@pytest.mark.parametrize(
    "kind", [list, tuple, np.int32, np.uint8, torch.from_numpy], ids=lambda kind: kind.__name__
)
def test_integers_of_any_kind_are_labels(kind: Any) -> None:
    labels = np.arange(12) % 3
    given, usual = make("supcon"), make("supcon")
    given.partial_fit(images(), kind(labels))
    usual.partial_fit(images(), labels)
    assert differences(state(given), state(usual)) == []


def test_the_callers_labels_are_neither_kept_nor_changed() -> None:
    learner: Any = make("supcon")
    labels = np.arange(12) % 3
    learner.partial_fit(images(), labels)
    assert labels.tolist() == [0, 1, 2] * 4
    labels[:] = 9
    assert learner.memory_.columns["labels"].tolist() == [0, 1, 2] * 4


@pytest.mark.parametrize("name", REPLAYING)
def test_a_memory_that_is_balanced_by_label_needs_labels_and_keeps_them(name: str) -> None:
    learner: Any = make(name, memory_policy="label", memory_size=18, steps_per_batch=1)
    assert learner.needs_labels
    assert make(name, memory_policy="fifo").needs_labels == METHODS[name].knows.labels
    for labels in ([0] * 12, [1] * 12, [2] * 12):
        learner.partial_fit(images(), labels)
    assert learner.memory_.columns["labels"].bincount().tolist() == [6, 6, 6]


def test_a_run_gives_labels_to_a_memory_that_is_balanced_by_them(
    small_set: Path, tmp_path: Path
) -> None:
    run(config(small_set, "er", params={"memory_policy": "label"}), tmp_path / "run")
    batches = read_metrics(tmp_path / "run" / "metrics.jsonl", "batch")
    assert batches[-1]["memory"] == [10, 10, 10]


@pytest.mark.parametrize(("name", "params"), [("supcon", {}), ("er", {"memory_policy": "label"})])
def test_data_without_labels_is_refused_by_whoever_needs_them(
    name: str, params: dict[str, str], tmp_path: Path
) -> None:
    np.save(tmp_path / "images.npy", images(20)[:, 0])
    data = config(tmp_path / "images.npy", name, stream="as-is", params=params)
    with pytest.raises(
        InputError, match=rf"{name} .*learns from labels, and .*images.npy has none"
    ):
        run(data, tmp_path / "run")


def test_a_learner_that_goes_on_from_a_file_still_needs_labels(tmp_path: Path) -> None:
    learner = make("supcon").partial_fit(images(), np.arange(12) % 3)
    assert isinstance(learner, SupCon)
    learner.save(tmp_path / "learner")
    again = type(learner)(**learner.get_params())
    again.start((1, 28, 28))
    again.load_state_dict(learner.state_dict())
    with pytest.raises(InputError, match="learns from labels"):
        again.partial_fit(images())
    for one in (learner, again):
        one.partial_fit(images(seed=1), np.arange(12) % 2)
    assert differences(state(learner), state(again)) == []
