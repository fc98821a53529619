"""One gradient update with a check, for methods with optimisers of their own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import torch
from torch import Tensor

from scale._errors import NonFiniteLossError
from scale.methods.core.divergence import advice


def descend(learner: object, optimizer: torch.optim.Optimizer, loss: Tensor) -> None:
    """Make one update of the optimiser's weights; raise if loss or gradients are not finite.

    Raises
    ------
    NonFiniteLossError
        The weights are unchanged.
    """
    optimizer.zero_grad()
    weights = [p for group in optimizer.param_groups for p in group["params"]]
    # Only these weights: a loss may pass through modules that another optimiser trains.
    grads = torch.autograd.grad(loss, weights, allow_unused=True)
    for weight, grad in zip(weights, grads, strict=True):
        weight.grad = grad
    check_finite(learner, loss, weights)
    optimizer.step()


def check_finite(learner: object, loss: Tensor, weights: Iterable[Tensor]) -> None:
    """Raise `NonFiniteLossError` unless a loss and its gradients are finite."""
    loss = loss.detach()
    norm = torch.nn.utils.get_total_norm([p.grad for p in weights if p.grad is not None])
    # One transfer from the device for both: a finite loss may have a NaN gradient.
    if not torch.isfinite(loss + norm):
        raise NonFiniteLossError(
            f"the loss became {loss.item()} with a gradient of norm {norm.item()}, and this "
            f"update was not made; {advice(learner)}"
        )


def averaged(losses: Sequence[Mapping[str, Tensor]]) -> dict[str, float]:
    """Return the mean of each loss over the updates that had it.

    Examples
    --------
    >>> averaged([{"loss": torch.tensor(1.0)}, {"loss": torch.tensor(3.0)}])
    {'loss': 2.0}
    """
    found: dict[str, list[float]] = {}
    for update in losses:
        for name, value in update.items():
            found.setdefault(name, []).append(float(value.detach()))
    return {name: sum(values) / len(values) for name, values in found.items()}
