"""Graphs of methods that do not learn by contrast: autoencoders, growing layers, random waves."""

from __future__ import annotations

import math
from copy import deepcopy
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from scale.export.families import of, shape_of
from scale.export.layers import Encode, Resize
from scale.methods.coherence import DETAILED, Coherence
from scale.methods.core.generative import GenerativeLearner
from scale.methods.core.pixels import PIXEL_MEAN, PIXEL_STD
from scale.methods.curl import CURL, Components
from scale.methods.growing.layer import GrowingLayer
from scale.methods.kiera import KIERA
from scale.methods.randum import RanDumb
from scale.methods.video.motion import blurred_grey, gradient_norm


class Round(nn.Module):
    """Black and white pixels."""

    def forward(self, pixels: Tensor) -> Tensor:
        return pixels.round()


class FirstHalf(nn.Module):
    """The means of posteriors, without their variances."""

    def forward(self, both: Tensor) -> Tensor:
        return both[:, : both.shape[1] // 2]


def _not_normalised(encoder: nn.Module) -> Encode:
    return Encode(encoder, torch.zeros(1, 1, 1, 1), torch.ones(1, 1, 1, 1))


def _trunk(learner: GenerativeLearner) -> list[nn.Module]:
    """Return the steps from uint8 images to hidden units."""
    black: list[nn.Module] = [Round()] if learner.binarize else []
    resize = Resize(shape_of(learner), learner.image_side)
    return [resize, *black, _not_normalised(learner.model_["trunk"])]


@of(GenerativeLearner)
def _generative(learner: GenerativeLearner) -> nn.Module:
    """Return the graph of an autoencoder: the mean of the posterior."""
    return nn.Sequential(*_trunk(learner), deepcopy(learner.model_["head"]), FirstHalf())


@of(CURL)
def _curl(learner: CURL) -> nn.Module:
    return nn.Sequential(*_trunk(learner), _LikeliestCode(learner.components))


class _LikeliestCode(nn.Module):
    """The mean of q(z|x,y) for the likeliest component y."""

    def __init__(self, components: Components) -> None:
        super().__init__()
        self.active, self.latents = int(components.active), components.latents
        self.logits = _first(components.logits, self.active)
        self.codes = _first(components.codes, 2 * self.active * self.latents)

    def forward(self, h: Tensor) -> Tensor:
        y = self.logits(h).argmax(1)  # (n,)
        means = self.codes(h).view(-1, self.active, 2, self.latents)[:, :, 0]
        chosen = y[:, None, None].expand(-1, 1, self.latents)
        codes: Tensor = means.gather(1, chosen)[:, 0]
        return codes  # (n, latents)


def _first(linear: nn.Linear, rows: int) -> nn.Linear:
    """Return a layer with the first outputs of another."""
    made = nn.Linear(linear.in_features, rows)
    with torch.no_grad():
        made.weight.copy_(linear.weight[:rows])
        made.bias.copy_(linear.bias[:rows])
    return made


@of(KIERA)
def _kiera(learner: KIERA) -> nn.Module:
    resize = Resize(shape_of(learner), learner.image_side)
    return nn.Sequential(resize, _not_normalised(_Codes(learner)))


class _Codes(nn.Module):
    """Codes of the layers that a KIERA has grown, and zeros for those that it may still grow."""

    def __init__(self, learner: KIERA) -> None:
        super().__init__()
        self.conv = deepcopy(learner.conv_)
        self.layers = nn.ModuleList(deepcopy(learner.layer(i)) for i in range(int(learner.depth_)))
        self.norms = [float(learner.layer(i).norm.clamp(min=1e-6)) for i in range(len(self.layers))]
        self.missing = (learner.max_layers - len(self.layers)) * learner.max_width

    def forward(self, pixels: Tensor) -> Tensor:
        x, codes = self.conv.encode(pixels), []
        for layer, norm in zip(self.layers, self.norms, strict=True):
            x = cast("GrowingLayer", layer).encode(x)
            codes.append(x / norm)
        return F.pad(torch.cat(codes, 1), (0, self.missing))


@of(Coherence)
def _coherence(learner: Coherence) -> nn.Module:
    return _Detailed(learner)


class _Detailed(nn.Module):
    """Mean features of all pixels, and of those with the strongest gradients."""

    def __init__(self, learner: Coherence) -> None:
        super().__init__()
        self.resize = Resize(shape_of(learner), learner.image_side)
        mean, std = (torch.full((1, 1, 1, 1), one) for one in (PIXEL_MEAN, PIXEL_STD))
        self.encode, self.unit = Encode(learner.net_, mean, std), learner.unit

    def forward(self, images: Tensor) -> Tensor:
        pixels = self.resize(images)
        features = self.encode(pixels)
        features = (F.normalize(features, dim=1) if self.unit else features).flatten(2)
        mass = gradient_norm(blurred_grey(pixels)).flatten(1)
        most = mass.topk(max(1, int(DETAILED * mass.shape[1])), dim=1).indices
        detailed = features.gather(2, most[:, None].expand(-1, features.shape[1], -1))
        return torch.cat([features.mean(2), detailed.mean(2)], dim=1)  # (n, 2d)


@of(RanDumb)
def _randum(learner: RanDumb) -> nn.Module:
    resize = Resize(shape_of(learner), learner.image_side)
    return nn.Sequential(resize, nn.Flatten(), _Waves(learner))


class _Waves(nn.Module):
    """Random features, and their whitening as one matrix; in float64, as in the learner."""

    frequencies: Tensor
    phases: Tensor
    mean: Tensor
    white: Tensor

    def __init__(self, learner: RanDumb) -> None:
        super().__init__()
        self.begun = float(learner.moments_.count) >= 2
        self.scale = math.sqrt(2 / learner.features)
        self.register_buffer("frequencies", learner.frequencies_.cpu().clone())
        # sin(x + pi / 2) = cos(x), which onnxruntime does not have in float64
        self.register_buffer("phases", learner.phases_.cpu() + math.pi / 2)
        self.register_buffer("mean", learner.moments_.mean.cpu().clone())
        one = torch.eye(learner.features, dtype=torch.float64)
        self.register_buffer("white", learner.whitening() if self.begun else one)

    def forward(self, flat: Tensor) -> Tensor:
        waves = self.scale * torch.sin(flat.double() @ self.frequencies + self.phases)
        rows = (waves - self.mean) @ self.white
        return (F.normalize(rows, dim=1) if self.begun else rows).float()
