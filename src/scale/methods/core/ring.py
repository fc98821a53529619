"""A ring: the latest rows of a long sequence, in a tensor of fixed size."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class Ring(nn.Module):
    """The last `size` rows pushed, allocated at the start.

    Parameters
    ----------
    size
        Number of rows to keep.
    shape
        Shape of a row.
    dtype
        Type of its values.

    Attributes
    ----------
    rows
        (size, ...); row i of the sequence is at i modulo `size`.
    pushed
        Number of rows pushed since the start or the last `clear`.

    Examples
    --------
    >>> ring = Ring(3)
    >>> ring.push(torch.arange(5.0))
    >>> ring.latest()
    tensor([2., 3., 4.])
    """

    rows: Tensor
    pushed: Tensor

    def __init__(
        self, size: int, shape: tuple[int, ...] = (), dtype: torch.dtype = torch.float32
    ) -> None:
        super().__init__()
        self.register_buffer("rows", torch.zeros((size, *shape), dtype=dtype))
        self.register_buffer("pushed", torch.tensor(0))

    def __len__(self) -> int:
        return min(int(self.pushed), len(self.rows))

    @torch.no_grad()
    def push(self, rows: Tensor) -> None:
        """Add rows, (n, ...); the oldest leave."""
        size, n = len(self.rows), len(rows)
        kept = min(n, size)
        places = (self.pushed + torch.arange(n - kept, n, device=self.pushed.device)) % size
        self.rows[places] = rows[n - kept :].detach().to(self.rows)
        self.pushed += n

    def latest(self) -> Tensor:
        """Return the rows there are, oldest first, (len, ...)."""
        held = len(self)
        begin = int(self.pushed) - held
        return self.rows[(begin + torch.arange(held, device=self.rows.device)) % len(self.rows)]

    def clear(self) -> None:
        """Forget all rows."""
        self.rows.zero_()
        self.pushed.zero_()
