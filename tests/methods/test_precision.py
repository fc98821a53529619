"""Encoders and projectors that compute in bfloat16; everything else stays float32."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from scale import load
from scale._errors import InputError
from scale.methods.core.precision import chosen, compute_in
from scale.models._conv import Conv3x3

from .learners import differences, fit, images, make, state

METHODS = ["scale", "scale-plus", "pnn", "osiris-r", "cassle"]  # each passes the encoder in its way


@pytest.mark.parametrize("name", METHODS)
def test_a_learner_in_bf16_resumes_exactly_and_its_state_is_fp32(name, tmp_path):
    whole = fit(make(name, precision="bf16", steps_per_batch=1), last=2)
    half = fit(make(name, precision="bf16", steps_per_batch=1), last=1)
    half.save(tmp_path / "learner")
    resumed = fit(load(tmp_path / "learner"), first=1, last=2)
    assert resumed.precision_ == "bf16"
    assert differences(state(whole), state(resumed)) == []
    assert not {t.dtype for t in state(whole).values()} & {torch.bfloat16, torch.float16}
    np.testing.assert_array_equal(whole.transform(images(5)), resumed.transform(images(5)))
    assert whole.transform(images(5)).dtype == np.float32


@pytest.mark.parametrize("name", METHODS)
def test_views_in_bf16_are_encoded_as_in_fp32_but_for_its_rounding(name):
    fine, coarse = (make(name, precision=precision) for precision in ("fp32", "bf16"))
    for learner in (fine, coarse):
        learner.start((1, 28, 28))
    views = fine.draw_views(torch.from_numpy(images(9)))
    expected, found = (one.encode_views(views).detach() for one in (fine, coarse))
    assert not torch.equal(found, expected)
    assert (found - expected).abs().max() < 0.05 * expected.abs().max()


@pytest.mark.parametrize("name", METHODS)
def test_embeddings_are_in_fp32(name):
    fine, coarse = (make(name, precision=precision) for precision in ("fp32", "bf16"))
    np.testing.assert_array_equal(coarse.transform(images(9)), fine.transform(images(9)))


def test_one_update_in_bf16_changes_weights_as_one_in_fp32():
    start, fine, coarse = (make("scale", precision=p, lr=0.01) for p in ("fp32", "fp32", "bf16"))
    start.start((1, 28, 28))
    before = start.encoder_.state_dict()
    fit(fine, last=1)
    fit(coarse, last=1)
    moves = [
        torch.cat([(after[name] - before[name]).flatten() for name in before if "num" not in name])
        for after in (fine.encoder_.state_dict(), coarse.encoder_.state_dict())
    ]
    assert torch.cosine_similarity(moves[0], moves[1], dim=0) > 0.95


def test_a_pass_that_fails_leaves_autocast_off():
    module = nn.Linear(3, 2)
    compute_in(module, "bf16")
    with pytest.raises(RuntimeError):
        module(torch.zeros(1, 4))
    assert not torch.is_autocast_enabled("cpu")
    assert module(torch.zeros(1, 3)).dtype == torch.float32


def test_convolutions_of_small_maps_do_without_winograd_in_bf16():
    """Its transforms add numbers 100 times as large as the result."""
    conv, maps = Conv3x3(32, 32), torch.randn(64, 32, 8, 8)
    exact = nn.functional.conv2d(maps, conv.weight, padding=1)
    compute_in(conv, "bf16")
    found = conv(maps)
    assert (found - exact).abs().max() < 0.02 * exact.abs().max()


def test_auto_is_one_of_both_and_is_recorded():
    assert chosen("auto", "cpu") in ("fp32", "bf16")
    learner = fit(make("er", precision="auto"), last=1)
    assert learner.describe()["params"]["precision"] == "auto"
    assert learner.describe()["precision"] == learner.precision_ == chosen("auto", "cpu")


def test_another_precision_is_refused():
    with pytest.raises(InputError, match="precision must be one of fp32, bf16, auto, got 'fp16'"):
        fit(make("er", precision="fp16"), last=1)
