"""The shape of an objective, and all of them by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import torch
from torch import Tensor, nn

from scale._registry import Registry
from scale.methods.core.state import Part

if TYPE_CHECKING:
    from scale.methods.er import ER

Losses = dict[str, Tensor]


class Objective:
    """What an update minimises; the losses of views of stream and replayed images.

    Parameters
    ----------
    learner
        The learner, with encoder, projector and heads.
    """

    keeps: ClassVar[str] = ""
    """What it keeps beside the heads, in a few words."""

    def __init__(self, learner: ER) -> None:
        pass

    @staticmethod
    def heads(dim: int) -> dict[str, nn.Module]:
        """Return its modules that learn, for projections of that dimension."""
        return {}

    def losses(self, learner: ER, views: Tensor, n: int, m: int) -> Losses:
        """Return the losses of an update.

        Parameters
        ----------
        learner
            The learner.
        views
            First and second views of n stream images, then of m replayed ones, (2(m+n), c, h, w).
        n, m
            Numbers of images.
        """
        raise NotImplementedError

    def follow(self, learner: ER) -> None:
        """Do what comes after each update."""

    def parts(self) -> dict[str, Part]:
        """Return its state, without the heads."""
        return {}


OBJECTIVES: Registry[type[Objective]] = Registry("objective")


def by_view(views: Tensor, n: int, m: int) -> Tensor:
    """Return first views of all images, then second views, (2(m+n), ...).

    Examples
    --------
    >>> by_view(torch.tensor([1, 1, 2, 2, 10, 20]), n=2, m=1).tolist()  # stream, then memory
    [1, 1, 10, 2, 2, 20]
    """
    stream, memory = views[: 2 * n], views[2 * n :]
    return torch.cat([stream[:n], memory[:m], stream[n:], memory[m:]])


def project_freely(learner: ER, views: Tensor) -> tuple[Tensor, Tensor]:
    """Return projections of first and of second views, (m+n, d) each, not of unit length."""
    h = learner.encode_views(views)
    learner.features_ = h.detach()
    z: Tensor = nn.Sequential.forward(learner.projector_, h)  # type: ignore[no-untyped-call]
    first, second = z.chunk(2)
    return first, second
