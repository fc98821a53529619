"""Contrast with a queue of keys, and distillation of similarities."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from scale._numbers import check_number
from scale.losses._gate import check_tensors


def queue_contrast(queries: Tensor, keys: Tensor, queue: Tensor, tau: float) -> Tensor:
    """Return InfoNCE of each query with its key against the keys of a queue (MoCo), the mean.

    Parameters
    ----------
    queries, keys
        Unit length, (n, d) each.
    queue
        Negatives, (K, d).
    tau
        Temperature.

    Examples
    --------
    >>> one = torch.tensor([[1.0, 0.0]])
    >>> round(queue_contrast(one, one, one, tau=0.1).item(), 4)  # log 2
    0.6931
    """
    check_tensors("n d", queries=queries, keys=keys)
    check_tensors("keys d", queue=queue)
    check_tensors("d", query=queries[0], key_of_queue=queue[0])
    check_number("tau", tau, above=0)
    own = (queries * keys).sum(dim=1, keepdim=True)  # (n, 1)
    logits = torch.cat([own, queries @ queue.T], dim=1) / tau  # (n, 1 + K)
    return F.cross_entropy(logits, torch.zeros(len(logits), dtype=torch.long, device=own.device))


def similarity_distillation(
    dots: Tensor, teacher_dots: Tensor, kappa: float, kappa_teacher: float
) -> Tensor:
    """Return KL(teacher || learner) of the softmax over each row of dot products, the mean.

    Parameters
    ----------
    dots, teacher_dots
        (rows, anchors) each.
    kappa, kappa_teacher
        Temperatures.
    """
    check_tensors("rows anchors", dots=dots, teacher_dots=teacher_dots)
    check_number("kappa", kappa, above=0)
    check_number("kappa_teacher", kappa_teacher, above=0)
    log_p = torch.log_softmax(dots / kappa, dim=1)
    log_q = torch.log_softmax(teacher_dots / kappa_teacher, dim=1)
    return (log_q.exp() * (log_q - log_p)).sum(dim=1).mean()
