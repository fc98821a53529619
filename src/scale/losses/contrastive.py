"""Contrastive loss: pulls positive views together and pushes all others apart."""

from __future__ import annotations

import torch
from torch import Tensor

from scale._errors import InputError
from scale._numbers import check_number
from scale.losses._gate import check_counts, check_device, check_tensors, check_views
from scale.losses.similarity import twins


def contrastive_loss(dots: Tensor, positives: Tensor, tau: float) -> Tensor:
    """Return the mean over i of -1/|G_i| sum_{j in G_i} log softmax_{k != i}(z_i.z_k / tau)_j.

    Parameters
    ----------
    dots
        Dot products with -inf on the diagonal, (views, views). The first `anchors` rows are the
        anchors; the other views are negatives only.
    positives
        Boolean, (anchors, views): G_i for each anchor. An anchor without positives adds zero.
    tau
        Temperature.
    """
    check_tensors("views views", dots=dots)
    check_tensors("anchors views", "bool", positives=positives)
    if len(positives) > len(dots) or positives.shape[1] != len(dots):
        raise InputError(
            f"positives must have shape (anchors, {len(dots)}) with at most as many anchors as "
            f"views, got {tuple(positives.shape)}"
        )
    check_number("tau", tau, above=0)
    logits = dots[: len(positives)] / tau  # (anchors, views)
    log_p = torch.log_softmax(logits, dim=1)
    # Masked, not multiplied: the diagonal is -inf, and -inf * 0 is NaN.
    of_positives = log_p.masked_fill(~positives, 0).sum(dim=1)
    return -(of_positives / positives.sum(dim=1).clamp(min=1)).mean()


def twin_positives(
    n: int, views: int, first: int = 0, device: torch.device | None = None
) -> Tensor:
    """Return the positives of SimCLR: the twin of each of 2n anchors.

    Parameters
    ----------
    n
        Number of images; the anchors are their 2n views.
    views
        Number of all views.
    first
        Index of the first anchor among all views.

    Returns
    -------
    Tensor
        Boolean, (2n, views).
    """
    check_counts(n=n, views=views, first=first)
    check_device(device)
    if first + 2 * n > views:
        raise InputError(f"{2 * n} anchors from view {first} on must be among {views} views")
    mask = torch.zeros(2 * n, views, dtype=torch.bool, device=device)
    mask[torch.arange(2 * n, device=device), first + twins(n, device)] = True
    return mask


def stream_and_memory_twins(n: int, m: int) -> Tensor:
    """Return the positives if all stream and replayed views are anchors: the twin of each.

    Parameters
    ----------
    n, m
        Numbers of stream images and of replayed images; stream views come first.

    Returns
    -------
    Tensor
        Boolean, (2(m+n), 2(m+n)).
    """
    check_counts(n=n, m=m)
    views = 2 * (n + m)
    return torch.cat([twin_positives(n, views), twin_positives(m, views, first=2 * n)])


def label_positives(labels: Tensor) -> Tensor:
    """Return the positives of SupCon: for every view, all other views of its class.

    Parameters
    ----------
    labels
        Class of each view, (views,).

    Returns
    -------
    Tensor
        Boolean, (views, views).

    Examples
    --------
    >>> label_positives(torch.tensor([4, 9, 4])).int().tolist()
    [[0, 0, 1], [0, 0, 0], [1, 0, 0]]
    """
    check_tensors("views", "whole", labels=labels)
    return (labels[:, None] == labels[None]).fill_diagonal_(False)


def pseudo_positives(p: Tensor, n: int, mu: float) -> Tensor:
    """Return the similar stream views, p_ij > mean + mu (max - mean), and always the twin.

    Parameters
    ----------
    p
        Similarities of all views with a zero diagonal, (2(m+n), 2(m+n)), stream views first.
    n
        Images in the stream batch.
    mu
        Relative threshold; mean and max are taken over the off-diagonal of `p`.

    Returns
    -------
    Tensor
        Boolean, (2n, 2(m+n)); only stream views are marked.
    """
    check_tensors("views views", p=p)
    check_views(n, len(p))
    positives = twin_positives(n, len(p), device=p.device)
    positives[:, : 2 * n] |= _alike(p, 2 * n, mu)
    return positives


def pseudo_positives_of_images(p: Tensor, n: int, mu: float) -> Tensor:
    """Return both views of similar stream images, and always the twin, like the released code.

    Parameters
    ----------
    p
        Similarities of images with a zero diagonal, (n+m, n+m), stream images first.
    n
        Images in the stream batch.
    mu
        Relative threshold, as in `pseudo_positives`.

    Returns
    -------
    Tensor
        Boolean, (2n, 2(m+n)); only stream views are marked.
    """
    check_tensors("images images", p=p)
    check_views(n, len(p), of="images")
    positives = twin_positives(n, 2 * len(p), device=p.device)
    positives[:, : 2 * n] |= _alike(p, n, mu).repeat(2, 2)
    return positives


def _alike(p: Tensor, count: int, mu: float) -> Tensor:
    """Return which pairs of the first `count` exceed mean + mu (max - mean), (count, count)."""
    check_number("mu", mu)
    mean = p.sum() / (len(p) * (len(p) - 1))
    # The diagonal of p is 0, below the threshold, so no view is its own positive.
    return p[:count, :count] > mean + mu * (p.max() - mean)
