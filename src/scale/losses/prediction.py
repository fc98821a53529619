"""Prediction of a view's projection from its twin (SimSiam, BYOL)."""

from __future__ import annotations

from torch import Tensor

from scale.losses._gate import check_tensors
from scale.losses.alignment import alignment_loss
from scale.losses.similarity import twins


def twin_prediction(predicted: Tensor, targets: Tensor) -> Tensor:
    """Return 2 - 2 cos of each view's prediction with the target of its twin, averaged over views.

    It is the squared distance of both at unit length. SimSiam's loss, -cos, has half its slope.

    Parameters
    ----------
    predicted, targets
        First views and then second views, (2n, d) each; only directions count. Targets get no
        gradient.

    Examples
    --------
    >>> import torch
    >>> first, second = torch.tensor([[1.0, 0.0]]), torch.tensor([[0.0, 1.0]])
    >>> twin_prediction(torch.cat([first, first]), torch.cat([first, second])).item()  # 2 and 0
    1.0
    """
    check_tensors("views dim", predicted=predicted, targets=targets)
    swapped = targets.detach()[twins(len(targets) // 2, targets.device)]
    return 2 + 2 * alignment_loss(predicted, swapped)
