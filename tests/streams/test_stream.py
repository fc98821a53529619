"""The iterator over a stream: one pass, copies, and going on from a cursor."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scale._errors import InputError
from scale.streams import STREAMS, Stream, make_order

unhurried = settings(max_examples=25)


def numbered(count: int) -> np.ndarray:
    """Give images that carry their own index in their first two pixels."""
    images = np.zeros((count, 1, 2, 2), np.uint8)
    images[:, 0, 0, 0], images[:, 0, 0, 1] = np.arange(count) % 256, np.arange(count) // 256
    return images


def indices(batches) -> list[int]:
    return [int(i[0, 0, 0]) + 256 * int(i[0, 0, 1]) for batch in batches for i in batch]


@unhurried
@given(count=st.integers(1, 60), batch_size=st.integers(1, 70), data=st.data())
def test_batches_follow_the_order_once(count, batch_size, data):
    order = np.array(data.draw(st.permutations(range(count))))[: data.draw(st.integers(1, count))]
    stream = Stream(numbered(count), order, batch_size)
    batches = list(stream)
    assert indices(batches) == order.tolist()
    assert len(batches) == len(stream)
    assert {len(batch) for batch in batches[:-1]} <= {batch_size}
    assert stream.cursor == stream.num_samples == len(order)
    assert list(stream) == []


@unhurried
@given(
    name=st.sampled_from(list(STREAMS)),
    stops=st.lists(st.integers(0, 12), max_size=4),
    seed=st.integers(0, 1000),
)
def test_resuming_from_any_cursor_equals_not_stopping(name, stops, seed):
    labels = np.arange(100) % 4
    order = make_order(name, labels, seed=seed)
    whole = list(Stream(numbered(100), order, batch_size=9))
    resumed, cursor = [], 0
    for stop in [*stops, len(whole)]:
        stream = Stream(numbered(100), make_order(name, labels, seed=seed), batch_size=9)
        stream.seek(cursor)
        resumed += itertools.islice(stream, stop)
        cursor = stream.cursor
    assert len(resumed) == len(whole)
    assert all(np.array_equal(a, b) for a, b in zip(resumed, whole, strict=True))


@unhurried
@given(cursor=st.integers(0, 50))
def test_a_cursor_inside_a_batch_goes_on_with_the_next_sample(cursor):
    stream = Stream(numbered(50), batch_size=8)
    stream.seek(cursor)
    assert indices(stream) == list(range(cursor, 50))


def test_batches_are_contiguous_copies_whatever_the_layout():
    images = np.zeros((6, 4, 5, 3), np.uint8).transpose(0, 3, 1, 2)
    order = np.arange(6)
    stream = Stream(images, order, batch_size=4)
    order[:] = 0
    batch = next(stream)
    assert batch.shape == (4, 3, 4, 5)
    assert batch.flags.c_contiguous
    batch[:] = 255
    assert images.max() == 0
    assert stream.order.tolist() == list(range(6))


def test_a_memory_map_streams_as_plain_arrays(tmp_path):
    np.save(tmp_path / "images.npy", numbered(10))
    mapped = np.load(tmp_path / "images.npy", mmap_mode="r", allow_pickle=False)
    batches = list(Stream(mapped, batch_size=4))
    assert indices(batches) == list(range(10))
    assert {type(batch) for batch in batches} == {np.ndarray}


def test_an_empty_order_is_an_empty_stream():
    stream = Stream(numbered(3), np.array([], int))
    assert len(stream) == 0
    assert list(stream) == []


@pytest.mark.parametrize(
    ("images", "options", "message"),
    [
        (np.zeros((2, 1, 4, 4)), {}, "uint8"),
        (np.zeros((2, 4, 4), np.uint8), {}, "N, C, H, W"),
        (numbered(3), {"batch_size": 0}, "1 or more"),
        (numbered(3), {"order": np.array([0, 3])}, "3 images"),
        (numbered(3), {"order": np.array([-1, 0])}, "3 images"),
        (numbered(3), {"order": np.array([1, 1])}, "twice"),
        (numbered(3), {"order": np.array([0.5])}, "indices"),
        (numbered(3), {"order": np.zeros((1, 1), int)}, "indices"),
    ],
)
def test_wrong_images_and_orders_are_refused(images, options, message):
    with pytest.raises(InputError, match=message):
        Stream(images, **options)


@pytest.mark.parametrize("cursor", [-1, 4])
def test_a_cursor_outside_the_stream_is_refused(cursor):
    with pytest.raises(InputError, match="outside"):
        Stream(numbered(3)).seek(cursor)


def test_nothing_of_a_stream_holds_labels():
    labels = np.arange(12) % 3
    stream = Stream(numbered(12), make_order("seq", labels), batch_size=4)
    assert set(vars(stream)) == {"images", "order", "batch_size", "_cursor"}
