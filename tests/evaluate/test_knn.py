import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.neighbors import KNeighborsClassifier

from scale._errors import InputError
from scale.evaluate import knn_accuracy, knn_predict, per_class_accuracy
from scale.evaluate.knn import NeighbourSearch


def blobs(count, dims=16, classes=7, seed=0, offset=0.0):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, classes, count)
    centres = np.random.default_rng(99).normal(size=(classes, dims))
    features = centres[labels] + 1.5 * rng.normal(size=(count, dims)) + offset
    return features.astype(np.float32), labels


@settings(max_examples=40, derandomize=True)
@given(
    st.integers(1, 90),
    st.integers(1, 40),
    st.integers(1, 120),
    st.sampled_from(["euclidean", "cosine"]),
    st.integers(1, 100),
    st.integers(0, 10**6),
)
def test_predictions_equal_those_of_scikit_learn(bank_size, queries, k, metric, chunk, seed):
    bank, labels = blobs(bank_size, seed=seed)
    asked, _ = blobs(queries, seed=seed + 1)
    labels = labels * 10 - 3  # neither contiguous nor all positive
    reference = KNeighborsClassifier(min(k, bank_size), metric=metric).fit(bank, labels)
    found = knn_predict(bank, labels, asked, k=k, metric=metric, chunk=chunk)
    np.testing.assert_array_equal(found, reference.predict(asked))


@settings(max_examples=20, derandomize=True)
@given(st.lists(st.integers(1, 40), min_size=1, max_size=5), st.sampled_from([None, 0.1]))
def test_a_bank_in_parts_gives_the_neighbours_of_the_whole(sizes, temperature):
    bank, labels = blobs(sum(sizes), seed=len(sizes))
    asked, _ = blobs(25, seed=99)
    options = {"k": 9, "metric": "cosine", "temperature": temperature}
    search, start = NeighbourSearch(asked, **options), 0
    for size in sizes:
        search.add(bank[start : start + size], labels[start : start + size])
        start += size
    np.testing.assert_array_equal(search.predict(), knn_predict(bank, labels, asked, **options))


def test_euclidean_order_survives_a_large_common_offset():
    bank, labels = blobs(500, seed=1, offset=1000.0)
    queries, _ = blobs(200, seed=2, offset=1000.0)
    reference = KNeighborsClassifier(5).fit(bank.astype(np.float64), labels)
    np.testing.assert_array_equal(
        knn_predict(bank, labels, queries, k=5), reference.predict(queries.astype(np.float64))
    )


@pytest.mark.parametrize("temperature", [0.001, 0.1, 2.0])
def test_weighted_vote_equals_the_formula_written_out(temperature):
    bank, labels = blobs(60, seed=3)
    queries, _ = blobs(30, seed=4)
    expected = []
    for query in queries.astype(np.float64):
        cosine = bank @ query / np.linalg.norm(bank, axis=1) / np.linalg.norm(query)
        votes = dict.fromkeys(sorted(set(labels)), 0.0)
        for index in np.argsort(-cosine)[:20]:
            votes[labels[index]] += np.exp((cosine[index] - 1) / temperature)
        expected.append(max(votes, key=lambda label: votes[label]))
    found = knn_predict(bank, labels, queries, k=20, metric="cosine", temperature=temperature)
    np.testing.assert_array_equal(found, expected)


def test_the_smallest_label_wins_a_tie_of_votes():
    bank = [[-1.0, 0.0], [1.0, 0.0]]
    assert knn_predict(bank, [8, 5], [[0.0, 0.0]], k=2).tolist() == [5]


def test_more_neighbours_than_the_bank_has_are_clamped():
    assert knn_predict([[0.0], [1.0], [2.0]], [1, 1, 0], [[2.0]], k=50).tolist() == [1]


def test_collapsed_features_score_at_chance():
    labels = np.arange(100) % 10
    assert knn_accuracy(np.ones((100, 4)), labels, np.ones((100, 4)), labels) == pytest.approx(0.1)


def test_accuracy_per_class_averages_to_the_accuracy_of_a_balanced_set():
    bank, bank_labels = blobs(300, seed=5)
    queries, _ = blobs(70, seed=6)
    labels = np.arange(70) % 7
    found = knn_predict(bank, bank_labels, queries)
    overall = knn_accuracy(bank, bank_labels, queries, labels)
    assert per_class_accuracy(labels, found).mean() == pytest.approx(overall)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"k": 0}, "k must be 1 or more"),
        ({"metric": "manhattan"}, "must be 'euclidean' or 'cosine'"),
        ({"temperature": 0.1}, "needs a temperature above 0 and metric='cosine'"),
        ({"temperature": 0.0, "metric": "cosine"}, "temperature above 0"),
        ({"queries": np.zeros((2, 3))}, "same encoder"),
        ({"queries": np.full((2, 2), np.nan)}, "NaN or infinite"),
        ({"bank": np.zeros((0, 2)), "bank_labels": np.zeros(0, int)}, r"\(0, 2\)"),
        ({"bank_labels": np.zeros(3, int)}, "bank labels"),
        ({"bank_labels": np.zeros(4)}, "whole numbers"),
    ],
)
def test_unusable_input_is_refused(change, message):
    given = {"bank": np.eye(4, 2), "bank_labels": np.arange(4), "queries": np.eye(2), "k": 1}
    with pytest.raises(InputError, match=message):
        knn_predict(**(given | change))
