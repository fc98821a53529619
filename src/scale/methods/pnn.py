"""PNN: SimCLR with a progressive network, which adds columns and freezes the older ones."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from scale._errors import DamagedFileError
from scale.losses import contrastive_loss, dot_products, twin_positives
from scale.methods.core.checks import Count
from scale.methods.core.contrastive import ContrastiveLearner
from scale.methods.core.facts import Costs
from scale.methods.core.precision import compute_in
from scale.methods.core.registry import register_method
from scale.methods.core.seeds import generators
from scale.methods.core.state import Part, State
from scale.models import Columns, ImageShape, build_encoder, build_projector, default_rng


@register_method("pnn")
@dataclass(kw_only=True)
class PNN(ContrastiveLearner):
    """NT-Xent on the stream with a new column of the encoder every `column_every` batches.

    Older columns are frozen. The newest sees their outputs through lateral connections: between the
    stages of our encoders (see `scale.models.columns`), and at the features for every encoder. As
    in the paper, a new column has fresh weights, a projector and an optimiser. A module of your own
    starts from its initial weights.

    Two things differ from the paper. There are no tasks, so a column is added after a number of
    batches, up to `max_columns`. The column of an image is unknown, so embeddings come from the
    newest. It is added when its first batch arrives, so it is never untrained. (The released code
    of SCALE and LUMP adds the same network again.)

    References
    ----------
    Rusu, Rabinowitz, Desjardins, Soyer, Kirkpatrick, Kavukcuoglu, Pascanu and Hadsell (2016),
    Progressive Neural Networks, arXiv:1606.04671.
    """

    column_every: Count = 10
    """Stream batches for each column, except the last."""
    max_columns: Count = 5
    """Maximum number of columns; the last learns from the rest of the stream."""

    def costs(self) -> Costs:
        return replace(super().costs(), memory=f"up to {self.max_columns} columns of weights")

    def setup(self, image_shape: ImageShape) -> None:
        super().setup(image_shape)
        self.columns_ = Columns(self.encoder_)
        compute_in(self.columns_, self.precision_)
        self.encoder_ = self.columns_
        self._column_rng = generators(self.seed, 4)[-1]
        self._batches = torch.zeros((), dtype=torch.int64)

    def learn(self, batch: Tensor, labels: Tensor | None) -> None:
        due = min(self.max_columns, 1 + int(self._batches) // self.column_every)
        if len(self.columns_.columns) < due:  # false if a failed batch is given again
            self.grow()
        for stream_views in self.updates(batch):
            self.step(self.losses(stream_views))
        self._batches += 1
        self.diagnostics_["columns"] = float(len(self.columns_.columns))

    def losses(self, stream_views: Tensor) -> dict[str, Tensor]:
        """Return the loss of an update."""
        z = self.project(stream_views)  # (2n, 128)
        positives = twin_positives(len(z) // 2, len(z), device=z.device)
        return {"loss": contrastive_loss(dot_products(z), positives, self.tau)}

    def grow(self) -> None:
        """Freeze the columns and add a fresh one, with its projector and optimiser."""
        if isinstance(self.start_encoder_, nn.Module):
            encoder = deepcopy(self.start_encoder_).train().requires_grad_(True)
        else:
            encoder, _ = build_encoder(self.start_encoder_, self.view_shape_, self._column_rng)
        encoder = encoder.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        example = torch.zeros(1, *self.view_shape_, device=self.device)
        with default_rng(self._column_rng):
            self.columns_.grow(encoder.to(self.device), example)
        self.columns_.to(self.device)
        projector = build_projector(self.output_dim_, self.projection_dim, self._column_rng)
        self.projector_ = projector.to(self.device).train()
        compute_in(self.projector_, self.precision_)
        self.optimizer_ = self.make_optimizer()

    def parts(self) -> dict[str, Part]:
        return {
            **super().parts(),
            "columns": torch.tensor(len(self.columns_.columns)),
            "batches": self._batches,
            "column_rng": self._column_rng,
        }

    def load_state_dict(self, state: State) -> None:
        with self._changing():
            columns = int(state["columns.value"])
            if not 1 <= columns <= self.max_columns:
                raise DamagedFileError(
                    f"the state holds {columns} columns, but max_columns is {self.max_columns}; "
                    "load it into a learner with the parameters it was saved with"
                )
            assert self.image_shape_ is not None  # it has started
            if columns < len(self.columns_.columns):
                self.setup(self.image_shape_)
            while len(self.columns_.columns) < columns:
                self.grow()
            super().load_state_dict(state)
