"""The k nearest neighbours of frozen features in a labelled bank."""

from __future__ import annotations

from typing import Literal

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from scale._errors import InputError
from scale._names import check_one_of
from scale._numbers import check_number
from scale.evaluate._checks import check_features, check_labels, check_pair, normalise

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
    bank = check_features(bank, "bank features")
    search = NeighbourSearch(queries, k=k, metric=metric, temperature=temperature, chunk=chunk)
    search.add(bank, check_labels(bank_labels, len(bank), "bank labels"))
    return search.predict()


class NeighbourSearch:
    """Finds the nearest features of a bank that is given part by part and not kept.

    It holds the queries, their best neighbours so far, and one chunk of the bank.

    Parameters
    ----------
    queries, k, metric, temperature, chunk
        As for `knn_predict`.
    """

    def __init__(
        self,
        queries: ArrayLike,
        *,
        k: int,
        metric: Metric = "euclidean",
        temperature: float | None = None,
        chunk: int = 4096,
    ) -> None:
        rows = check_features(queries, "query features")
        _check_options(k, metric, temperature, chunk)
        self.k, self.metric, self.temperature, self.chunk = k, metric, temperature, chunk
        self._dim = rows.shape[1]
        self._queries = torch.split(self._as_rows(rows), chunk)
        self._nearness = [part.new_empty(len(part), 0) for part in self._queries]
        self._labels = [torch.empty(len(part), 0, dtype=torch.int64) for part in self._queries]

    def add(self, bank: NDArray[np.float32], labels: NDArray[np.int64]) -> None:
        """Compare the queries with more of the bank, (B, D) and (B,)."""
        if bank.shape[1] != self._dim:
            raise InputError(
                f"bank features have {bank.shape[1]} dimensions and query features {self._dim}; "
                "both must come from the same encoder"
            )
        for start in range(0, len(bank), self.chunk):
            rows = self._as_rows(bank[start : start + self.chunk])
            targets = torch.from_numpy(np.asarray(labels[start : start + self.chunk], np.int64))
            for i, queries in enumerate(self._queries):
                near = queries @ rows.T  # (queries, chunk)
                if self.metric == "euclidean":
                    # The query's length is constant in its row, so it is left out.
                    near = near.mul_(2).sub_(rows.square().sum(dim=1))
                near, index = near.topk(min(self.k, len(rows)), dim=1, sorted=False)
                near = torch.cat([self._nearness[i], near], dim=1)
                found = torch.cat([self._labels[i], targets[index]], dim=1)
                self._nearness[i], order = near.topk(min(self.k, near.shape[1]), dim=1)
                self._labels[i] = found.gather(1, order)

    def predict(self) -> NDArray[np.int64]:
        """Return the label of each query by the vote of its neighbours."""
        labels, nearness = torch.cat(self._labels).numpy(), torch.cat(self._nearness)
        classes, inverse = np.unique(labels, return_inverse=True)
        targets = torch.from_numpy(inverse.reshape(labels.shape))
        if self.temperature is None:
            weights = torch.ones_like(nearness)
        else:
            # Only ratios matter; relative to the nearest, no temperature overflows.
            weights = torch.exp((nearness - nearness[:, :1]) / self.temperature)
        votes = nearness.new_zeros(len(nearness), len(classes)).scatter_add_(1, targets, weights)
        # argmax returns the first of equal values, and classes are sorted: the smallest label wins.
        return classes[votes.argmax(dim=1).numpy()]  # type: ignore[no-any-return]

    def _as_rows(self, features: NDArray[np.float32]) -> Tensor:
        if self.metric == "cosine":
            return torch.from_numpy(normalise(features))
        # Differences of large squares lose digits in float32, and with them the order.
        return torch.from_numpy(features.astype(np.float64))


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
    labels, predictions = check_pair(labels, predictions, "predictions")
    _, classes = np.unique(labels, return_inverse=True)
    return np.bincount(classes, labels == predictions) / np.bincount(classes)


def _check_options(k: int, metric: str, temperature: float | None, chunk: int) -> None:
    check_number("k", k, least=1, whole=True)
    check_number("chunk", chunk, least=1, most=2**40, whole=True)
    check_one_of("metric", metric, ("euclidean", "cosine"))
    if temperature is not None:
        check_number("temperature", temperature)
    if temperature is not None and (metric != "cosine" or temperature <= 0):
        raise InputError(
            f"a weighted vote needs a temperature above 0 and metric='cosine', got temperature "
            f"{temperature} and metric {metric!r}"
        )
