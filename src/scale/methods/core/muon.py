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
    dtype
        Numbers that orthogonalising multiplies: float32 or bfloat16.

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
        dtype: torch.dtype = torch.float32,
    ) -> None:
        self.dtype = dtype
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
        # A 3 x 3 kernel on a 1 x 1 map has a gradient in its centre only.
        used = direction.any(0)
        if used.all():
            direction = orthogonalised(direction, self.dtype)
        else:
            direction[:, used] = orthogonalised(direction[:, used], self.dtype)
        weight.sub_(direction.view_as(weight), alpha=rate)

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


def orthogonalised(matrix: Tensor, dtype: torch.dtype | None = None) -> Tensor:
    """Return about the nearest orthogonal matrix, U V' of the singular value decomposition.

    Newton-Schulz iterations on the Gram matrix of the shorter side: for 512 x 4608 they need less
    than half of the products of iterations on the matrix itself. In bfloat16 the Gram matrix would
    lose small singular values, so there they are on the matrix.

    Parameters
    ----------
    matrix
        (rows, columns)
    dtype
        Numbers to multiply; None for those of the matrix.
    """
    if matrix.shape[0] > matrix.shape[1]:
        return orthogonalised(matrix.T, dtype).T
    unit = (matrix / matrix.norm().clamp(min=1e-12)).to(dtype or matrix.dtype)
    found = _directly(unit) if dtype == torch.bfloat16 else _by_gram(unit)
    return found.to(matrix.dtype)


def _by_gram(matrix: Tensor) -> Tensor:
    a, b, c = COEFFICIENTS
    gram = matrix @ matrix.T  # (rows, rows)
    eye = torch.eye(len(matrix), dtype=matrix.dtype, device=matrix.device)
    product = eye
    for step in range(ITERATIONS):
        factor = torch.addmm(b * gram, gram, gram, alpha=c).add_(eye, alpha=a)
        product = factor @ product if step else factor
        if step < ITERATIONS - 1:
            gram = factor @ gram @ factor
    return product @ matrix


def _directly(matrix: Tensor) -> Tensor:
    a, b, c = COEFFICIENTS
    for _ in range(ITERATIONS):
        gram = matrix @ matrix.T
        matrix = torch.addmm(matrix, torch.addmm(gram, gram, gram, beta=b, alpha=c), matrix, beta=a)
    return matrix
