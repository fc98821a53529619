from __future__ import annotations

import pytest

from scale.methods import METHODS
from scale.runs import RECIPES, Recipe, recipe_for, recipe_params


@pytest.mark.parametrize(
    ("hub_id", "name"),
    [("uoft-cs/cifar10", "cifar10"), ("uoft-cs/cifar100", "cifar100"), ("ylecun/mnist", "mnist")],
)
def test_a_dataset_has_the_same_recipe_under_its_hub_id(hub_id: str, name: str) -> None:
    assert recipe_for(hub_id) == RECIPES[name]
    assert recipe_params(hub_id, METHODS["stam"]) == recipe_params(name, METHODS["stam"])


@pytest.mark.parametrize("dataset", ["zh-plus/tiny-imagenet", "me/mnist", "./mnist", "my photos"])
def test_other_datasets_are_treated_like_natural_images(dataset: str) -> None:
    assert recipe_for(dataset) == Recipe()
