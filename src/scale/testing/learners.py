"""Checks of the contract of learners."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import torch

from scale.methods import METHODS, Learner
from scale.testing._subject import Subject, fit, images, learn, saved_and_loaded, state
from scale.testing._tools import (
    differences,
    disturb_global_generators,
    global_random_state,
    held_by,
    listed,
)
from scale.testing.mistakes import (
    check_bad_images,
    check_failed_start,
    check_labels,
    check_sklearn_params,
)
from scale.testing.threads import check_threads

LearnerCheck = Callable[..., None]


def check_learner(method: type[Learner], **params: Any) -> None:
    """Check that a learner's class keeps every rule of the contract.

    Parameters
    ----------
    method
        The class, registered with `scale.register_method`.
    params
        Parameters to check it with. Small values of `encoder`, `augmentation`,
        `steps_per_batch`, `memory_size` and `memory_batch` are filled in.

    Raises
    ------
    AssertionError
        A rule is broken; the message says which, and what to do.
    """
    for check in LEARNER_CHECKS:
        check(method, **params)


def check_registered(method: type[Learner], **params: Any) -> None:
    """A learner is registered under its name, and its presets set only its parameters."""
    subject = Subject(method, params)
    name = vars(method).get("name")
    subject.require(
        name is not None and name in METHODS and METHODS[name] is method,
        "it is not registered, so its files cannot be loaded; add @scale.register_method('name')",
    )
    for preset, values in method.presets.items():
        unknown = values.keys() - {field.name for field in dataclasses.fields(method)}
        subject.require(
            not unknown, f"preset {preset!r} sets {listed(unknown)}, which is no parameter of it"
        )


def check_parameters(method: type[Learner], **params: Any) -> None:
    """Making a learner stores its parameters untouched; learning does not change them."""
    subject = Subject(method, params)
    fields = [field.name for field in dataclasses.fields(method)]
    forgotten = [name for name in _own_annotations(method) if name not in fields]
    subject.require(
        not forgotten,
        f"{listed(forgotten)} is annotated but no parameter; add @dataclass(kw_only=True)",
    )
    before = global_random_state()
    given: dict[str, Any] = {name: object() for name in fields}
    learner = method(**given)
    subject.require(
        vars(learner) == given,
        "making it does more than store the parameters; move the rest to setup",
    )
    subject.require(learner.get_params() == given, "get_params does not return what was given")
    subject.require(
        global_random_state() == before, "making it draws from a global generator; draw in setup"
    )
    learner = subject.new()
    params_before = learner.get_params()
    subject.require(learn(learner, images()) is learner, "partial_fit does not return the learner")
    subject.require(
        learner.get_params() == params_before,
        "learning changes its parameters; keep learned values in attributes that end in _",
    )


def check_features(method: type[Learner], **params: Any) -> None:
    """Features are one finite float32 row per image, independent of the other images."""
    subject = Subject(method, params)
    learner = subject.after(2)
    for n in (1, 9):
        z = learner.transform(images(n))
        good = isinstance(z, np.ndarray) and z.dtype == np.float32 and z.ndim == 2 and len(z) == n
        subject.require(good, "transform does not return one float32 row per image")
        subject.require(bool(np.isfinite(z).all()), "transform returns NaN or infinite features")
    alone = np.concatenate([learner.transform(image[None]) for image in images(9)])
    subject.require(
        np.allclose(z, alone, rtol=1e-4, atol=1e-5),
        "features depend on the other images of the call; use eval mode and no batch statistics",
    )
    kept = z.copy()
    z[:] = np.nan
    subject.require(
        np.array_equal(learner.transform(images(9)), kept),
        "transform returns an array that the learner keeps; return a copy",
    )
    changed = not np.array_equal(subject.new().transform(images()), learner.transform(images()))
    subject.require(
        changed == method.learns,
        f"learns is {method.learns}, but learning "
        + ("changes" if changed else "does not change")
        + " the features; correct `learns` or the update",
    )


def check_transform_is_pure(method: type[Learner], **params: Any) -> None:
    """`transform` changes nothing, before the first batch and between batches."""
    subject = Subject(method, params)
    asked = subject.new()
    for shape in ((3, 32, 32), (1, 32, 32), (1, 28, 28)):
        asked.transform(images(2, shape=shape))
    for batch in range(2):
        fit(asked, batch, batch + 1)
        before = state(asked)
        first = asked.transform(images(20, seed=9))
        changed = differences(before, state(asked))
        subject.require(
            not changed, f"transform changes {listed(changed)}; it may only read the state"
        )
        subject.require(
            np.array_equal(first, asked.transform(images(20, seed=9))),
            "two calls of transform differ; draw nothing at random in it",
        )
    changed = differences(state(asked), subject.state_after(2))
    subject.require(
        not changed,
        f"learning goes another way after transform ({listed(changed)}); transform must leave "
        "state and generators unchanged",
    )


def check_seeds(method: type[Learner], **params: Any) -> None:
    """Equal seeds give equal learners, bit for bit; global generators have no effect."""
    subject = Subject(method, params)
    expected = subject.state_after(2)
    disturb_global_generators()
    before = global_random_state()
    again = subject.after(2)
    again.transform(images())
    saved_and_loaded(again)
    subject.require(
        global_random_state() == before,
        "it draws from a global generator; draw from a generator of its own",
    )
    changed = differences(expected, state(again))
    subject.require(
        not changed, f"two runs of one seed differ ({listed(changed)}); seed all that is random"
    )
    other = subject.after(2, seed=again.seed + 4)
    differ = not np.array_equal(again.transform(images()), other.transform(images()))
    subject.require(
        differ == method.seeded,
        f"seeded is {method.seeded}, but another seed gives "
        + ("other" if differ else "the same")
        + " features; correct `seeded` or use the seed",
    )


def check_save_and_load(method: type[Learner], **params: Any) -> None:
    """Saving, loading and learning on gives the same as learning on, bit for bit."""
    subject = Subject(method, params)
    for stop, end in ((1, 2), (2, 4)):
        whole = subject.after(stop)
        before = state(whole)
        loaded, content = saved_and_loaded(whole)
        subject.require(not differences(before, state(whole)), "saving changes it; only read")
        subject.require(saved_and_loaded(whole)[1] == content, "two files of one state differ")
        subject.require(type(loaded) is method, "its file makes a learner of another class")
        subject.require(
            loaded.get_params() == whole.get_params()
            or not isinstance(subject.params.get("encoder", ""), str),
            "its file changes parameters; use numbers, texts and lists",
        )
        missing = differences(before, state(loaded))
        subject.require(not missing, f"loading does not bring back {listed(missing)}")
        subject.require(
            np.array_equal(whole.transform(images()), loaded.transform(images())),
            "features differ after loading; return everything that has a state from parts",
        )
        fit(loaded, stop, end)
        subject.require(
            not differences(before, state(whole)), "a loaded learner shares memory with the saved"
        )
        missing = differences(subject.state_after(end), state(loaded))
        subject.require(
            not missing,
            f"going on from a file differs from not stopping ({listed(missing)}); return "
            "everything that has a state from parts",
        )


def check_everything_is_saved(method: type[Learner], **params: Any) -> None:
    """A batch leaves the same state in a learner and in its loaded copy."""
    subject = Subject(method, params)
    whole = subject.after(2)
    loaded, _ = saved_and_loaded(whole)
    held = []
    for learner in (whole, loaded):
        fit(learner, 2, 3).transform(images())
        held.append(held_by(learner))
    missing = [name for name in differences(*held) if name.split(".")[0] not in subject.params]
    subject.require(
        not missing,
        f"{listed(missing)} is lost in a file; return it from parts, or compute it from what is",
    )


def check_batches(method: type[Learner], **params: Any) -> None:
    """It learns from batches of any size, also from single images and colour images."""
    subject = Subject(method, params)
    streams: dict[str, list[np.ndarray]] = {
        "single images": [images(1, seed=seed) for seed in range(3)],
        "batches of changing size": [images(n, seed=n) for n in (12, 1, 30)],
        "colour images": [images(6, seed, (3, 32, 32)) for seed in range(2)],
    }
    for what, batches in streams.items():
        learner = subject.new()
        for batch in batches:
            learn(learner, batch)
        z = learner.transform(batches[0])
        subject.require(
            len(z) == len(batches[0]) and bool(np.isfinite(z).all()),
            f"it does not learn from {what}: its features are not finite",
        )


def check_layouts(method: type[Learner], **params: Any) -> None:
    """Arrays and tensors, channels first or last, give equal results and do not change."""
    subject = Subject(method, params)
    layouts: tuple[Callable[[np.ndarray], Any], ...] = (
        np.copy,
        lambda batch: torch.from_numpy(batch.copy()),
        lambda batch: batch.transpose(0, 2, 3, 1).copy(),
        lambda batch: np.repeat(batch, 2, axis=0)[::-1][::2][::-1],
    )
    learner = subject.new()
    for seed, layout in enumerate(layouts):
        given = layout(images(seed=seed))
        before = np.asarray(given).copy()
        learn(learner, given)
        subject.require(np.array_equal(np.asarray(given), before), "it changes the caller's images")
        given[:] = 0
    changed = differences(subject.state_after(len(layouts)), state(learner))
    subject.require(
        not changed,
        f"{listed(changed)} depends on the layout of the images, or keeps the caller's array; "
        "copy what you keep, and leave partial_fit to scale.Learner",
    )


def check_memory_is_bounded(method: type[Learner], **params: Any) -> None:
    """A memory never holds more than its size, and counts every stream image."""
    subject = Subject(method, params)
    learner = subject.new()
    for batch in range(8):
        learn(learner, images(6, seed=batch))
        memory = learner.memory_
        if memory is not None:
            subject.require(
                len(memory) <= memory.size,
                f"memory_ holds {len(memory)} images, but its size is {memory.size}",
            )
            subject.require(
                memory.seen == 6 * (batch + 1), "memory_.seen is not the number of images so far"
            )


def _own_annotations(method: type[Learner]) -> list[str]:
    """Return a class's annotations without class variables and learned attributes."""
    own = vars(method).get("__annotations__", {})
    return [
        name
        for name, hint in own.items()
        if not name.endswith("_") and not name.startswith("_") and not _is_class_variable(hint)
    ]


def _is_class_variable(hint: Any) -> bool:
    if isinstance(hint, str):
        return "ClassVar" in hint
    return typing.get_origin(hint) is ClassVar or hint is ClassVar


LEARNER_CHECKS: tuple[LearnerCheck, ...] = (
    check_registered,
    check_parameters,
    check_features,
    check_transform_is_pure,
    check_seeds,
    check_save_and_load,
    check_everything_is_saved,
    check_batches,
    check_layouts,
    check_memory_is_bounded,
    check_bad_images,
    check_failed_start,
    check_labels,
    check_sklearn_params,
    check_threads,
)
"""The rules one by one: ``check(MyLearner, **params)``; `check_learner` runs all of them."""
