"""The losses of the objectives of `er`, beside slow formulas in float64 and closed forms."""

from __future__ import annotations

import cmath
import itertools
import math
import statistics

import pytest
import torch
from torch import Tensor

from scale._errors import InputError
from scale.losses import barlow_loss, normality, twin_prediction, vicreg_terms

N, DIM = 6, 4


def projections(seed: int, rows: int = N, dim: int = DIM) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(rows, dim, generator=generator, dtype=torch.float64)


def column(z: Tensor, i: int) -> list[float]:
    return [float(row[i]) for row in z]


def slow_covariance(a: list[float], b: list[float], less: int) -> float:
    mean_a, mean_b = statistics.fmean(a), statistics.fmean(b)
    pairs = zip(a, b, strict=True)
    return sum((x - mean_a) * (y - mean_b) for x, y in pairs) / (len(a) - less)


def slow_vicreg(first: Tensor, second: Tensor) -> tuple[float, float, float]:
    squares = [
        (float(a) - float(b)) ** 2 for a, b in zip(first.ravel(), second.ravel(), strict=True)
    ]
    variance, covariance = 0.0, 0.0
    for z in (first, second):
        for i in range(DIM):
            deviation = math.sqrt(slow_covariance(column(z, i), column(z, i), 1) + 1e-4)
            variance += max(0.0, 1 - deviation) / DIM / 2
            for j in range(DIM):
                if i != j:
                    covariance += slow_covariance(column(z, i), column(z, j), 1) ** 2 / DIM
    return statistics.fmean(squares), variance, covariance


def slow_barlow(first: Tensor, second: Tensor, lam: float) -> float:
    total = 0.0
    for i in range(DIM):
        for j in range(DIM):
            a, b = column(first, i), column(second, j)
            scale = math.sqrt(slow_covariance(a, a, 0) * slow_covariance(b, b, 0))
            c = slow_covariance(a, b, 0) / scale
            total += (1 - c) ** 2 if i == j else lam * c**2
    return total


def slow_normality(z: Tensor, directions: Tensor) -> float:
    total = 0.0
    for s in range(directions.shape[1]):
        d = directions[:, s]
        x = [float(row @ d) / float(d.norm()) for row in z]
        points = [3 * k / 16 for k in range(-16, 17)]
        height = []
        for t in points:
            empirical = sum(cmath.exp(1j * t * one) for one in x) / len(x)
            normal = math.exp(-(t**2) / 2)
            height.append(abs(empirical - normal) ** 2 * normal)
        total += sum((a + b) / 2 * 3 / 16 for a, b in itertools.pairwise(height))
    return len(z) * total / directions.shape[1]


def slow_prediction(predicted: Tensor, targets: Tensor) -> float:
    n, total = len(predicted) // 2, 0.0
    for i in range(2 * n):
        a, b = predicted[i].tolist(), targets[i + n if i < n else i - n].tolist()
        unit_a, unit_b = ([x / math.hypot(*v) for x in v] for v in (a, b))
        total += sum((x - y) ** 2 for x, y in zip(unit_a, unit_b, strict=True))
    return total / (2 * n)


@pytest.mark.parametrize("seed", range(3))
def test_losses_are_their_slow_formulas(seed):
    first, second = 0.5 * projections(seed), projections(seed + 10)
    directions = projections(seed + 20, rows=DIM, dim=5)
    assert vicreg_terms(first, second) == pytest.approx(slow_vicreg(first, second))
    assert float(barlow_loss(first, second, 0.1)) == pytest.approx(slow_barlow(first, second, 0.1))
    assert float(normality(first, directions)) == pytest.approx(slow_normality(first, directions))
    assert float(twin_prediction(first, second)) == pytest.approx(slow_prediction(first, second))


def test_closed_forms():
    ends = torch.tensor([[3.0, 0.0], [-3.0, 0.0], [0.0, 3.0], [0.0, -3.0]])  # uncorrelated
    assert [float(term) for term in vicreg_terms(ends, ends)] == [0, 0, 0]
    assert float(vicreg_terms(ends, ends + 1).invariance) == pytest.approx(1)
    assert float(barlow_loss(ends, ends, 1)) == pytest.approx(0, abs=1e-10)
    assert float(barlow_loss(ends, -ends, 1)) == pytest.approx(8)  # (1 + 1)^2 twice
    collapsed = torch.zeros(4, 2)
    assert float(vicreg_terms(collapsed, collapsed).variance) == pytest.approx(1 - 0.01)
    assert float(barlow_loss(collapsed, collapsed, 1)) == pytest.approx(2)
    swapped = torch.cat([ends[2:], ends[:2]])
    assert float(twin_prediction(ends, swapped)) == pytest.approx(0, abs=1e-6)
    assert float(twin_prediction(ends, -swapped)) == pytest.approx(4)


def test_a_target_gets_no_gradient():
    predicted, targets = (projections(seed).requires_grad_() for seed in (0, 1))
    twin_prediction(predicted, targets).backward()
    assert predicted.grad is not None
    assert targets.grad is None


def test_a_single_image_has_finite_losses_and_gradients():
    first, second = (projections(seed, rows=1).requires_grad_() for seed in (0, 1))
    total = sum(vicreg_terms(first, second)) + barlow_loss(first, second, 0.1)
    total = total + normality(first, projections(2, rows=DIM))
    total.backward()
    assert torch.isfinite(first.grad).all()
    assert torch.isfinite(second.grad).all()


@pytest.mark.parametrize(
    "call",
    [
        lambda: vicreg_terms(torch.zeros(2, 3), torch.zeros(3, 3)),
        lambda: barlow_loss(torch.zeros(2, 3), torch.zeros(2, 3), -1),
        lambda: normality(torch.zeros(2, 3), torch.zeros(4, 5)),
    ],
)
def test_a_wrong_shape_or_weight_is_refused(call):
    with pytest.raises(InputError):
        call()
