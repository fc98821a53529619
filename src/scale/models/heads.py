"""The projector between features and losses."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from scale.models._checks import check_dim
from scale.models._rng import default_rng


class Projector(nn.Sequential):
    """The paper's projector: linear - ReLU - linear, then unit length."""

    def __init__(self, in_dim: int, out_dim: int = 128) -> None:
        check_dim("in_dim", in_dim)
        check_dim("out_dim", out_dim)
        super().__init__(nn.Linear(in_dim, in_dim), nn.ReLU(), nn.Linear(in_dim, out_dim))

    def forward(self, input: Tensor) -> Tensor:
        projected: Tensor = super().forward(input)  # type: ignore[no-untyped-call]
        return F.normalize(projected.float(), dim=1)  # (n, out_dim)


def build_projector(in_dim: int, out_dim: int, generator: torch.Generator) -> Projector:
    """Return a projector with weights drawn from `generator`."""
    with default_rng(generator):
        return Projector(in_dim, out_dim)
