"""Closed forms between Gaussians with diagonal covariance."""

from __future__ import annotations

from torch import Tensor


def gaussian_kl(mean: Tensor, var: Tensor, prior_mean: Tensor, prior_var: Tensor) -> Tensor:
    """Return KL(N(mean, var) || N(prior_mean, prior_var)), summed over the last axis.

    Examples
    --------
    >>> import torch
    >>> zero, one = torch.zeros(1), torch.ones(1)
    >>> gaussian_kl(torch.tensor([3.0]), one, zero, one)
    tensor(4.5000)
    """
    ratio = var / prior_var
    distance = (mean - prior_mean).square() / prior_var
    return 0.5 * (ratio + distance - 1 - ratio.log()).sum(-1)


def standard_kl(mean: Tensor, log_var: Tensor) -> Tensor:
    """Return KL(N(mean, exp(log_var)) || N(0, I)), summed over the last axis.

    Examples
    --------
    >>> import torch
    >>> standard_kl(torch.tensor([1.0, 2.0]), torch.zeros(2))
    tensor(2.5000)
    """
    return 0.5 * (log_var.exp() + mean.square() - 1 - log_var).sum(-1)


def wasserstein2(mean: Tensor, std: Tensor, other_mean: Tensor, other_std: Tensor) -> Tensor:
    """Return the squared Wasserstein-2 distance of two Gaussians, summed over the last axis.

    Examples
    --------
    >>> import torch
    >>> one = torch.ones(2)
    >>> wasserstein2(0 * one, one, one, 3 * one)
    tensor(10.)
    """
    return ((mean - other_mean).square() + (std - other_std).square()).sum(-1)
