"""A layer of units that grows and shrinks with the error of its reconstruction."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

ENOUGH = 20  # observations before a unit is pruned
SMALLEST = 50.0  # a variance may be negative; below minus this, its exponential is cut


class Running(nn.Module):
    """The last number, running mean and deviation, and their least values since a change."""

    last: Tensor
    mean: Tensor
    spread: Tensor
    seen: Tensor
    least_mean: Tensor
    least_std: Tensor

    def __init__(self) -> None:
        super().__init__()
        for name in ("last", "mean", "spread", "seen"):
            self.register_buffer(name, torch.tensor(0.0, dtype=torch.float64))
        for name in ("least_mean", "least_std"):
            self.register_buffer(name, torch.tensor(torch.inf, dtype=torch.float64))

    def std(self) -> Tensor:
        """Return the standard deviation."""
        return (self.spread / self.seen.clamp(min=1)).clamp(min=0).sqrt()

    def add(self, value: float) -> None:
        """Add a number (Welford)."""
        self.seen += 1
        self.last.fill_(value)
        gap = value - self.mean
        self.mean += gap / self.seen
        self.spread += gap * (value - self.mean)
        self.least_mean.copy_(torch.minimum(self.least_mean, self.mean))
        self.least_std.copy_(torch.minimum(self.least_std, self.std()))

    def is_high(self, k: float) -> bool:
        """Return whether mean + deviation exceeds least mean + k x least deviation."""
        return bool(self.mean + self.std() > self.least_mean + k * self.least_std)

    def begin_again(self) -> None:
        """Take the current values as the least ones."""
        self.least_mean.copy_(self.mean)
        self.least_std.copy_(self.std())


class GrowingLayer(nn.Module):
    """A tied autoencoder: h = ReLU(W x + b) on the active units, and x' = W^T h + b'.

    Parameters
    ----------
    dim
        Dimension of the input.
    most
        Maximum number of units; inactive ones are zero.
    units
        Units at the start.
    depth
        Place of the layer, from 1.

    Attributes
    ----------
    active
        Which units are in use, (most,).
    input_mean, inputs
        Running mean of the input, (dim,), and number of its rows.
    norm
        Running mean length of the codes; features are divided by it.
    """

    active: Tensor
    input_mean: Tensor
    inputs: Tensor
    norm: Tensor
    batches: Tensor

    def __init__(self, dim: int, most: int, units: int, depth: int) -> None:
        super().__init__()
        self.depth = depth
        self.weight = nn.Parameter(torch.zeros(most, dim))
        self.bias = nn.Parameter(torch.zeros(most))
        self.back = nn.Parameter(torch.zeros(dim))
        active = torch.arange(most) < min(units, most)
        bound = math.sqrt(6 / (dim + int(active.sum())))
        with torch.no_grad():
            self.weight[active] = (2 * torch.rand(int(active.sum()), dim) - 1) * bound
        self.register_buffer("active", active)
        self.register_buffer("input_mean", torch.zeros(dim))
        self.register_buffer("inputs", torch.tensor(0.0))
        self.register_buffer("norm", torch.tensor(1.0))
        self.register_buffer("batches", torch.tensor(0))
        self.bias_error, self.variance = Running(), Running()

    def encode(self, x: Tensor) -> Tensor:
        """Return codes, (n, most); inactive units are 0."""
        return F.relu(F.linear(x, self.weight, self.bias)) * self.active

    def decode(self, h: Tensor) -> Tensor:
        """Return reconstructions, (n, dim)."""
        return h @ self.weight + self.back

    @torch.no_grad()
    def observe(self, x: Tensor) -> None:
        """Add the network's bias and variance on the running mean of inputs, after these rows."""
        self.inputs += len(x)
        self.input_mean += (x.mean(0) - self.input_mean) * len(x) / self.inputs
        mean = self.input_mean[None]
        h = self.encode(mean)
        self.bias_error.add(float((self.decode(h) - mean).square().mean()))
        self.variance.add(float((self.decode(h.square()) - mean.square()).mean()))
        if float(self.variance.seen) < ENOUGH:
            self.variance.begin_again()

    def change(self, least: int, generator: torch.Generator) -> int | None:
        """Grow a unit or prune one; return the index of a pruned unit.

        Parameters
        ----------
        least
            Units that are never pruned.
        generator
            Source of a new unit's weights.
        """
        if self.bias_error.is_high(self._tolerance(self.bias_error)):
            self.bias_error.begin_again()
            self.grow(generator)
            return None
        enough = float(self.variance.seen) >= ENOUGH and int(self.active.sum()) > least
        if enough and self.variance.is_high(2 * self._tolerance(self.variance)):
            self.variance.begin_again()
            return self.prune()
        return None

    def _tolerance(self, error: Running) -> float:
        """Return by how many of its least deviations an error may rise; fewer if it is large."""
        small = math.exp(-float(error.last.clamp(min=-SMALLEST)))
        return (math.log(self.depth) + 1) * (1.3 * small + 0.7)

    @torch.no_grad()
    def grow(self, generator: torch.Generator) -> None:
        """Activate a unit with Xavier weights, if there is room."""
        free = (~self.active).nonzero()[:, 0]
        if len(free) == 0:
            return
        unit, dim = int(free[0]), self.weight.shape[1]
        bound = math.sqrt(6 / (dim + int(self.active.sum()) + 1))
        self.weight[unit] = ((2 * torch.rand(dim, generator=generator) - 1) * bound).to(self.weight)
        self.bias[unit] = 0
        self.active[unit] = True

    @torch.no_grad()
    def prune(self) -> int:
        """Deactivate the unit with the smallest activation on the mean input; return it."""
        activation = self.encode(self.input_mean[None])[0].abs()
        unit = int(activation.masked_fill(~self.active, torch.inf).argmin())
        self.active[unit] = False
        self.weight[unit] = 0
        self.bias[unit] = 0
        return unit

    @torch.no_grad()
    def measure(self, h: Tensor) -> None:
        """Add the mean length of codes to the running one."""
        self.batches += 1
        length = h.norm(dim=1).mean()
        first = self.norm if int(self.batches) > 1 else length
        self.norm.copy_(first + (length - first) / self.batches)
