"""The settings that a dataset's card recommends."""

from __future__ import annotations

import dataclasses
from typing import Any

from scale.data import DatasetCard, card_for
from scale.methods import Learner


def recipe_for(dataset: str) -> DatasetCard:
    """Return the card of `dataset`; its `stream_batch` and `params` are the recipe."""
    return card_for(dataset)


def recipe_params(dataset: str, method: type[Learner]) -> dict[str, Any]:
    """Return the parameters of a dataset's card that a method has."""
    has = {field.name for field in dataclasses.fields(method)}
    return {name: value for name, value in card_for(dataset).params.items() if name in has}
