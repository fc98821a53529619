"""The formulas of the paper, one view and one pair at a time, in float64."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

Matrix = list[list[float]]


def unit_views(views: int, dim: int, seed: int) -> Tensor:
    """Random points on the unit sphere, (views, dim) float64."""
    generator = torch.Generator().manual_seed(seed)
    z = torch.randn(views, dim, generator=generator, dtype=torch.float64)
    return torch.nn.functional.normalize(z, dim=1)


def conditional(z: np.ndarray, i: int, temperature: float) -> list[float]:
    """Softmax over k != i of z_i.z_k / temperature, with 0 at i."""
    logits = [float(np.dot(z[i], z[k])) / temperature for k in range(len(z))]
    top = max(logit for k, logit in enumerate(logits) if k != i)
    weights = [0.0 if k == i else math.exp(logit - top) for k, logit in enumerate(logits)]
    return [weight / sum(weights) for weight in weights]


def similarity(z: np.ndarray, kappa: float) -> Matrix:
    """p_ij = (p(j|i) + p(i|j)) / 2."""
    p = [conditional(z, i, kappa) for i in range(len(z))]
    return [[(p[i][j] + p[j][i]) / 2 for j in range(len(z))] for i in range(len(z))]


def twin(i: int, n: int) -> int:
    """The other view of the image that view i shows."""
    return i + n if i < n else i - n


def pseudo_positives(p: Matrix, n: int, mu: float) -> list[set[int]]:
    """For each stream view the stream views above mean + mu (max - mean), and its twin."""
    off_diagonal = [p[i][j] for i in range(len(p)) for j in range(len(p)) if i != j]
    mean = sum(off_diagonal) / len(off_diagonal)
    threshold = mean + mu * (max(off_diagonal) - mean)
    return [
        {j for j in range(2 * n) if j != i and p[i][j] > threshold} | {twin(i, n)}
        for i in range(2 * n)
    ]


def contrastive(z: np.ndarray, positives: list[set[int]], tau: float) -> float:
    """Mean over the anchors of -1/|G_i| sum over G_i of the log softmax; G_i may be empty."""
    total = 0.0
    for i, group in enumerate(positives):
        p = conditional(z, i, tau)
        total += -sum(math.log(p[j]) for j in group) / max(len(group), 1)
    return total / len(positives)


def forgetting(p: Matrix, p_past: Matrix) -> float:
    """KL(p_past || p), averaged over the views."""
    total = 0.0
    for row, row_past in zip(p, p_past, strict=True):
        total += sum(b * math.log(b / a) for a, b in zip(row, row_past, strict=True) if b > 0)
    return total / len(p)


def as_sets(mask: Tensor) -> list[set[int]]:
    """The marked columns of each row."""
    return [set(row.nonzero().flatten().tolist()) for row in mask]


def as_mask(positives: list[set[int]], views: int) -> Tensor:
    """The boolean matrix of those sets, (anchors, views)."""
    mask = torch.zeros(len(positives), views, dtype=torch.bool)
    for i, group in enumerate(positives):
        mask[i, list(group)] = True
    return mask


def contrastive_distillation(predicted: np.ndarray, past: np.ndarray, kappa: float) -> float:
    """Each predicted row among all past ones, and each past row among all predicted ones."""

    def one_way(anchors: np.ndarray, others: np.ndarray) -> float:
        total = 0.0
        for i, anchor in enumerate(anchors):
            weights = [math.exp(float(np.dot(anchor, other)) / kappa) for other in others]
            total += -math.log(weights[i] / sum(weights))
        return total / len(anchors)

    predicted, past = (rows / np.linalg.norm(rows, axis=1)[:, None] for rows in (predicted, past))
    return (one_way(predicted, past) + one_way(past, predicted)) / 2
