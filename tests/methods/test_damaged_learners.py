"""Learner files whose description or tensors do not fit, written with a digest that does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import scale
from scale._errors import InputError, ScaleError
from scale._tensors import read_tensors, write_tensors

State, Meta = dict[str, torch.Tensor], dict[str, Any]


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("learners") / "er.safetensors"
    images = np.random.default_rng(0).integers(0, 256, (12, 1, 16, 16), dtype=np.uint8)
    learner = scale.methods.ER(encoder="cnn", augmentation="mnist", steps_per_batch=1)
    learner.partial_fit(images).save(path)
    return path


def shape(*sides: object) -> Callable[[State, Meta], None]:
    return lambda state, meta: meta.update(image_shape=list(sides))


def param(name: str, value: object) -> Callable[[State, Meta], None]:
    return lambda state, meta: meta["params"].update({name: value})


def tensor(name: str, value: Callable[[torch.Tensor], torch.Tensor]) -> Callable[..., None]:
    return lambda state, meta: state.update({name: value(state[name])})


CHANGES = {
    "no shape": lambda state, meta: meta.pop("image_shape"),
    "a shape of text": shape("a", 16, 16),
    "a negative shape": shape(1, -16, 16),
    "two channels": shape(2, 16, 16),
    "a huge shape": shape(1, 10**9, 10**9),
    "other channels": shape(3, 16, 16),
    "huge projections": param("projection_dim", 10**11),
    "a negative size": param("memory_size", -1),
    "a memory too small": param("memory_size", 5),
    "an unknown parameter": param("warp", 9),
    "a temperature of 0": param("tau", 0),
    "an encoder that is a number": param("encoder", 5),
    "params that are a list": lambda state, meta: meta.update(params=[1]),
    "a method that is a number": lambda state, meta: meta.update(method=5),
    "no generator": lambda state, meta: state.pop("view_rng.state"),
    "half a generator": tensor("view_rng.state", lambda t: t[:100]),
    "an empty generator": tensor("view_rng.state", lambda t: t[:0]),
    "images of floats": tensor("memory.images", lambda t: t.float()),
    "images of other size": tensor("memory.images", lambda t: t[:, :, :8]),
    "flat images": tensor("memory.images", lambda t: t.flatten()),
    "fewer arrivals": tensor("memory.arrivals", lambda t: t[:3]),
    "arrivals from the future": tensor("memory.arrivals", lambda t: t + 10**6),
    "several counts": tensor("memory.seen", lambda t: t.repeat(3)),
    "momentum of another shape": tensor("optimizer.0.momentum_buffer", lambda t: t.flatten()),
    "momentum of nothing": lambda state, meta: state.update(
        {"optimizer.77.momentum_buffer": torch.zeros(3)}
    ),
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_learner_that_does_not_fit_is_refused_by_name(
    what: str, saved: Path, tmp_path: Path
) -> None:
    state, meta = read_tensors(saved)
    CHANGES[what](state, meta)
    path = tmp_path / "changed.safetensors"
    write_tensors(path, state, meta)
    with pytest.raises(ScaleError, match=r"changed\.safetensors") as refused:
        scale.load(path)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("path", [None, 5, b"learner"])
def test_a_path_must_be_one(path: object) -> None:
    with pytest.raises(InputError, match="path must be the path of a saved learner"):
        scale.load(path)  # type: ignore[arg-type]
