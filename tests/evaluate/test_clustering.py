import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.cluster import SpectralClustering

from scale._errors import InputError
from scale.evaluate import (
    ari,
    clustering_accuracy,
    kmeans,
    nmi,
    sne_affinity,
    spectral_clustering,
)


def blobs(per_class, classes=4, dims=12, noise=0.15, seed=0):
    labels = np.repeat(np.arange(classes), per_class)
    noise = noise * np.random.default_rng(seed).normal(size=(len(labels), dims))
    return (np.eye(classes, dims)[labels] + noise).astype(np.float32), labels


@pytest.mark.parametrize("kappa", [0.01, 0.1, 1.0])
@pytest.mark.parametrize("chunk", [1, 7, 100])
def test_affinity_equals_the_formula_written_out(kappa, chunk):
    features = np.random.default_rng(0).normal(size=(23, 5)).astype(np.float32)
    unit = features.astype(np.float64) / np.linalg.norm(features, axis=1, keepdims=True)
    conditional = np.zeros((23, 23))
    for i, j in itertools.permutations(range(23), 2):
        others = [k for k in range(23) if k != i]
        conditional[i, j] = np.exp(unit[i] @ unit[j] / kappa) / sum(
            np.exp(unit[i] @ unit[k] / kappa) for k in others
        )
    expected = (conditional + conditional.T) / 2
    found = sne_affinity(features, kappa, chunk=chunk)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, rtol=2e-3, atol=1e-6)


@given(arrays(np.float32, (9, 3), elements=st.floats(-10, 10, width=32)))
def test_affinity_is_symmetric_with_an_empty_diagonal_and_sums_to_the_count(features):
    affinity = sne_affinity(features, chunk=4)
    np.testing.assert_array_equal(affinity, affinity.T)
    assert (affinity.diagonal() == 0).all()
    assert affinity.sum() == pytest.approx(9, rel=1e-4)


@pytest.mark.parametrize("per_class", [30, 120])
def test_separated_classes_are_found_with_either_eigensolver(per_class):
    features, labels = blobs(per_class)
    assert clustering_accuracy(labels, spectral_clustering(features, 4, seed=0)) == 1.0


def test_spectral_clusters_are_those_of_scikit_learn_on_the_same_affinity():
    features, _ = blobs(100, noise=0.3)
    reference = SpectralClustering(4, affinity="precomputed", random_state=0)
    expected = reference.fit_predict(sne_affinity(features).astype(np.float64))
    assert ari(expected, spectral_clustering(features, 4, seed=0)) > 0.98


@pytest.mark.parametrize("cluster", [kmeans, spectral_clustering])
def test_equal_seeds_give_equal_clusters(cluster):
    features = np.random.default_rng(0).normal(size=(400, 8)).astype(np.float32)
    np.testing.assert_array_equal(cluster(features, 5, seed=3), cluster(features, 5, seed=3))


@pytest.mark.parametrize("cluster", [kmeans, spectral_clustering])
@pytest.mark.parametrize("count", [1, 6, 400])
@pytest.mark.parametrize("row", [[0, 0, 0], [1, 2, 3], [1e-30, 0, 0], [3e18, 0, 0]])
def test_collapsed_features_are_clustered_all_the_same(cluster, count, row):
    features = np.tile(np.array(row, dtype=np.float32), (count, 1))
    clusters = cluster(features, min(count, 5), seed=0)
    assert clusters.shape == (count,)
    assert set(clusters) <= set(range(5))


def test_graphs_in_two_pieces_are_split_at_the_gap():
    side = np.repeat([1.0, -1.0], 200)
    features = side[:, None] * np.ones((400, 6))
    assert clustering_accuracy((side > 0).astype(int), spectral_clustering(features, 2, 0)) == 1.0


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("cluster", [kmeans, spectral_clustering])
def test_features_that_are_not_finite_are_refused(cluster, bad):
    with pytest.raises(InputError, match="NaN or infinite"):
        cluster([[0.0, bad], [1.0, 2.0]], 2, seed=0)


@pytest.mark.parametrize("cluster", [kmeans, spectral_clustering])
@pytest.mark.parametrize("T", [0, 4])
def test_a_number_of_clusters_that_cannot_be_is_refused(cluster, T):
    with pytest.raises(InputError, match=f"T must be from 1 to 3, .*got {T}"):
        cluster(np.eye(3), T, seed=0)


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=30))
def test_clustering_accuracy_is_the_best_over_all_assignments(pairs):
    labels, clusters = np.array(pairs).T
    best = max(
        np.mean(np.array(assignment)[clusters] == labels)
        for assignment in itertools.permutations(range(4))
    )
    assert clustering_accuracy(labels, clusters) == pytest.approx(best)


@given(st.permutations(range(5)))
def test_renaming_clusters_changes_no_score(names):
    rng = np.random.default_rng(0)
    labels, clusters = rng.integers(0, 5, (2, 60))
    renamed = np.array(names)[clusters]
    for score in (clustering_accuracy, nmi, ari):
        assert score(labels, renamed) == pytest.approx(score(labels, clusters))
        assert score(labels, np.array(names)[labels]) == pytest.approx(1)
