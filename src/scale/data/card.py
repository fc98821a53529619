"""Dataset cards: hub id, evaluation protocol and default parameters of each dataset."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class DatasetCard:
    """The card of a dataset. Its defaults suit natural images.

    Examples
    --------
    >>> CARDS["mnist"].stream_batch, DatasetCard().stream_batch
    (256, 128)
    """

    hub_id: str | None = None
    """Hugging Face hub id, ``owner/name``; None if the dataset is not on the hub."""
    label: str | None = None
    """Label column if the user names none; None takes the file's only label."""
    first_classes: int | None = None
    """Keep only this many classes; None keeps all."""
    samples_per_class: int | None = None
    """Images of each class in the stream (the paper's U); None takes all."""
    equal_classes: bool = False
    """Without `samples_per_class`, take the size of the smallest class from each."""
    eval_per_class: int | None = None
    """Test images of each class that are evaluated; None estimates it from the counts."""
    bank_size: int | None = None
    """Labelled images in the bank; None estimates it from the counts."""
    stream_batch: int = 128
    """Images in a batch of the stream."""
    params: Mapping[str, Any] = field(default_factory=dict)
    """Default parameters of methods; each method uses those that it has."""

    @property
    def protocol(self) -> dict[str, int]:
        """The values of the evaluation protocol that the card sets."""
        names = ("samples_per_class", "eval_per_class", "bank_size")
        return {name: value for name in names if (value := getattr(self, name)) is not None}


# The STAM paper's values for MNIST. Its values for CIFAR-10 are the defaults of the method.
_PATCHES_OF_DIGITS = {"receptive_fields": [8, 13, 20], "stride": 1, "delta": 400}

PLAIN = DatasetCard(params={"steps_per_batch": 5})
"""Card of data that has none: that of natural images with few updates, so a run takes minutes."""

CARDS: dict[str, DatasetCard] = {
    "cifar10": DatasetCard(
        hub_id="uoft-cs/cifar10", samples_per_class=4096, eval_per_class=500, bank_size=1000
    ),
    "cifar100": DatasetCard(
        hub_id="uoft-cs/cifar100",
        label="coarse_label",
        samples_per_class=2560,
        eval_per_class=250,
        bank_size=5000,
        params={"receptive_fields": [10, 14, 18], "memory_clusters": 20},
    ),
    "tinyimagenet10": DatasetCard(
        hub_id="zh-plus/tiny-imagenet",
        label="label",
        first_classes=10,
        samples_per_class=500,
        eval_per_class=50,
        bank_size=100,
        params={
            "augmentation": "tinyimagenet",
            "image_side": 32,
            "receptive_fields": [10, 18, 26],
        },
    ),
    "fruits": DatasetCard(
        eval_per_class=25,
        stream_batch=64,
        params={
            "augmentation": "tinyimagenet",
            "image_side": 32,
            "receptive_fields": [10, 14, 18],
        },
    ),
    "mnist": DatasetCard(
        hub_id="ylecun/mnist",
        samples_per_class=4096,
        eval_per_class=500,
        bank_size=1000,
        stream_batch=256,
        params={"encoder": "cnn", "augmentation": "mnist", **_PATCHES_OF_DIGITS},
    ),
    "digits": DatasetCard(
        equal_classes=True,
        eval_per_class=80,
        bank_size=1000,
        stream_batch=64,
        params={
            "encoder": "cnn",
            "augmentation": "digits",
            "memory_batch": 64,
            "steps_per_batch": 10,
            **_PATCHES_OF_DIGITS,
        },
    ),
    "digits8": DatasetCard(
        equal_classes=True,
        stream_batch=64,
        params={
            "encoder": "cnn",
            "augmentation": "mnist",
            "memory_batch": 64,
            **_PATCHES_OF_DIGITS,
            "receptive_fields": [3, 4, 6],  # the same fractions of a side of 8
        },
    ),
}
"""The cards of registered datasets. `register_dataset` adds to them."""
