"""What suits a dataset, whatever the stream: encoder, views, batch size."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any

from scale.data import registered_name
from scale.methods import Learner


@dataclass(frozen=True)
class Recipe:
    """Usual settings of a dataset; the user's own come first."""

    stream_batch: int = 128
    params: dict[str, Any] = field(default_factory=dict)
    """Parameters of the method."""


# The STAM paper's for MNIST; those for CIFAR-10 are the method's defaults.
PATCHES_OF_DIGITS = {"receptive_fields": [8, 13, 20], "stride": 1, "delta": 400}

RECIPES: dict[str, Recipe] = {
    "cifar10": Recipe(),
    "cifar100": Recipe(params={"receptive_fields": [10, 14, 18], "memory_clusters": 20}),
    "tinyimagenet10": Recipe(
        params={
            "augmentation": "tinyimagenet",
            "image_side": 32,
            "receptive_fields": [10, 18, 26],
        }
    ),
    "mnist": Recipe(256, {"encoder": "cnn", "augmentation": "mnist", **PATCHES_OF_DIGITS}),
    "digits": Recipe(
        64,
        {
            "encoder": "cnn",
            "augmentation": "digits",
            "memory_batch": 64,
            "steps_per_batch": 10,
            **PATCHES_OF_DIGITS,
        },
    ),
    "digits8": Recipe(
        64,
        {
            "encoder": "cnn",
            "augmentation": "mnist",
            "memory_batch": 64,
            **PATCHES_OF_DIGITS,
            "receptive_fields": [3, 4, 6],  # the same shares of a side of 8
        },
    ),
}


def recipe_for(dataset: str) -> Recipe:
    """Return the recipe of `dataset`, by its name or its hub id; others are like natural images."""
    return RECIPES.get(registered_name(dataset), Recipe())


def recipe_params(dataset: str, method: type[Learner]) -> dict[str, Any]:
    """Return the parameters of a dataset's recipe that a method has."""
    has = {field.name for field in dataclasses.fields(method)}
    return {name: value for name, value in recipe_for(dataset).params.items() if name in has}
