"""Orders: what all registered streams have in common, and each stream."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from scale._errors import InputError, UnknownNameError
from scale.streams import STREAMS, make_order
from scale.streams.seq_bl import seq_bl

unhurried = settings(max_examples=25)

ORDERED = ["iid", "seq", "seq-bl", "seq-im", "seq-cc"]
seeds = st.integers(0, 2**32 - 1)


@st.composite
def labelled(draw, least=1):
    """Draw labels in any order, of up to six classes that need not be 0, 1, 2, ... ."""
    counts = draw(
        st.dictionaries(st.integers(0, 9), st.integers(least, 30), min_size=1, max_size=6)
    )
    labels = np.repeat(list(counts), list(counts.values()))
    return np.random.default_rng(draw(seeds)).permutation(labels)


def equal_classes(classes: int, each: int) -> np.ndarray:
    return np.random.default_rng(0).permutation(np.repeat(np.arange(classes), each))


def test_the_streams_of_the_paper_are_registered():
    assert set(STREAMS) >= {*ORDERED, "as-is"}


@pytest.mark.parametrize("stream", list(STREAMS))
@unhurried
@given(labels=labelled(), seed=seeds, class_order=st.sampled_from(["natural", "seeded"]))
def test_no_sample_comes_twice_and_equal_seeds_are_equal(stream, labels, seed, class_order):
    before = labels.copy()
    order = make_order(stream, labels, class_order=class_order, seed=seed)
    assert order.dtype == np.int64
    assert len(np.unique(order)) == len(order)
    assert (order >= 0).all()
    assert (order < len(labels)).all()
    assert np.array_equal(order, make_order(stream, labels, class_order=class_order, seed=seed))
    assert np.array_equal(labels, before)


@pytest.mark.parametrize("stream", ORDERED)
def test_another_seed_gives_another_order(stream):
    labels = equal_classes(4, 40)
    assert not np.array_equal(make_order(stream, labels), make_order(stream, labels, seed=1))


@unhurried
@given(
    stream=st.sampled_from(["iid", "seq", "seq-bl", "seq-cc"]),
    labels=labelled(),
    u=st.none() | st.integers(1, 40),
    seed=seeds,
)
def test_each_class_gives_u_samples_or_all_it_has(stream, labels, u, seed):
    order = make_order(stream, labels, samples_per_class=u, seed=seed)
    classes, available = np.unique(labels, return_counts=True)
    expected = np.minimum(available, available.min() if u is None else u)
    given_classes, counts = np.unique(labels[order], return_counts=True)
    assert np.array_equal(given_classes, classes)
    assert np.array_equal(counts, expected)


@unhurried
@given(labels=labelled(), seed=seeds)
def test_all_streams_of_one_seed_draw_the_same_samples(labels, seed):
    orders = [
        make_order(name, labels, samples_per_class=5, seed=seed, class_order=class_order)
        for name in ("iid", "seq", "seq-bl", "seq-cc", "as-is")
        for class_order in ("natural", "seeded")
    ]
    assert len({tuple(np.sort(order)) for order in orders}) == 1


@unhurried
@given(labels=labelled(), seed=seeds)
def test_seq_gives_one_class_after_the_other_by_rising_label(labels, seed):
    arriving = labels[make_order("seq", labels, seed=seed)]
    assert (np.diff(arriving) >= 0).all()


def test_seeded_class_order_permutes_whole_classes():
    labels = equal_classes(10, 6)
    seen = set()
    for seed in range(5):
        order = make_order("seq", labels, class_order="seeded", seed=seed)
        natural = make_order("seq", labels, seed=seed)
        blocks = labels[order].reshape(10, 6)
        assert (blocks == blocks[:, :1]).all()
        assert sorted(blocks[:, 0]) == list(range(10))
        by_label = order.reshape(10, 6)[np.argsort(blocks[:, 0])]
        assert np.array_equal(by_label.ravel(), natural)
        seen.add(tuple(blocks[:, 0]))
    assert len(seen) == 5


def test_seq_shuffles_inside_a_class():
    order = make_order("seq", np.zeros(100, int))
    assert not np.array_equal(order, np.arange(100))


def test_iid_mixes_classes_evenly_over_time():
    labels = equal_classes(4, 1000)
    arriving = labels[make_order("iid", labels)].reshape(8, 500)
    table = np.stack([np.bincount(part, minlength=4) for part in arriving])
    assert stats.chi2_contingency(table).pvalue > 1e-3


@unhurried
@given(lengths=st.lists(st.integers(1, 60), min_size=1, max_size=6), seed=seeds)
def test_seq_bl_exchanges_only_mirrored_positions_inside_the_quarters(lengths, seed):
    by_class = np.split(np.arange(sum(lengths)), np.cumsum(lengths)[:-1])
    order = seq_bl(by_class, np.random.default_rng(seed))
    assert np.array_equal(np.sort(order), np.arange(sum(lengths)))
    movable = np.arange(sum(lengths))
    for boundary, before, after in zip(
        np.cumsum(lengths)[:-1], lengths[:-1], lengths[1:], strict=True
    ):
        for distance in range(min(before // 4, after // 4)):
            left, right = boundary - 1 - distance, boundary + distance
            assert {order[left], order[right]} == {left, right}
            movable[[left, right]] = order[[left, right]]
    assert np.array_equal(order, movable)  # nothing else has moved


def test_seq_bl_exchanges_fall_linearly_from_one_half():
    each, runs = 40, 3000
    by_class = [np.arange(each), np.arange(each, 2 * each)]
    rng = np.random.default_rng(0)
    exchanged = sum(seq_bl(by_class, rng)[each : each + each // 4] < each for _ in range(runs))
    for distance, count in enumerate(exchanged):
        probability = 0.5 + (0.05 - 0.5) * distance / (each // 4 - 1)
        assert stats.binomtest(int(count), runs, probability).pvalue > 1e-4


@unhurried
@given(labels=labelled(), seed=seeds)
def test_seq_im_keeps_between_half_and_all_of_each_class(labels, seed):
    arriving = labels[make_order("seq-im", labels, seed=seed)]
    u = np.unique(labels, return_counts=True)[1].min()
    classes, counts = np.unique(arriving, return_counts=True)
    assert np.array_equal(classes, np.unique(labels))
    assert (2 * counts >= u).all()
    assert (counts <= u).all()
    assert (np.diff(arriving) >= 0).all()


def test_seq_im_lengths_are_uniform_bounds_included():
    labels = equal_classes(50, 8)
    lengths = np.concatenate(
        [
            np.bincount(labels[make_order("seq-im", labels, seed=seed)], minlength=50)
            for seed in range(20)
        ]
    )
    counts = np.bincount(lengths, minlength=9)[4:]
    assert counts.sum() == 1000
    assert stats.chisquare(counts).pvalue > 1e-3


@unhurried
@given(classes=st.integers(1, 7), each=st.integers(2, 20), seed=seeds)
def test_seq_cc_gives_neighbouring_pairs_and_an_odd_last_class_alone(classes, each, seed):
    labels = np.repeat(np.arange(classes), each)
    arriving = labels[make_order("seq-cc", labels, seed=seed)]
    assert (np.diff(arriving // 2) >= 0).all()
    assert np.array_equal(np.bincount(arriving), np.full(classes, each))


def test_seq_cc_mixes_the_two_classes_of_a_pair():
    labels = np.repeat(np.arange(2), 500)
    halves = labels[make_order("seq-cc", labels)].reshape(2, 500)
    assert 200 < halves[0].sum() < 300


@unhurried
@given(labels=labelled())
def test_as_is_keeps_the_order_of_the_data(labels):
    assert np.array_equal(make_order("as-is", labels), np.arange(len(labels)))
    some = make_order("as-is", labels, samples_per_class=2)
    assert (np.diff(some) > 0).all()


@unhurried
@given(count=st.integers(1, 200), seed=seeds)
def test_iid_and_as_is_need_no_labels(count, seed):
    assert np.array_equal(make_order("as-is", None, num_samples=count), np.arange(count))
    shuffled = make_order("iid", None, num_samples=count, seed=seed)
    assert np.array_equal(np.sort(shuffled), np.arange(count))


@unhurried
@given(labels=labelled(), u=st.integers(1, 5), class_order=st.sampled_from(["natural", "seeded"]))
def test_frames_gives_the_first_of_each_class_in_the_order_of_the_data(labels, u, class_order):
    order = make_order("frames", labels, samples_per_class=u, class_order=class_order, seed=3)
    for label in np.unique(labels):
        of_class = np.flatnonzero(labels == label)
        assert np.array_equal(order[labels[order] == label], of_class[:u])
    assert (np.diff(labels[order]) != 0).sum() == len(np.unique(labels)) - 1
    everything = make_order("frames", labels)
    assert np.array_equal(everything, np.argsort(labels, kind="stable"))
    assert np.array_equal(make_order("frames", None, num_samples=7), np.arange(7))


def test_an_unknown_stream_names_the_near_one():
    with pytest.raises(UnknownNameError, match="did you mean 'seq-bl'"):
        make_order("seq-bll", np.array([0, 1]))


@pytest.mark.parametrize(
    ("stream", "labels", "options", "message"),
    [
        ("seq", None, {"num_samples": 5}, "no labels; use as-is, frames or iid"),
        ("iid", None, {}, "num_samples"),
        ("iid", None, {"num_samples": 5, "samples_per_class": 2}, "needs labels"),
        ("seq", np.array([0, 1]), {"samples_per_class": 0}, "1 or more"),
        ("seq", np.array([0, 1]), {"class_order": "random"}, "natural"),
        ("seq", np.array([0, 1]), {"seed": -1}, "seed"),
    ],
)
def test_wrong_options_are_refused(stream, labels, options, message):
    with pytest.raises(InputError, match=message):
        make_order(stream, labels, **options)
