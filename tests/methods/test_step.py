"""`step_`: the number of batches learned tells which state of a learner made an embedding."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch

from scale import load
from scale._errors import DamagedFileError, InputError
from scale._tensors import read_tensors, write_tensors
from scale.methods import Learner

from .learners import fit, images, learn, make


def state_and_embedding(learner: Learner) -> tuple[int, np.ndarray]:
    with learner.reading() as still:
        return still.step_, still.transform(images(3))


@pytest.mark.parametrize("name", ["er", "pixels"])
def test_it_counts_batches_and_goes_on_after_loading(name, tmp_path):
    learner = make(name)
    assert learner.step_ == 0
    fit(learner, last=3)
    learner.save(tmp_path / "learner")
    loaded = load(tmp_path / "learner")
    assert learner.step_ == loaded.step_ == 3
    assert learn(loaded, images(1)).step_ == 4


def test_a_batch_that_fails_is_not_counted():
    learner = fit(make("er"), last=2)
    with pytest.raises(InputError):
        learn(learner, images(0))
    assert learner.step_ == 2


def test_a_fresh_fit_counts_anew():
    learner = fit(make("patches"), last=4)
    assert learner.fit(images(130)).step_ == 2


def test_another_thread_reads_it_with_its_embedding():
    learner = fit(make("patches"), last=2)
    with ThreadPoolExecutor(1) as pool:
        step, embedding = pool.submit(state_and_embedding, learner).result()
    assert step == learner.step_ == 2
    np.testing.assert_array_equal(embedding, learner.transform(images(3)))


@pytest.mark.parametrize("step", [None, torch.tensor(-1), torch.tensor(2.0), torch.ones(2).long()])
def test_a_file_without_it_is_damaged(step, tmp_path):
    fit(make("pixels"), last=1).save(tmp_path / "learner")
    tensors, meta = read_tensors(tmp_path / "learner")
    tensors = {**tensors, "step": step} if step is not None else {}
    write_tensors(tmp_path / "learner", tensors, meta)
    with pytest.raises(DamagedFileError, match="no number of batches learned"):
        load(tmp_path / "learner")
