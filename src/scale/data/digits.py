"""The built-in datasets: handwritten digits, clean or in a larger frame."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from scale._errors import InputError
from scale.data._imageset import ImageSet
from scale.data.registry import DATASETS, LoadOptions
from scale.data.splits import match_split

Floats = npt.NDArray[np.float64]

_SEED = 1797
_FRAME = 28
_PLACEMENTS = {"train": 4, "test": 2}


@dataclass(frozen=True)
class Digits:
    """scikit-learn's 8 x 8 digits, clean or placed in a 28 x 28 frame.

    Each source digit is in either train or test. With frames it appears several times, each with
    its own size, position, brightness of ink and paper, and noise. A fixed seed draws these, so the
    images never change.
    """

    name: str
    in_frames: bool
    counts: dict[str, int]

    def __call__(self, split: str, options: LoadOptions) -> ImageSet:
        if options.label is not None:
            raise InputError(f"{self.name} has only one label; leave label out")
        split = match_split(split, self.counts, self.name)
        ink, labels = _source_digits(split)
        if self.in_frames:
            copies = _PLACEMENTS[split]
            ink, labels = np.tile(ink, (copies, 1, 1)), np.tile(labels, copies)
            ink = _as_seen(ink, np.random.default_rng([_SEED, copies]))
        images = np.rint(ink * 255).astype(np.uint8)[:, None]  # (N, 1, H, W)
        names = tuple(str(digit) for digit in range(10))
        return ImageSet(images, labels, names, self.name, "built in")


DATASETS.register("digits")(Digits("digits", True, {"train": 5392, "test": 898}))
DATASETS.register("digits8")(Digits("digits8", False, {"train": 1348, "test": 449}))


def _source_digits(split: str) -> tuple[Floats, npt.NDArray[np.int64]]:
    """Return ink in 0..1 (N, 8, 8) and labels; a quarter of every class is held out."""
    from sklearn.datasets import load_digits

    digits = load_digits()
    labels = digits.target.astype(np.int64)
    order = np.random.default_rng(_SEED).permutation(len(labels))
    by_class = order[np.argsort(labels[order], kind="stable")]
    # Every fourth of a list sorted by class is a quarter of every class.
    held_out = np.zeros(len(labels), dtype=bool)
    held_out[by_class[3::4]] = True
    rows = np.flatnonzero(held_out if split == "test" else ~held_out)
    return digits.images[rows] / 16.0, labels[rows]


def _as_seen(ink: Floats, rng: np.random.Generator) -> Floats:
    """Draw each digit (N, 8, 8) at a random place of a frame (N, 28, 28), values in 0..1."""
    n = len(ink)
    size = rng.uniform(12, 24, n)
    top, left = rng.uniform(0, 1, (2, n)) * (_FRAME - size)
    down, across = _bilinear(top, size), _bilinear(left, size)  # (N, 28, 8)
    drawn = down @ ink @ across.transpose(0, 2, 1)  # (N, 28, 28)
    paper, contrast = rng.uniform(0.1, 0.35, (n, 1, 1)), rng.uniform(0.4, 0.6, (n, 1, 1))
    noise = rng.normal(0, 0.03, drawn.shape)
    seen: Floats = np.clip(paper + contrast * drawn + noise, 0, 1)
    return seen


def _bilinear(start: Floats, size: Floats) -> Floats:
    """Return weights (N, 28, 8) of 8 source pixels stretched over `size` pixels from `start`."""
    at = (np.arange(_FRAME)[None] + 0.5 - start[:, None]) * (8 / size[:, None]) - 0.5  # (N, 28)
    weights: Floats = np.clip(1 - np.abs(at[..., None] - np.arange(8)), 0, None)
    return weights
