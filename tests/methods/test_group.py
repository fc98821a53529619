"""Two processes compute what one does. SI has a loss on the weights, CaSSLe a past model."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from scale._errors import InputError
from scale.methods import METHODS


@pytest.fixture(scope="module")
def found() -> Any:
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2"]
    done = subprocess.run(
        [*torchrun, "-m", "tests.methods.group_script"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.slow
@pytest.mark.parametrize("encoder", ["cnn", "resnet18"])
def test_gradients_and_statistics_are_those_of_the_whole_batch(found: Any, encoder: str) -> None:
    assert found[encoder]["gradients"] < 1e-10
    assert found[encoder]["statistics"] < 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("method", ["scale", "scale-plus", "si", "cassle", "er in bf16"])
def test_a_learner_ends_as_in_one_process_up_to_rounding(found: Any, method: str) -> None:
    assert found[method]["between processes"] == 0
    # Another order of the views changes only the rounding.
    assert found[method]["together"] < 5 * found[method]["permuted"] + 1e-6


def test_a_method_without_an_encoder_says_that_it_cannot_be_divided() -> None:
    learner = METHODS["pca"]().partial_fit(np.zeros((4, 8, 8, 1), np.uint8))
    with pytest.raises(InputError, match="run it in one process"):
        learner.join(object())
