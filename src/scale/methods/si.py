"""SI: SimCLR that holds on to the weights which reduced the loss."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from scale.methods._checks import check_numbers
from scale.methods._facts import Costs
from scale.methods._registry import register_method
from scale.methods._state import Part
from scale.methods.simclr import SimCLR
from scale.models import ImageShape


@register_method("si")
@dataclass(kw_only=True)
class SI(SimCLR):
    """NT-Xent on the stream, and synaptic intelligence's penalty on moving important weights.

    Each update credits every weight of encoder and projector with its share of the loss's fall,
    omega -= gradient x step. The step is the one the optimiser made, momentum and decay included;
    the gradient is that of the contrastive loss alone, as in the authors' code: with the penalty's,
    weights would be important for having obeyed the penalty. (mammoth's SI takes lr x gradient²
    of the whole loss, clipped, which under momentum is not the loss's fall.)

    There are no tasks at whose end to consolidate, so it happens every `consolidate_every` stream
    batches: Omega += relu(omega) / (distance travelled² + xi), the weights of this moment become
    the reference, and omega starts from 0. The penalty is c x sum of Omega (weight - reference)²;
    it is 0 before the first consolidation.

    References
    ----------
    Zenke, Poole and Ganguli (2017), Continual Learning Through Synaptic Intelligence, ICML.
    """

    c: float = 0.4
    """Weight of the penalty."""
    xi: float = 1.0
    """Keeps the importance of weights that hardly moved finite."""
    consolidate_every: int = 10
    """Stream batches from one consolidation to the next."""

    def costs(self) -> Costs:
        return replace(super().costs(), memory="3 copies of the weights")

    def _start(self, image_shape: ImageShape) -> None:
        check_numbers(self, "c", least=0)
        check_numbers(self, "xi", above=0)
        check_numbers(self, "consolidate_every", least=1, whole=True)
        super()._start(image_shape)
        # One tensor per parameter, in its layout: to make one long vector of all parameters in
        # each update takes half as long as the update itself.
        self._reference = _constants(p.clone() for p in self._weights())
        self._importance = _constants(torch.zeros_like(p) for p in self._weights())  # Omega
        self._credit = _constants(torch.zeros_like(p) for p in self._weights())  # omega
        self._gradients: list[Tensor] = []
        self._batches = torch.zeros((), dtype=torch.int64)

    def _losses(self, stream_views: Tensor, memory_views: Tensor, step: int) -> dict[str, Tensor]:
        contrastive = super()._losses(stream_views, memory_views, step)["loss"]
        # The penalty is a mere number here, and `_after_backward` adds its gradient: the backward
        # pass then gives the gradient of the contrastive loss alone.
        synapses = zip(self._weights(), self._reference, self._importance, strict=True)
        terms = [(omega * (p - start).square()).sum() for p, start, omega in synapses]
        penalty = self.c * torch.stack(terms).sum()
        return {"loss": contrastive + penalty, "contrastive": contrastive, "penalty": penalty}

    def _after_backward(self) -> None:
        gradients = [p.grad for p in self._trained()]
        self._gradients = [
            torch.zeros_like(p) if g is None else g.clone()
            for g, p in zip(gradients, self._weights(), strict=True)
        ]
        if self.c == 0:
            return
        synapses = zip(self._weights(), self._reference, self._importance, strict=True)
        for gradient, (p, start, omega) in zip(gradients, synapses, strict=True):
            if gradient is not None:
                gradient.addcmul_(omega, p - start, value=2 * self.c)

    def _update(self, loss: Tensor) -> None:
        before = [p.clone() for p in self._weights()]
        super()._update(loss)
        updates = zip(self._credit, self._gradients, self._weights(), before, strict=True)
        for credit, gradient, p, start in updates:
            credit.addcmul_(gradient, p - start, value=-1)

    def _after_batch(self, batch: Tensor, labels: Tensor | None) -> None:
        self._batches += 1
        if self._batches % self.consolidate_every == 0:
            self._consolidate()

    def _consolidate(self) -> None:
        synapses = zip(
            self._weights(), self._reference, self._importance, self._credit, strict=True
        )
        for p, start, importance, credit in synapses:
            importance += credit.relu() / ((p - start).square() + self.xi)
            start.copy_(p)
            credit.zero_()

    def _weights(self) -> list[Tensor]:
        """Return the trained parameters, apart from any graph."""
        return [p.detach() for p in self._trained()]

    def _parts(self) -> dict[str, Part]:
        return {
            **super()._parts(),
            "reference": self._reference,
            "importance": self._importance,
            "credit": self._credit,
            "batches": self._batches,
        }


def _constants(tensors: Iterable[Tensor]) -> nn.ParameterList:
    """Return tensors as a module, which has a state, that nothing trains."""
    return nn.ParameterList([nn.Parameter(tensor, requires_grad=False) for tensor in tensors])
