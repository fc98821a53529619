"""PNN: SimCLR with a progressive network, which grows and freezes what it has learned."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from scale._errors import DamagedFileError
from scale.methods._checks import check_numbers
from scale.methods._facts import Costs
from scale.methods._registry import register_method
from scale.methods._seeds import generators
from scale.methods._state import Part, State
from scale.methods.simclr import SimCLR
from scale.models import Columns, ImageShape, build_encoder, build_projector, default_rng


@register_method("pnn")
@dataclass(kw_only=True)
class PNN(SimCLR):
    """NT-Xent on the stream with a new column of the encoder every `column_every` batches.

    Older columns are frozen; the newest sees their outputs through lateral connections, between
    the stages of our own encoders (see `scale.models.columns`) and, for every encoder, at the
    features. As in the paper a new column starts from fresh weights, has a projector of its own,
    and the optimiser starts anew with it; an encoder of the user's own starts from the weights it
    came with.

    What differs from the paper: there are no tasks, so columns grow by count of batches up to
    `max_columns`, and the last goes on learning; and nobody says which column an image belongs to,
    so features are always the newest column's. A column grows when its first batch comes, not after
    the last one of its predecessor: there are never features of a column that has learned nothing.
    (The released code of SCALE and of LUMP puts the same network into its list of columns again.)

    References
    ----------
    Rusu, Rabinowitz, Desjardins, Soyer, Kirkpatrick, Kavukcuoglu, Pascanu and Hadsell (2016),
    Progressive Neural Networks, arXiv:1606.04671.
    """

    column_every: int = 10
    """Stream batches that a column learns from before the next one grows."""
    max_columns: int = 5
    """Most columns; the last learns from all that remains of the stream."""

    def costs(self) -> Costs:
        return replace(super().costs(), memory=f"up to {self.max_columns} columns of weights")

    def _start(self, image_shape: ImageShape) -> None:
        check_numbers(self, "column_every", "max_columns", least=1, whole=True)
        super()._start(image_shape)
        own = isinstance(self.encoder, nn.Module)
        # The caller may change theirs, and `load` may be given one with other weights.
        self._fresh = deepcopy(self.encoder_) if own else None
        self._network = Columns(self.encoder_)
        self.encoder_ = self._network
        self._column_rng = generators(self.seed, 4)[-1]
        self._batches = torch.zeros((), dtype=torch.int64)

    def _before_batch(self, batch: Tensor, labels: Tensor | None) -> None:
        due = min(self.max_columns, 1 + int(self._batches) // self.column_every)
        if len(self._network.columns) < due:  # not so when the batch failed and comes again
            self._grow()

    def _after_batch(self, batch: Tensor, labels: Tensor | None) -> None:
        self._batches += 1
        self.diagnostics_["columns"] = float(len(self._network.columns))

    def _grow(self) -> None:
        if self._fresh is not None:
            encoder = deepcopy(self._fresh)
        else:
            encoder, _ = build_encoder(self.encoder, self._view_shape, self._column_rng)
        encoder = encoder.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        example = torch.zeros(1, *self._view_shape, device=self.device)
        with default_rng(self._column_rng):
            self._network.grow(encoder.to(self.device), example)
        self._network.to(self.device)
        projector = build_projector(self.output_dim_, self.projection_dim, self._column_rng)
        self.projector_ = projector.to(self.device).train()
        self.optimizer_ = self._make_optimizer()

    def _trained(self) -> list[nn.Parameter]:
        return [p for p in super()._trained() if p.requires_grad]

    def _parts(self) -> dict[str, Part]:
        columns = torch.tensor(len(self._network.columns))
        parts = {**super()._parts(), "columns": columns, "batches": self._batches}
        parts["column_rng"] = self._column_rng
        return parts if self._fresh is None else {**parts, "fresh": self._fresh}

    def load_state_dict(self, state: State) -> None:
        columns = int(state["columns.value"])
        if not 1 <= columns <= self.max_columns:
            raise DamagedFileError(
                f"the state holds {columns} columns, but max_columns is {self.max_columns}; "
                "load it into a learner with the parameters it was saved with"
            )
        if columns < len(self._network.columns):
            self._start(self.image_shape_)
        while len(self._network.columns) < columns:
            self._grow()
        super().load_state_dict(state)
