"""The evaluation protocol: the evaluated images and the labelled bank."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scale._errors import InputError
from scale._images import as_array, check_labels
from scale._names import shown
from scale._numbers import check_number
from scale.data import ImageSet, card_for


@dataclass(frozen=True)
class Protocol:
    """Number of images in the stream, the evaluation and the bank, and the options of kNN."""

    samples_per_class: int | None = None
    """Images of each class in the stream (the paper's U); None: the size of the smallest class."""
    eval_per_class: int = 500
    """Test images of each class that are evaluated."""
    bank_size: int = 1000
    """Labelled train images in the bank, over all classes."""
    k: int = 50
    """Neighbours in the bank that vote, by Euclidean distance."""
    full_k: int = 200
    """Neighbours that vote if the bank is the whole train split, by cosine."""
    full_temperature: float = 0.1
    """Temperature of those votes: each weighs exp(cosine / temperature)."""


def protocol_for(
    name: str, train_labels: ArrayLike, test_labels: ArrayLike | None = None
) -> Protocol:
    """Return the protocol of a dataset: the values of its card, the rest estimated from the labels.

    Without a card, the stream takes all images of every class. Without a test split, the estimate
    assumes that `hold_out` takes a fifth of the train split.

    Examples
    --------
    >>> protocol_for("cifar10", []).bank_size
    1000
    >>> protocol = protocol_for("my photos", [0] * 50 + [1] * 50)
    >>> protocol.eval_per_class, protocol.bank_size, protocol.k
    (10, 100, 25)
    >>> protocol_for("my photos", [0] * 50 + [1] * 5).samples_per_class
    50
    """
    card = card_for(name)
    train = _classes(train_labels, "train labels")
    test = train if test_labels is None else _classes(test_labels, "test labels")
    classes, counts = np.unique(train, return_counts=True)
    T = max(1, len(classes))
    share = len(test) // T // (5 if test_labels is None else 1)
    bank_size = min(100 * T, 5000, max(len(train), 1))
    take_all = train.size > 0 and not card.equal_classes
    estimate = Protocol(
        samples_per_class=int(counts.max()) if take_all else None,
        eval_per_class=min(max(share, 1), 500),
        bank_size=bank_size,
        # With more neighbours than a class has in the bank, the other classes always win.
        k=min(50, max(1, bank_size // T // 2)) if card.bank_size is None else 50,
    )
    return replace(estimate, **card.protocol)


def _classes(labels: ArrayLike, name: str) -> NDArray[np.int64]:
    given = as_array(labels, name)
    return check_labels(given if given.size else np.zeros(0, np.int64), name=name)


@dataclass(frozen=True)
class EvaluationSets:
    """The images and labels of one seed's evaluation, the same for every method."""

    eval_images: NDArray[np.uint8]
    eval_labels: NDArray[np.int64]
    bank_images: NDArray[np.uint8]
    bank_labels: NDArray[np.int64]
    train_images: NDArray[np.uint8]
    train_labels: NDArray[np.int64]

    @property
    def classes(self) -> NDArray[np.int64]:
        """The classes of the evaluation set, sorted, in the order of per-class accuracies."""
        return np.unique(self.eval_labels)

    def counts(self) -> dict[str, int]:
        """Return the numbers of classes and images, for the record."""
        return {
            "classes": len(self.classes),
            "eval": len(self.eval_labels),
            "bank": len(self.bank_labels),
            "train": len(self.train_labels),
        }


def draw_evaluation_sets(
    train: ImageSet, test: ImageSet, protocol: Protocol, seed: int
) -> EvaluationSets:
    """Draw a balanced evaluation set from `test` and a balanced bank from `train`.

    The draw depends only on the data, the protocol and the seed. A class with too few images gives
    all of them.
    """
    train_labels, test_labels = _labels(train, "train"), _labels(test, "test")
    if not isinstance(protocol, Protocol):
        raise InputError(f"protocol must be a Protocol, got {shown(protocol)}")
    check_number("seed", seed, least=0, whole=True)
    chosen = _draw(test_labels, protocol.eval_per_class, np.random.default_rng([seed, 0]))
    T = len(np.unique(train_labels))
    # If T does not divide the bank size, the first classes get one more.
    sizes = protocol.bank_size // T + (np.arange(T) < protocol.bank_size % T)
    banked = _draw(train_labels, sizes, np.random.default_rng([seed, 1]))
    return EvaluationSets(
        eval_images=np.array(test.images[chosen]),
        eval_labels=test_labels[chosen],
        bank_images=np.array(train.images[banked]),
        bank_labels=train_labels[banked],
        train_images=train.images,
        train_labels=train_labels,
    )


def hold_out(train: ImageSet, per_class: int, seed: int) -> tuple[ImageSet, ImageSet]:
    """Return a train and a test part of `train`, for data without a test split.

    The test part has `per_class` images of each class, but at most half of a class.
    """
    labels = _labels(train, "train")
    check_number("per_class", per_class, least=0, most=2**40, whole=True)
    check_number("seed", seed, least=0, whole=True)
    _, counts = np.unique(labels, return_counts=True)
    held = _draw(labels, np.minimum(per_class, counts // 2), np.random.default_rng([seed, 2]))
    if len(held) == 0:
        raise InputError(
            f"no image can be held out: the largest class has {counts.max()} image(s) and "
            f"per_class is {per_class}; expected at least 2 and 1"
        )
    kept = np.setdiff1d(np.arange(len(labels)), held)
    return train.subset(kept), train.subset(held)


def _labels(images: ImageSet, name: str) -> NDArray[np.int64]:
    if not isinstance(images, ImageSet):
        raise InputError(f"the {name} split must be an ImageSet, got {shown(images)}")
    if images.labels is None:
        raise InputError(
            f"the {name} split has no labels; evaluation needs them: give images in class "
            "sub-folders or a label column"
        )
    return images.labels


def _draw(
    labels: NDArray[np.int64], per_class: int | NDArray[Any], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return sorted indices of random images; `per_class` is one number or one for each class."""
    classes = np.unique(labels)
    sizes = np.broadcast_to(per_class, classes.shape)
    drawn = [
        rng.permutation(np.flatnonzero(labels == label))[:size]
        for label, size in zip(classes, sizes, strict=True)
    ]
    return np.sort(np.concatenate(drawn))
