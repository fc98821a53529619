"""SI: SimCLR with a penalty on moving the weights that reduced the loss."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from scale.losses import contrastive_loss, dot_products, twin_positives
from scale.methods.core.checks import Count, Positive, Weight
from scale.methods.core.contrastive import ContrastiveLearner
from scale.methods.core.facts import Costs
from scale.methods.core.registry import register_method
from scale.methods.core.state import Part
from scale.models import ImageShape


@register_method("si")
@dataclass(kw_only=True)
class SI(ContrastiveLearner):
    """NT-Xent on the stream, and synaptic intelligence's penalty on moving important weights.

    Each update credits every weight with its share of the decrease of the loss: omega -= gradient x
    step. The step is the optimiser's, with momentum and decay. The gradient is that of the
    contrastive loss alone, as in the authors' code. (mammoth's SI takes lr x gradient² of the whole
    loss, clipped. With momentum, that is not the decrease of the loss.)

    There are no tasks, so it consolidates every `consolidate_every` stream batches: Omega +=
    relu(omega) / (distance² + xi), with the distance from the reference weights. The current
    weights become the reference, and omega starts from 0. The penalty is c x sum of Omega (weight -
    reference)²; it is 0 before the first consolidation.

    References
    ----------
    Zenke, Poole and Ganguli (2017), Continual Learning Through Synaptic Intelligence, ICML.
    """

    c: Weight = 0.4
    """Weight of the penalty; 0 gives SimCLR. Raise it if old classes are forgotten."""
    xi: Positive = 1.0
    """Damping: limits the importance of weights that hardly moved."""
    consolidate_every: Count = 10
    """Stream batches between two consolidations."""

    def costs(self) -> Costs:
        return replace(super().costs(), memory="3 copies of the weights")

    def setup(self, image_shape: ImageShape) -> None:
        super().setup(image_shape)
        # One tensor per parameter: copying all into one vector would cost half an update.
        self._reference = _constants(p.clone() for p in self.weights())
        self._importance = _constants(torch.zeros_like(p) for p in self.weights())  # Omega
        self._credit = _constants(torch.zeros_like(p) for p in self.weights())  # omega
        self._batches = torch.zeros((), dtype=torch.int64)

    def learn(self, batch: Tensor, labels: Tensor | None) -> None:
        for stream_views in self.updates(batch):
            losses = self.losses(stream_views)
            before = [p.clone() for p in self.weights()]
            self.backward(losses["loss"])  # gradients of the contrast: the penalty has no graph
            contrastive_gradients = self._add_penalty_gradients()
            self.apply_gradients(losses)
            updates = zip(self._credit, contrastive_gradients, self.weights(), before, strict=True)
            for credit, gradient, p, start in updates:
                credit.addcmul_(gradient, p - start, value=-1)
        self._batches += 1
        if self._batches % self.consolidate_every == 0:
            self._consolidate()

    def losses(self, stream_views: Tensor) -> dict[str, Tensor]:
        """Return the losses of an update; the penalty is a constant for the backward pass."""
        z = self.project(stream_views)  # (2n, 128)
        positives = twin_positives(len(z) // 2, len(z), device=z.device)
        contrastive = contrastive_loss(dot_products(z), positives, self.tau)
        synapses = zip(self.weights(), self._reference, self._importance, strict=True)
        terms = [(omega * (p - start).square()).sum() for p, start, omega in synapses]
        penalty = self.c * torch.stack(terms).sum()
        return {"loss": contrastive + penalty, "contrastive": contrastive, "penalty": penalty}

    def _add_penalty_gradients(self) -> list[Tensor]:
        """Add the gradients of the penalty in closed form; return those without it."""
        gradients = [p.grad for p in self.trained()]
        without = [
            torch.zeros_like(p) if g is None else g.clone()
            for g, p in zip(gradients, self.weights(), strict=True)
        ]
        if self.c > 0:
            synapses = zip(self.weights(), self._reference, self._importance, strict=True)
            for gradient, (p, start, omega) in zip(gradients, synapses, strict=True):
                if gradient is not None:
                    gradient.addcmul_(omega, p - start, value=2 * self.c)
        return without

    def _consolidate(self) -> None:
        synapses = zip(self.weights(), self._reference, self._importance, self._credit, strict=True)
        for p, start, importance, credit in synapses:
            importance += credit.relu() / ((p - start).square() + self.xi)
            start.copy_(p)
            credit.zero_()

    def weights(self) -> list[Tensor]:
        """Return the trained parameters, detached from the graph."""
        return [p.detach() for p in self.trained()]

    def parts(self) -> dict[str, Part]:
        return {
            **super().parts(),
            "reference": self._reference,
            "importance": self._importance,
            "credit": self._credit,
            "batches": self._batches,
        }


def _constants(tensors: Iterable[Tensor]) -> nn.ParameterList:
    """Return tensors as a module with a state and without training."""
    return nn.ParameterList([nn.Parameter(tensor, requires_grad=False) for tensor in tensors])
