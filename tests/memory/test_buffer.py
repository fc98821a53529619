from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from scale._errors import InputError, UnknownNameError
from scale.memory import POLICIES, Memory


def numbered(first: int, n: int) -> torch.Tensor:
    """Images that say which of the stream they are, (n, 1, 2, 2)."""
    number = torch.arange(first, first + n)
    pixels = torch.stack([number // 256, number % 256, number % 7, number % 3], dim=1)
    return pixels.to(torch.uint8).reshape(n, 1, 2, 2)


def feed(memory: Memory, n: int) -> None:
    """Give memory the next n images of the stream, with what its policy wants to know."""
    batch = numbered(memory.seen, n)
    features = None
    if memory.wants_features(n):
        images = torch.cat([memory.images, batch]) if len(memory) else batch
        features = images.flatten(1).float().sin()
    memory.update(batch, features, classes(memory, n))


def classes(memory: Memory, n: int) -> dict[str, torch.Tensor]:
    """Classes of the next n images, when the policy is one that may know them."""
    known = memory.policy.knows.labels
    return {"labels": torch.arange(memory.seen, memory.seen + n) // 5 % 4} if known else {}


def make(size: int, policy: str, seed: int = 0) -> Memory:
    return Memory(size, policy, torch.Generator().manual_seed(seed), clusters=3)


@pytest.mark.parametrize("policy", list(POLICIES))
@settings(max_examples=15)
@given(size=st.integers(0, 12), batches=st.lists(st.integers(1, 9), max_size=12))
def test_memory_is_bounded_and_knows_where_its_images_came_from(policy, size, batches):
    memory = make(size, policy)
    for n in batches:
        feed(memory, n)
        assert len(memory) == len(memory.arrivals) == min(size, memory.seen)
    assert memory.seen == sum(batches)
    arrivals = memory.arrivals.tolist()
    assert len(set(arrivals)) == len(arrivals)
    for image, arrival in zip(memory.images, arrivals, strict=True):
        assert torch.equal(image, numbered(arrival, 1)[0])


@pytest.mark.parametrize("policy", list(POLICIES))
def test_memory_stays_bounded_over_a_long_stream(policy):
    memory = make(30, policy)
    for _ in range(40):
        feed(memory, 16)
        assert len(memory) <= 30
    assert memory.seen == 640
    assert memory.images.untyped_storage().nbytes() == 30 * 4


@pytest.mark.parametrize("policy", list(POLICIES))
@pytest.mark.parametrize("n", [4, 10, 25])
def test_images_are_copies(policy, n):
    memory = make(10, policy)
    for _ in range(3):
        batch = torch.full((n, 1, 2, 2), 7, dtype=torch.uint8)
        wanted = memory.wants_features(n)
        features = torch.randn(len(memory) + n, 3) if wanted else None
        memory.update(batch, features, classes(memory, n))
        batch.zero_()
        assert (memory.images == 7).all()


@given(m=st.integers(0, 20), fed=st.integers(0, 15))
def test_a_sample_has_no_image_twice_and_at_most_all(m, fed):
    memory = make(10, "fifo")
    if fed:
        feed(memory, fed)
    sample = memory.sample(m)
    stored = {image.numpy().tobytes() for image in memory.images}
    drawn = [image.numpy().tobytes() for image in sample]
    assert len(drawn) == len(set(drawn)) == min(m, len(memory))
    assert set(drawn) <= stored


def test_sampling_draws_every_image_equally_often():
    memory = make(10, "fifo")
    feed(memory, 10)
    counts = torch.zeros(10)
    for _ in range(2000):
        counts[memory.sample(3)[:, 0, 0, 1].long()] += 1
    assert ((counts / 2000 - 0.3).abs() < 4.5 * (0.3 * 0.7 / 2000) ** 0.5).all()


def test_changing_a_sample_does_not_change_memory():
    memory = make(10, "fifo")
    feed(memory, 10)
    before = memory.images.clone()
    memory.sample(10).zero_()
    assert torch.equal(memory.images, before)


def test_a_memory_of_size_zero_counts_but_keeps_nothing():
    memory = make(0, "psa")
    feed(memory, 5)
    assert (len(memory), memory.seen, len(memory.sample(4))) == (0, 5, 0)
    assert not memory.wants_features(5)


@pytest.mark.parametrize("policy", list(POLICIES))
@pytest.mark.parametrize("batches", [0, 1, 6])
def test_going_on_from_a_saved_state_equals_not_stopping(policy, batches):
    whole = make(20, policy, seed=1)
    for _ in range(batches):
        feed(whole, 8)
    other = make(20, policy, seed=99)
    other.load_state_dict({name: t.clone() for name, t in whole.state_dict().items()})
    other.generator.set_state(whole.generator.get_state())
    for _ in range(5):
        assert torch.equal(whole.sample(7), other.sample(7))
        feed(whole, 8)
        feed(other, 8)
        assert torch.equal(whole.images, other.images)
        assert torch.equal(whole.arrivals, other.arrivals)
        assert whole.columns.keys() == other.columns.keys()
        assert all(torch.equal(rows, other.columns[name]) for name, rows in whole.columns.items())
    assert whole.seen == other.seen


def test_a_loaded_memory_does_not_alias_the_state():
    memory = make(5, "fifo")
    feed(memory, 5)
    state = {name: tensor.clone() for name, tensor in memory.state_dict().items()}
    other = make(5, "fifo")
    other.load_state_dict(state)
    state["images"].zero_()
    assert torch.equal(other.images, memory.images)


def test_features_are_wanted_only_by_policies_that_use_them_and_only_when_full():
    assert not make(10, "psa").wants_features(10)
    assert make(10, "psa").wants_features(11)
    assert not make(10, "fifo").wants_features(11)


def test_a_negative_size_is_refused():
    with pytest.raises(InputError, match="memory_size must be 0 or more"):
        make(-1, "fifo")


def test_an_unknown_policy_is_named_with_the_nearest_one():
    with pytest.raises(UnknownNameError, match="did you mean 'reservoir'"):
        make(10, "reservior")
