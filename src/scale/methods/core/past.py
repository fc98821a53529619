"""The model before this batch, for losses against forgetting."""

from __future__ import annotations

from copy import deepcopy

import torch
from torch import Tensor, nn

from scale.methods.core.group import Group


class Past:
    """Encoder and projector frozen at the last `freeze`, in evaluation mode.

    Each stream batch freezes it anew, so it is no part of a learner's state.

    Parameters
    ----------
    encoder, projector
        The modules that learn.

    Attributes
    ----------
    group
        The processes that divide the work; None if this one is alone.
    """

    def __init__(self, encoder: nn.Module, projector: nn.Module) -> None:
        self._present = nn.Sequential(encoder, projector)
        self._frozen: nn.Sequential | None = None  # made when it is needed: embedding needs none
        self.group: Group | None = None
        self._stream: tuple[Tensor, Tensor] | None = None  # views and their features

    @property
    def model(self) -> nn.Sequential:
        """The frozen encoder and projector, one after the other."""
        if self._frozen is None:
            self._frozen = deepcopy(self._present).eval().requires_grad_(False)
        return self._frozen

    @property
    def encoder(self) -> nn.Module:
        """The frozen encoder."""
        return self.model[0]

    @property
    def projector(self) -> nn.Module:
        """The frozen projector."""
        return self.model[1]

    def freeze(self) -> None:
        """Copy the current weights."""
        self.model.load_state_dict(self._present.state_dict())
        self._stream = None

    def encode(self, stream_views: Tensor, memory_views: Tensor, *, reuse: bool) -> Tensor:
        """Return past features of stream and memory views, (2(m+n), d).

        Parameters
        ----------
        stream_views, memory_views
            (2n, c, h, w) and (2m, c, h, w).
        reuse
            Encode stream views only once, because all updates of a batch use the same ones.
        """
        with torch.no_grad():
            if not reuse:
                return self._encode(torch.cat([stream_views, memory_views]))
            if self._stream is None or self._stream[0] is not stream_views:
                self._stream = (stream_views, self._encode(stream_views))
            stream_h = self._stream[1]
            if len(memory_views) == 0:
                return stream_h
            return torch.cat([stream_h, self._encode(memory_views)])

    def _encode(self, views: Tensor) -> Tensor:
        if self.group is not None:
            return self.group.divide(self.encoder, views)
        h: Tensor = self.encoder(views)
        return h

    def project(self, stream_views: Tensor, memory_views: Tensor, *, reuse: bool) -> Tensor:
        """Return past projections of stream and memory views, (2(m+n), projection_dim)."""
        with torch.no_grad():
            z: Tensor = self.projector(self.encode(stream_views, memory_views, reuse=reuse))
        return z
