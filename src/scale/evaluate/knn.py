"""The k nearest neighbours of frozen features in a labelled bank."""

from __future__ import annotations

from typing import Literal

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from scale._errors import InputError
from scale.evaluate._checks import check_features, check_labels, normalise

Metric = Literal["euclidean", "cosine"]


def knn_predict(
    bank: ArrayLike,
    bank_labels: ArrayLike,
    queries: ArrayLike,
    *,
    k: int = 50,
    metric: Metric = "euclidean",
    temperature: float | None = None,
    chunk: int = 4096,
) -> NDArray[np.int64]:
    """Predict the label of each query from its `k` nearest features in the bank.

    Parameters
    ----------
    bank, bank_labels
        Labelled features, ``(B, D)`` and ``(B,)``.
    queries
        Features to label, ``(N, D)``.
    k
        Number of neighbours that vote; at most the size of the bank.
    metric
        ``"euclidean"`` distance, or ``"cosine"`` similarity.
    temperature
        `None` counts votes, and the smallest label wins a tie, as in scikit-learn's
        ``KNeighborsClassifier``. A number weights a vote with ``exp(cosine / temperature)``.
    chunk
        Rows of queries and of the bank compared at a time. Lower it to use less memory.

    Returns
    -------
    ndarray
        One label for each query.

    Examples
    --------
    >>> knn_predict([[0.0], [1.0], [9.0]], [3, 3, 7], [[0.4], [8.0]], k=1)
    array([3, 7])
    """
    bank, queries = check_features(bank, "bank features"), check_features(queries, "query features")
    bank_labels = check_labels(bank_labels, len(bank), "bank labels")
    _check_options(bank, queries, k, metric, temperature)
    classes, targets = np.unique(bank_labels, return_inverse=True)
    if metric == "cosine":
        bank_rows, query_rows = (torch.from_numpy(normalise(rows)) for rows in (bank, queries))
    else:
        # Differences of large squares lose digits in float32, and with them the order.
        bank_rows, query_rows = (
            torch.from_numpy(rows.astype(np.float64)) for rows in (bank, queries)
        )
    votes = torch.cat(
        [
            _votes(
                part, bank_rows, torch.from_numpy(targets), min(k, len(bank)), temperature, chunk
            )
            for part in torch.split(query_rows, chunk)
        ]
    )  # (N, classes)
    # argmax returns the first of equal values, and classes are sorted: the smallest label wins.
    return classes[votes.argmax(dim=1).numpy()]  # type: ignore[no-any-return]


def knn_accuracy(
    bank: ArrayLike,
    bank_labels: ArrayLike,
    queries: ArrayLike,
    query_labels: ArrayLike,
    *,
    k: int = 50,
    metric: Metric = "euclidean",
    temperature: float | None = None,
    chunk: int = 4096,
) -> float:
    """Return the accuracy of `knn_predict` on the queries, from 0 to 1."""
    predictions = knn_predict(
        bank, bank_labels, queries, k=k, metric=metric, temperature=temperature, chunk=chunk
    )
    return float((predictions == check_labels(query_labels, len(predictions))).mean())


def per_class_accuracy(labels: ArrayLike, predictions: ArrayLike) -> NDArray[np.float64]:
    """Return the accuracy on each class that occurs in `labels`, in the order of the labels.

    Examples
    --------
    >>> per_class_accuracy([0, 0, 2, 2], [0, 1, 2, 2])
    array([0.5, 1. ])
    """
    labels, predictions = np.asarray(labels), np.asarray(predictions)
    _, classes = np.unique(labels, return_inverse=True)
    return np.bincount(classes, labels == predictions) / np.bincount(classes)


def _votes(
    queries: Tensor, bank: Tensor, targets: Tensor, k: int, temperature: float | None, chunk: int
) -> Tensor:
    """Return the weight each class receives from the neighbours of each query."""
    nearness, neighbours = _nearest(queries, bank, k, chunk, euclidean=bank.dtype == torch.float64)
    if temperature is None:
        weights = torch.ones_like(nearness)
    else:
        # Only ratios matter; relative to the nearest, no temperature overflows.
        weights = torch.exp((nearness - nearness[:, :1]) / temperature)
    votes = torch.zeros(len(queries), int(targets.max()) + 1, dtype=nearness.dtype)
    return votes.scatter_add_(1, targets[neighbours], weights)


def _nearest(
    queries: Tensor, bank: Tensor, k: int, chunk: int, *, euclidean: bool
) -> tuple[Tensor, Tensor]:
    """Return nearness and bank index of the `k` nearest, nearest first, as ``(queries, k)``."""
    nearness = queries.new_empty(len(queries), 0)
    neighbours = torch.empty(len(queries), 0, dtype=torch.int64)
    for start in range(0, len(bank), chunk):
        part = bank[start : start + chunk]
        near = queries @ part.T  # (queries, chunk)
        if euclidean:
            # The query's length is constant in its row, so it is left out.
            near = near.mul_(2).sub_(part.square().sum(dim=1))
        near, index = near.topk(min(k, len(part)), dim=1, sorted=False)
        near, index = torch.cat([nearness, near], dim=1), torch.cat([neighbours, index + start], 1)
        nearness, order = near.topk(min(k, near.shape[1]), dim=1)
        neighbours = index.gather(1, order)
    return nearness, neighbours


def _check_options(
    bank: NDArray[np.float32],
    queries: NDArray[np.float32],
    k: int,
    metric: str,
    temperature: float | None,
) -> None:
    if bank.shape[1] != queries.shape[1]:
        raise InputError(
            f"bank features have {bank.shape[1]} dimensions and query features "
            f"{queries.shape[1]}; both must come from the same encoder"
        )
    if k < 1:
        raise InputError(f"k must be 1 or more, got {k}")
    if metric not in ("euclidean", "cosine"):
        raise InputError(f"metric must be 'euclidean' or 'cosine', got {metric!r}")
    if temperature is not None and (metric != "cosine" or temperature <= 0):
        raise InputError(
            f"a weighted vote needs a temperature above 0 and metric='cosine', got temperature "
            f"{temperature} and metric {metric!r}"
        )
