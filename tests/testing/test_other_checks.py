"""The checks of policies, streams and encoders find what breaks their rules."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from scale.memory import Policy, PolicyKnowledge
from scale.testing import check_encoder, check_policy, check_stream


class TooFew(Policy):
    def __call__(self, candidates, size, generator):
        return torch.arange(size - 1)


class Twice(Policy):
    def __call__(self, candidates, size, generator):
        return torch.zeros(size, dtype=torch.int64)


class Outside(Policy):
    def __call__(self, candidates, size, generator):
        return candidates.arrivals[:size]


class Floats(Policy):
    def __call__(self, candidates, size, generator):
        return torch.arange(size).float()


class DrawsGlobally(Policy):
    def __call__(self, candidates, size, generator):
        return torch.randperm(len(candidates))[:size]


class Sorts(Policy):
    knows = PolicyKnowledge(features=True)

    def __call__(self, candidates, size, generator):
        candidates.features.zero_()
        return torch.arange(size)


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        (TooFew, "2, 1 of|keeps 0; keep exactly `size`"),
        (Twice, "keeps a candidate twice"),
        (Outside, "index that is no candidate's"),
        (Floats, "int64 indices"),
        (DrawsGlobally, "draws from a global generator; use the one that is given"),
        (Sorts, "changes the candidates' features; copy first"),
    ],
)
def test_a_broken_policy_is_named(policy: type[Policy], message: str) -> None:
    with pytest.raises(AssertionError, match=f"^{policy.__name__}, .*({message})"):
        check_policy(policy)


def in_place(by_class: list[Any], rng: np.random.Generator) -> Any:
    rng.shuffle(by_class[0])
    return np.concatenate(by_class)


def global_draws(by_class: list[Any], rng: np.random.Generator) -> Any:
    return np.random.permutation(np.concatenate(by_class))  # noqa: NPY002


@pytest.mark.parametrize(
    ("stream", "message"),
    [
        (lambda by_class, rng: np.concatenate([*by_class, by_class[0]]), "a sample twice"),
        (lambda by_class, rng: np.arange(sum(map(len, by_class))), "not in by_class"),
        (lambda by_class, rng: by_class[0].astype(float), "int64 array"),
        (lambda by_class, rng: by_class[0][:0], "no sample"),
        (in_place, "changes by_class; copy"),
        (global_draws, "draws from a global generator"),
    ],
)
def test_a_broken_stream_is_named(stream: Any, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        check_stream(stream)


class Noisy(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear, self.unused = nn.Linear(3, 4), nn.Linear(2, 2)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        noise = torch.rand(len(images), 1) if self.noise else 0.0
        features: torch.Tensor = self.linear(images.mean(dim=(2, 3))) + noise
        return features

    noise = True


class Unused(Noisy):
    noise = False


def constant(shape: Any) -> nn.Module:
    layer = nn.Linear(3, 4)
    nn.init.ones_(layer.weight)
    nn.init.zeros_(layer.bias)
    return nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), layer)


def numpy_weights(shape: Any) -> nn.Module:
    module = constant(shape)
    module[2].bias.data += float(np.random.random())  # type: ignore[index, operator, union-attr]  # noqa: NPY002
    return module


@pytest.mark.parametrize(
    ("encoder", "message"),
    [
        (lambda shape: Noisy(), "two passes in eval mode differ"),
        (lambda shape: Unused(), "unused.weight, unused.bias gets no gradient"),
        (constant, "every seed gives the same weights"),
        (numpy_weights, "a generator other than torch's default one"),
    ],
)
def test_a_broken_encoder_is_named(encoder: Any, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        check_encoder(encoder, image_shapes=[(3, 16, 16)])
