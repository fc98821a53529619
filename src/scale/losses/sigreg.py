"""LeJEPA's regulariser: projections of a batch are like a standard normal distribution."""

from __future__ import annotations

import torch
from torch import Tensor

from scale.losses._gate import check_tensors

KNOTS, LARGEST = 17, 3.0  # points of the integral over t, from 0 to LARGEST


def normality(z: Tensor, directions: Tensor) -> Tensor:
    """Return the Epps-Pulley statistic of z along each direction, the mean (SIGReg).

    Along a direction, it compares the characteristic function of the rows with that of a standard
    normal: n times the integral of |mean exp(i t x) - exp(-t^2 / 2)|^2 exp(-t^2 / 2) over t, by the
    trapezoidal rule.

    Parameters
    ----------
    z
        Projections that are not scaled to unit length, (n, d).
    directions
        (d, s); only directions count. Draw them anew for each update.

    References
    ----------
    Balestriero and LeCun (2025), LeJEPA: Provable and Scalable Self-Supervised Learning Without the
    Heuristics.

    Examples
    --------
    >>> normal = torch.randn(500, 1, generator=torch.Generator().manual_seed(0))
    >>> one = torch.ones(1, 1)
    >>> bool(normality(normal, one) < normality(torch.zeros(500, 1), one) / 50)
    True
    """
    check_tensors("n d", z=z)
    check_tensors("d s", directions=directions)
    check_tensors("d", z=z[0], directions=directions[:, 0])
    t = torch.linspace(0, LARGEST, KNOTS, dtype=z.dtype, device=z.device)
    normal = (-t.square() / 2).exp()
    weights = torch.full_like(t, 2 * LARGEST / (KNOTS - 1))  # both signs of t
    weights[0] = weights[-1] = LARGEST / (KNOTS - 1)
    x = (z @ torch.nn.functional.normalize(directions, dim=0))[..., None] * t  # (n, s, knots)
    away = (x.cos().mean(dim=0) - normal).square() + x.sin().mean(dim=0).square()
    return len(z) * (away @ (weights * normal)).mean()
