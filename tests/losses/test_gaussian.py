"""Closed forms of Gaussians and Bernoulli pixels, against slow formulas in float64."""

from __future__ import annotations

import math

import pytest
import torch

from scale.losses.gaussian import gaussian_kl, standard_kl, wasserstein2
from scale.losses.likelihood import bernoulli_kl, bernoulli_nll, pixel_entropy


def draws(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def density(x: float, mean: float, var: float) -> float:
    return math.exp(-((x - mean) ** 2) / (2 * var)) / math.sqrt(2 * math.pi * var)


def integrated_kl(mean: float, var: float, prior_mean: float, prior_var: float) -> float:
    """KL in one dimension, by summing p log(p / q) over a fine grid of 12 deviations."""
    std, steps = math.sqrt(var), 20000
    width = 24 * std / steps
    total = 0.0
    for i in range(steps):
        x = mean - 12 * std + (i + 0.5) * width
        log_ratio = (
            (x - prior_mean) ** 2 / (2 * prior_var)
            - (x - mean) ** 2 / (2 * var)
            + math.log(prior_var / var) / 2
        )
        total += density(x, mean, var) * log_ratio * width
    return total


def test_the_kl_is_the_integral_over_each_coordinate():
    mean, prior_mean = draws(3, seed=1), draws(3, seed=2)
    var, prior_var = draws(3, seed=3).exp(), draws(3, seed=4).exp()
    slow = sum(
        integrated_kl(*values)
        for values in zip(
            mean.tolist(), var.tolist(), prior_mean.tolist(), prior_var.tolist(), strict=True
        )
    )
    assert float(gaussian_kl(mean, var, prior_mean, prior_var)) == pytest.approx(slow, rel=1e-7)


def test_the_standard_kl_is_that_to_mean_0_and_variance_1():
    mean, log_var = draws(5, 4), draws(5, 4, seed=1)
    one = torch.ones(4, dtype=torch.float64)
    expected = gaussian_kl(mean, log_var.exp(), 0 * one, one)
    torch.testing.assert_close(standard_kl(mean, log_var), expected)
    assert standard_kl(torch.zeros(2, 3), torch.zeros(2, 3)).tolist() == [0, 0]


def test_wasserstein_is_the_distance_of_sorted_samples():
    """In one dimension, optimal transport pairs equal quantiles."""
    grid = (torch.arange(200001, dtype=torch.float64) + 0.5) / 200001
    quantiles = torch.distributions.Normal(0.0, 1.0).icdf(grid)
    slow = ((0.3 + 0.5 * quantiles) - (-1.0 + 2.0 * quantiles)).square().mean()
    values = (torch.tensor([v], dtype=torch.float64) for v in (0.3, 0.5, -1.0, 2.0))
    assert float(wasserstein2(*values)) == pytest.approx(float(slow), rel=1e-3)


def test_bernoulli_losses_are_sums_over_pixels():
    logits, other = draws(2, 1, 2, 3), draws(2, 1, 2, 3, seed=1)
    pixels = torch.sigmoid(draws(2, 1, 2, 3, seed=2))
    for i in range(2):
        nll = kl = entropy = 0.0
        for a, b, x in zip(
            logits[i].flatten().tolist(),
            other[i].flatten().tolist(),
            pixels[i].flatten().tolist(),
            strict=True,
        ):
            p, q = 1 / (1 + math.exp(-a)), 1 / (1 + math.exp(-b))
            nll -= x * math.log(p) + (1 - x) * math.log(1 - p)
            kl += p * math.log(p / q) + (1 - p) * math.log((1 - p) / (1 - q))
            entropy -= x * math.log(x) + (1 - x) * math.log(1 - x)
        assert float(bernoulli_nll(logits, pixels)[i]) == pytest.approx(nll)
        assert float(bernoulli_kl(logits, other)[i]) == pytest.approx(kl)
        assert float(pixel_entropy(pixels)[i]) == pytest.approx(entropy)


def test_no_decoder_is_better_than_the_entropy_of_the_pixels():
    pixels = torch.sigmoid(draws(4, 1, 3, 3))
    best = bernoulli_nll(torch.logit(pixels), pixels)
    torch.testing.assert_close(best, pixel_entropy(pixels))
    assert (bernoulli_nll(torch.logit(pixels) + 0.1, pixels) > best).all()
    assert pixel_entropy(pixels.round()).tolist() == [0, 0, 0, 0]


def test_the_gradient_of_the_bernoulli_kl_is_that_of_cross_entropy():
    old, new = draws(2, 1, 2, 2), draws(2, 1, 2, 2, seed=1).requires_grad_()
    (of_kl,) = torch.autograd.grad(bernoulli_kl(old, new).sum(), new)
    (of_nll,) = torch.autograd.grad(bernoulli_nll(new, torch.sigmoid(old)).sum(), new)
    torch.testing.assert_close(of_kl, of_nll)
