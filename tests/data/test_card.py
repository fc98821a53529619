from __future__ import annotations

import numpy as np
import pytest

from scale._errors import DuplicateNameError
from scale.data import DATASETS, DatasetCard, ImageSet, LoadOptions, card_for, register_dataset
from scale.data.card import CARDS, PLAIN
from scale.evaluate import Protocol, protocol_for


def test_every_card_is_of_a_registered_dataset() -> None:
    assert {"cifar10", "cifar100", "tinyimagenet10", "mnist", "digits", "digits8"} <= set(CARDS)
    assert set(CARDS) <= set(DATASETS)


@pytest.mark.parametrize(
    ("hub_id", "name"),
    [("uoft-cs/cifar10", "cifar10"), ("uoft-cs/cifar100", "cifar100"), ("ylecun/mnist", "mnist")],
)
def test_a_dataset_has_the_same_card_under_its_hub_id(hub_id: str, name: str) -> None:
    assert card_for(hub_id) is CARDS[name]
    assert protocol_for(hub_id, [0, 1]) == protocol_for(name, [])


@pytest.mark.parametrize("dataset", ["zh-plus/tiny-imagenet", "me/mnist", "./mnist", "my photos"])
def test_other_datasets_have_the_plain_card(dataset: str) -> None:
    assert card_for(dataset) is PLAIN


@pytest.mark.parametrize(
    ("name", "protocol"),
    [
        ("cifar10", Protocol(4096, 500, 1000)),
        ("cifar100", Protocol(2560, 250, 5000)),
        ("tinyimagenet10", Protocol(500, 50, 100)),
        ("mnist", Protocol(4096, 500, 1000)),
        ("digits", Protocol(None, 80, 1000)),
        ("digits8", Protocol(None, 2, 60, k=15)),
    ],
)
def test_the_protocols_of_the_paper_do_not_depend_on_the_labels(
    name: str, protocol: Protocol
) -> None:
    assert protocol_for(name, [0, 1] * 30, [0, 1] * 2) == protocol


def test_a_dataset_can_be_registered_with_a_card() -> None:
    def load(split: str, options: LoadOptions) -> ImageSet:
        raise NotImplementedError

    card = DatasetCard(hub_id="me/mine", bank_size=8, stream_batch=32, params={"lam": 0.5})
    register_dataset("test-card-mine", card=card)(load)
    try:
        assert card_for("me/mine") is card_for("test-card-mine") is card
        protocol = protocol_for("test-card-mine", np.repeat([0, 1], [30, 20]))
        assert (protocol.samples_per_class, protocol.bank_size) == (30, 8)
        with pytest.raises(DuplicateNameError):
            register_dataset("test-card-mine", card=DatasetCard())(lambda split, options: None)
        assert card_for("test-card-mine") is card
    finally:
        del CARDS["test-card-mine"]
