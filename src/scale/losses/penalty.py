"""The gradient penalty of a Wasserstein critic."""

from __future__ import annotations

import torch
from torch import Tensor, nn


def gradient_penalty(critic: nn.Module, real: Tensor, fake: Tensor, mix: Tensor) -> Tensor:
    """Return the mean of (|gradient of the critic| - 1)^2 at points between real and fake images.

    Parameters
    ----------
    critic
        From images to one number each.
    real, fake
        (n, c, h, w) each.
    mix
        Share of the real image at each point, (n,) in [0, 1].
    """
    share = mix.view(-1, 1, 1, 1)
    points = (share * real + (1 - share) * fake).detach().requires_grad_()
    (gradient,) = torch.autograd.grad(critic(points).sum(), points, create_graph=True)
    length: Tensor = gradient.flatten(1).norm(dim=1)  # (n,)
    return (length - 1).square().mean()
