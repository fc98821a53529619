"""Muon: momentum whose matrices are orthogonalised before each step."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

COEFFICIENTS = (3.4445, -4.7750, 2.0315)  # Jordan 2024: singular values end in about [0.7, 1.2]
ITERATIONS = 5
VECTOR_RATE = 1 / 30  # learning rate of Adam, relative to that of matrices
BETAS = (0.9, 0.999)
EPSILON = 1e-8


class Muon(torch.optim.Optimizer):
    """Muon (Jordan et al. 2024) for weights of two or more dimensions, Adam for all others.

    A convolution's weight is a matrix with a row for each output channel. Its Nesterov momentum is
    replaced by the nearest orthogonal matrix, so all directions move by the same amount.
    `torch.optim.Muon` takes no convolutions.

    Parameters
    ----------
    params
        Parameters to train.
    lr
        Learning rate of matrices. Adam's is a thirtieth of it.
    momentum
        Momentum of matrices.
    weight_decay
        Decoupled weight decay of matrices.

    Examples
    --------
    >>> layer = torch.nn.Conv2d(3, 8, 3)
    >>> optimizer = Muon(layer.parameters(), lr=0.02)
    >>> layer(torch.ones(1, 3, 8, 8)).sum().backward()
    >>> optimizer.step()
    """

    def __init__(
        self,
        params: Iterable[Tensor],
        *,
        lr: float,
        momentum: float = 0.9,
        weight_decay: float = 0.0,
    ) -> None:
        params = list(params)
        matrices = [p for p in params if p.dim() >= 2]
        vectors = [p for p in params if p.dim() < 2]
        groups: list[dict[str, Any]] = [
            {"params": matrices, "lr": lr, "matrices": True},
            {"params": vectors, "lr": VECTOR_RATE * lr, "matrices": False},
        ]
        defaults = {"momentum": momentum, "weight_decay": weight_decay}
        super().__init__([group for group in groups if group["params"]], defaults)

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        """Make one update of all parameters that have gradients."""
        for group in self.param_groups:
            move = self._move_matrix if group["matrices"] else self._move_vector
            for parameter in group["params"]:
                if parameter.grad is not None:
                    move(parameter, parameter.grad, group)

    def _move_matrix(self, weight: Tensor, grad: Tensor, group: dict[str, Any]) -> None:
        state = self.state[weight]
        if not state:
            state["momentum"] = torch.zeros_like(weight)
        momentum = state["momentum"].mul_(group["momentum"]).add_(grad)
        direction = grad.add(momentum, alpha=group["momentum"]).flatten(1)  # (rows, columns)
        rows, columns = direction.shape
        rate = group["lr"] * max(1.0, rows / columns) ** 0.5
        weight.mul_(1 - group["lr"] * group["weight_decay"])
        weight.sub_(orthogonalised(direction).view_as(weight), alpha=rate)

    def _move_vector(self, vector: Tensor, grad: Tensor, group: dict[str, Any]) -> None:
        state = self.state[vector]
        if not state:
            state["mean"], state["square"] = torch.zeros_like(vector), torch.zeros_like(vector)
            state["steps"] = torch.tensor(0)
        state["steps"] += 1
        mean = state["mean"].lerp_(grad, 1 - BETAS[0])
        square = state["square"].lerp_(grad.square(), 1 - BETAS[1])
        first, second = (1 - beta ** int(state["steps"]) for beta in BETAS)
        vector.addcdiv_(mean, (square / second).sqrt_().add_(EPSILON), value=-group["lr"] / first)


def orthogonalised(matrix: Tensor) -> Tensor:
    """Return about the nearest orthogonal matrix, U V' of the singular value decomposition.

    Newton-Schulz iterations on the Gram matrix of the shorter side: for 512 x 4608 they need less
    than half of the products of iterations on the matrix itself.

    Parameters
    ----------
    matrix
        (rows, columns)
    """
    rows, columns = matrix.shape
    if rows > columns:
        return orthogonalised(matrix.T).T
    matrix = matrix / matrix.norm().clamp(min=1e-12)
    a, b, c = COEFFICIENTS
    gram = matrix @ matrix.T  # (rows, rows)
    eye = torch.eye(rows, dtype=matrix.dtype, device=matrix.device)
    product = eye
    for step in range(ITERATIONS):
        factor = torch.addmm(b * gram, gram, gram, alpha=c).add_(eye, alpha=a)
        product = factor @ product if step else factor
        if step < ITERATIONS - 1:
            gram = factor @ gram @ factor
    return product @ matrix
