"""A linear classifier on frozen features."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from scale._errors import InputError
from scale._numbers import LARGEST_SEED, check_number
from scale.evaluate._checks import check_features, check_labels

ITERATIONS = 100


def linear_probe(
    bank: ArrayLike,
    bank_labels: ArrayLike,
    queries: ArrayLike,
    query_labels: ArrayLike,
    seed: int = 0,
) -> float:
    """Fit logistic regression on the bank; return its accuracy on the queries, 0 to 1.

    Features are standardised with the bank's mean and standard deviation. The regularisation is
    scikit-learn's default.

    Examples
    --------
    >>> linear_probe([[-1.0], [-2.0], [1.0], [2.0]], [0, 0, 1, 1], [[-3.0], [3.0]], [0, 1])
    1.0
    """
    bank, queries = check_features(bank, "bank features"), check_features(queries, "query features")
    bank_labels = check_labels(bank_labels, len(bank), "bank labels")
    query_labels = check_labels(query_labels, len(queries), "query labels")
    check_number("seed", seed, least=0, most=LARGEST_SEED, whole=True)
    if bank.shape[1] != queries.shape[1]:
        raise InputError(
            f"bank features have {bank.shape[1]} dimensions and query features "
            f"{queries.shape[1]}; both must come from the same encoder"
        )
    if len(np.unique(bank_labels)) == 1:
        return float((query_labels == bank_labels[0]).mean())
    scaler = StandardScaler().fit(bank)
    probe = LogisticRegression(max_iter=ITERATIONS, random_state=seed)
    with warnings.catch_warnings():
        # More iterations change the accuracy by less than its standard error.
        warnings.simplefilter("ignore", ConvergenceWarning)
        probe.fit(scaler.transform(bank), bank_labels)
    return float((probe.predict(scaler.transform(queries)) == query_labels).mean())
