"""Clustering without labels, and its agreement with the classes."""

from __future__ import annotations

import warnings

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment
from scipy.sparse.linalg import ArpackError, eigsh
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from threadpoolctl import threadpool_limits

from scale._errors import InputError
from scale._numbers import LARGEST_SEED, check_number
from scale.evaluate._checks import check_features, check_pair, normalise

# Below this many rows a dense eigensolver is as fast, and it always converges.
DENSE = 256


def sne_affinity(
    features: ArrayLike, kappa: float = 0.1, *, chunk: int = 512
) -> NDArray[np.float32]:
    """Return the symmetric SNE affinity of the cosines between features.

    ``p(j|i)`` is the softmax over ``k != i`` of ``cos(i, k) / kappa``; the affinity is
    ``(p(j|i) + p(i|j)) / 2``. It needs one ``(N, N)`` float32 matrix, filled in chunks of rows.

    Examples
    --------
    >>> sne_affinity([[1.0, 0.0], [2.0, 0.0], [0.0, 1.0]]).round(2)
    array([[0.  , 1.  , 0.25],
           [1.  , 0.  , 0.25],
           [0.25, 0.25, 0.  ]], dtype=float32)
    """
    check_number("kappa", kappa, above=0)
    check_number("chunk", chunk, least=1, whole=True)
    rows = normalise(check_features(features))  # (N, D)
    count = len(rows)
    if count == 1:
        return np.zeros((1, 1), dtype=np.float32)
    affinity = np.empty((count, count), dtype=np.float32)
    for start in range(0, count, chunk):
        part = affinity[start : start + chunk]  # (chunk, N), a view
        np.matmul(rows[start : start + chunk], rows.T, out=part)
        np.fill_diagonal(part[:, start:], -np.inf)
        part -= part.max(axis=1, keepdims=True)
        part /= kappa
        np.exp(part, out=part)
        part /= part.sum(axis=1, keepdims=True)
    _symmetrise(affinity, chunk)
    return affinity


def spectral_clustering(features: ArrayLike, T: int, seed: int) -> NDArray[np.int64]:
    """Return one of `T` clusters for each feature: k-means on the spectrum of `sne_affinity`.

    Lanczos iterations, started from `seed`, give the eigenvectors of the normalised Laplacian. So
    equal features and seeds give equal clusters. Clusters of collapsed features (all equal, or all
    zero) mean nothing.
    """
    affinity = sne_affinity(features)
    _check_clusters(T, seed, len(affinity))
    scale = 1 / np.sqrt(np.maximum(affinity.sum(axis=1), np.finfo(np.float32).tiny))  # (N,)
    affinity *= scale
    affinity *= scale[:, None]
    embedding = _leading_eigenvectors(affinity, T, seed) * scale[:, None]  # (N, T)
    # Entries are near 1 / N, below the tolerance of k-means.
    return kmeans(embedding / np.abs(embedding).max(), T, seed, runs=10)


def kmeans(features: ArrayLike, T: int, seed: int, *, runs: int = 4) -> NDArray[np.int64]:
    """Return one of `T` clusters for each feature, the best of a few seeded runs of k-means."""
    matrix = check_features(features)
    _check_clusters(T, seed, len(matrix))
    check_number("runs", runs, least=1, most=1000, whole=True)
    model = KMeans(n_clusters=T, n_init=runs, random_state=seed)
    # One thread: with several, the order of scikit-learn's sums changes from run to run.
    with warnings.catch_warnings(), threadpool_limits(1, user_api="openmp"):
        # Collapsed features have fewer than T distinct rows: some clusters stay empty.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit_predict(matrix).astype(np.int64)  # type: ignore[no-any-return]


def clustering_accuracy(labels: ArrayLike, clusters: ArrayLike) -> float:
    """Return the accuracy of clusters under their best one-to-one assignment to classes.

    The Hungarian method finds that assignment.

    Examples
    --------
    >>> clustering_accuracy([0, 0, 1, 1], [5, 5, 3, 5])
    0.75
    """
    labels, clusters = check_pair(labels, clusters, "clusters")
    classes, row = np.unique(labels, return_inverse=True)
    groups, column = np.unique(clusters, return_inverse=True)
    counts = np.zeros((len(classes), len(groups)), dtype=np.int64)
    np.add.at(counts, (row, column), 1)
    return float(counts[linear_sum_assignment(counts, maximize=True)].sum() / len(labels))


def nmi(labels: ArrayLike, clusters: ArrayLike) -> float:
    """Return the normalised mutual information, from 0 to 1."""
    return float(normalized_mutual_info_score(*check_pair(labels, clusters, "clusters")))


def ari(labels: ArrayLike, clusters: ArrayLike) -> float:
    """Return the adjusted Rand index: 1 for the same partition, about 0 for an unrelated one."""
    return float(adjusted_rand_score(*check_pair(labels, clusters, "clusters")))


def _check_clusters(T: int, seed: int, rows: int) -> None:
    check_number("T", T, whole=True)
    check_number("seed", seed, least=0, most=LARGEST_SEED, whole=True)
    if not 1 <= T <= rows:
        raise InputError(f"T must be from 1 to {rows}, the number of rows, got {T}")


def _symmetrise(matrix: NDArray[np.float32], chunk: int) -> None:
    """Replace `matrix` by the mean of itself and its transpose, block by block, in place."""
    for top in range(0, len(matrix), chunk):
        for left in range(top, len(matrix), chunk):
            upper = matrix[top : top + chunk, left : left + chunk]
            lower = matrix[left : left + chunk, top : top + chunk]
            mean = (upper + lower.T) / 2
            upper[:], lower[:] = mean, mean.T


def _leading_eigenvectors(matrix: NDArray[np.float32], T: int, seed: int) -> NDArray[np.float32]:
    """Return the eigenvectors of the `T` largest eigenvalues, as columns with a fixed sign."""
    count = len(matrix)
    if count <= max(DENSE, 4 * T):
        vectors = _dense_eigenvectors(matrix, T)
    else:
        start = np.random.default_rng(seed).uniform(-1, 1, count).astype(np.float32)
        try:
            vectors = eigsh(matrix, k=T, which="LA", v0=start, tol=1e-5)[1]
        except ArpackError:
            vectors = _dense_eigenvectors(matrix, T)
    largest = np.abs(vectors).argmax(axis=0)
    return vectors * np.sign(vectors[largest, np.arange(T)])  # type: ignore[no-any-return]


def _dense_eigenvectors(matrix: NDArray[np.float32], T: int) -> NDArray[np.float32]:
    last = len(matrix) - 1
    return scipy.linalg.eigh(matrix, subset_by_index=[last - T + 1, last])[1]  # type: ignore[no-any-return]
