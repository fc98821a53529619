"""What a learner says to images that it cannot use: one gate, asked through one learner."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from scale._errors import InputError

from .learners import differences, images, learn, make, state

UNUSABLE = {
    "no images": (images(0), "empty batch; pass at least one image"),
    "floats": (images().astype(np.float32) / 255, r"uint8 .* got float32; .*astype\('uint8'\)"),
    "not a number": (np.full((3, 1, 28, 28), np.nan), "uint8 .* got float64"),
    "int64": (images().astype(np.int64), "uint8 .* got int64"),
    "bool": (images() > 100, "uint8 .* got bool"),
    "float tensor": (torch.rand(3, 1, 28, 28), "uint8 .* got torch.float32"),
    "one image": (images(1)[0], r"4 dimensions.* got shape \(1, 28, 28\); .*images\[None\]"),
    "five dimensions": (images()[None], "4 dimensions"),
    "a number": (np.uint8(3), "array"),
    "a list": ([[1, 2]], "numpy array or a torch tensor, got list"),
    "nothing": (None, "numpy array or a torch tensor, got NoneType"),
    "no pixels": (images(2, shape=(1, 0, 0)), r"must have pixels, got shape \(2, 1, 0, 0\)"),
    "channels nowhere": (images(2, shape=(5, 28, 28)), "where the channels .* are"),
}
UNFIT = {
    "other size": (images(shape=(1, 32, 32)), r"\(1, 32, 32\).*started with \(1, 28, 28\).*resize"),
    "other channels": (images(shape=(3, 28, 28)), r"started with \(1, 28, 28\)"),
}


@pytest.mark.parametrize("case", UNUSABLE)
@pytest.mark.parametrize("call", ["partial_fit", "transform"])
def test_unusable_images_are_refused_at_the_start(call, case):
    batch, message = UNUSABLE[case]
    learner = make("er")
    params = dict(vars(learner))
    with pytest.raises(InputError, match=message):
        getattr(learner, call)(batch)
    assert vars(learner) == params


@pytest.mark.parametrize("call", ["partial_fit", "transform"])
def test_unusable_and_unfit_images_change_nothing_later(call):
    learner = learn(make("er"), images())
    before = state(learner)
    for batch, message in (*UNUSABLE.values(), *UNFIT.values()):
        with pytest.raises(InputError, match=message):
            getattr(learner, call)(batch)
    assert differences(before, state(learner)) == []


def test_saving_before_learning_says_what_to_do(tmp_path):
    with pytest.raises(InputError, match="nothing to save yet: call partial_fit first"):
        make("er").save(tmp_path / "learner")
    assert list(tmp_path.iterdir()) == []


def test_a_refused_first_batch_does_not_fix_the_image_size():
    learner = make("er")
    with pytest.raises(InputError, match="empty"):
        learn(learner, images(0, shape=(3, 16, 16)))
    assert len(learn(learner, images()).transform(images(2))) == 2


def test_a_device_that_is_not_there_is_refused_by_its_name():
    with pytest.raises(InputError, match="gpuu"):
        learn(make("er", device="gpuu"), images())
