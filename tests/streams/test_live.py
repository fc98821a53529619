"""Batches from images that arrive one by one."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from scale._errors import InputError
from scale.streams import batches

unhurried = settings(max_examples=25)


@unhurried
@given(sizes=st.lists(st.integers(0, 9), max_size=8), batch_size=st.integers(1, 12))
def test_every_image_comes_once_in_order_in_full_batches(sizes, batch_size):
    total = sum(sizes)
    images = np.arange(total, dtype=np.uint8)[:, None, None, None] * np.ones((1, 4, 5), np.uint8)
    parts = np.split(images, np.cumsum(sizes)[:-1]) if sizes else []
    given_batches = list(batches(iter(parts), batch_size))
    assert [int(i) for batch in given_batches for i in batch[:, 0, 0, 0]] == list(range(total))
    assert all(len(batch) == batch_size for batch in given_batches[:-1])
    assert len(given_batches) == -(-total // batch_size)


def test_arrays_tensors_and_pillow_images_can_be_mixed():
    clear = Image.new("RGBA", (7, 6), (1, 2, 3, 0))
    source = [np.zeros((6, 7, 3), np.uint8), torch.ones(3, 6, 7, dtype=torch.uint8), clear]
    (batch,) = batches(source, 3)
    assert batch.flags.c_contiguous
    assert batch[:, :, 0, 0].tolist() == [[0, 0, 0], [1, 1, 1], [255, 255, 255]]


def test_an_image_without_channels_is_grey():
    (batch,) = batches([np.zeros((6, 7), np.uint8)], 1)
    assert batch.shape == (1, 1, 6, 7)


def test_a_camera_may_reuse_its_buffer():
    def camera():
        frame = np.zeros((8, 8, 3), np.uint8)
        for number in range(4):
            frame[:] = number
            yield frame

    pairs = list(batches(camera(), 2))
    assert [pair[:, 0, 0, 0].tolist() for pair in pairs] == [[0, 1], [2, 3]]


def test_a_batch_is_given_as_soon_as_it_is_full():
    taken = []

    def camera():
        for number in range(100):
            taken.append(number)
            yield np.zeros((4, 4), np.uint8)

    next(batches(camera(), 5))
    assert taken == list(range(5))


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ([np.zeros((4, 4, 3))], "item 0 .* float64"),
        ([np.zeros((5, 6, 7), np.uint8)], "channels of item 0"),
        ([np.zeros((4, 4), np.uint8), np.zeros((5, 4), np.uint8)], "item 1 .* one size"),
    ],
)
def test_other_items_are_refused_by_their_number(source, message):
    with pytest.raises(InputError, match=message):
        list(batches(source, 2))


def test_a_batch_size_below_one_is_refused_at_once():
    with pytest.raises(InputError, match="1 or more"):
        batches([], 0)
