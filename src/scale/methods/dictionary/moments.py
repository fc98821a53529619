"""Mean and covariance of all rows of a stream."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class Moments(nn.Module):
    """Exact mean and covariance of rows that arrive in batches, each seen once.

    They are on the CPU in float64: sums over a long stream exceed float32's precision.

    Parameters
    ----------
    dim
        Dimension of the rows.

    Examples
    --------
    >>> moments = Moments(1)
    >>> for batch in ([[1.0], [2.0]], [[6.0]]):
    ...     moments.update(torch.tensor(batch))
    >>> moments.mean.item(), round(moments.covariance().item(), 6)
    (3.0, 4.666667)
    """

    count: Tensor
    mean: Tensor
    scatter: Tensor

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.register_buffer("count", torch.zeros((), dtype=torch.float64))
        self.register_buffer("mean", torch.zeros(dim, dtype=torch.float64))
        self.register_buffer("scatter", torch.zeros(dim, dim, dtype=torch.float64))

    def update(self, rows: Tensor) -> None:
        """Add a batch of rows, (n, dim)."""
        rows = rows.detach().cpu().double()
        total = self.count + len(rows)
        shift = rows.mean(0) - self.mean
        centred = rows - rows.mean(0)
        # Chan's merge: the scatter inside the batches, and the distance of their means.
        self.scatter += centred.T @ centred
        self.scatter += torch.outer(shift, shift) * (self.count * len(rows) / total)
        self.mean += shift * (len(rows) / total)
        self.count.copy_(total)

    def covariance(self) -> Tensor:
        """Return the covariance, (dim, dim); zeros before the first row."""
        return self.scatter / self.count.clamp(min=1)
