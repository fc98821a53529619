"""A frozen copy of modules, taken now and then and saved with the learner."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import torch
from torch import Tensor, nn


class Snapshot(nn.Module):
    """Copies of modules as they were at the last `take`, in evaluation mode, without gradients.

    `Past` freezes the model before every batch and is no part of the state. This one is taken
    rarely, so it is saved.

    Parameters
    ----------
    modules
        The modules that learn, by name; each is an attribute of the snapshot.

    Attributes
    ----------
    taken
        How many times it was taken; 0 means that there is no past yet.

    Examples
    --------
    >>> snapshot = Snapshot(decoder=nn.Linear(2, 2))
    >>> snapshot.take()
    >>> int(snapshot.taken), snapshot.decoder.weight.requires_grad
    (1, False)
    """

    taken: Tensor

    def __init__(self, **modules: nn.Module) -> None:
        super().__init__()
        self._live = dict(modules)
        for name, module in modules.items():
            self.add_module(name, deepcopy(module).eval().requires_grad_(False))
        self.register_buffer("taken", torch.tensor(0))

    def __bool__(self) -> bool:
        return int(self.taken) > 0

    def take(self) -> None:
        """Copy the current weights and buffers."""
        for name, module in self._live.items():
            getattr(self, name).load_state_dict(module.state_dict())
        self.taken += 1

    def train(self, mode: bool = True) -> Any:
        return super().train(False)
