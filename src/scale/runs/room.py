"""Refuse a run that cannot fit into the memory of the machine, before it asks for that memory."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from scale._images import resized
from scale._machine import check_memory, in_words, memory_bytes, memory_in_words
from scale.data import ImageSet
from scale.evaluate import Protocol
from scale.methods import ContrastiveLearner, Learner
from scale.methods.core.allocation import AtMost

if TYPE_CHECKING:
    from scale.runs.setting import Setting

FLOAT = 4  # bytes of a pixel in a view


def at_most_this_machine() -> AtMost:
    """Return a context in which no tensor may be larger than the memory of the machine."""
    why = f"{memory_in_words()}; lower the parameter that asks for it"
    return AtMost(memory_bytes(), why)


def refuse_too_large(setting: Setting) -> None:
    """Raise `InputError` if images, memory and the views of one update exceed the machine's memory.

    The estimate is a lower bound: it leaves out the encoder, its activations and the evaluation.
    """
    needed = _bytes_of(setting)
    told = ", ".join(f"{name} {in_words(size)}" for name, size in needed.items())
    remedy = "use a smaller --image-size, --stream-batch or --memory-size"
    check_memory(sum(needed.values()), f"the run ({told})", remedy)


def refuse_large_evaluation(
    train: ImageSet, test: ImageSet | None, protocol: Protocol, learner: Learner
) -> None:
    """Raise `InputError` if the floors exceed the machine's memory, before images are copied.

    The estimate is a lower bound: the images, if some are held out; the bank; and the floor `pca`,
    which centres a copy of the bank's pixels.
    """
    banked = min(protocol.bank_size, len(train))
    held = train.images.nbytes if test is None or not isinstance(train.images, np.memmap) else 0
    floors = banked * (train.images[0].nbytes + 2 * _pixels(train.images, learner) * FLOAT)
    told = f"images {in_words(held)}, {banked} of them for the floors {in_words(floors)}"
    remedy = "use a smaller --image-size or --bank-size"
    check_memory(held + floors, f"the evaluation ({told})", remedy)


def _pixels(images: np.ndarray, learner: Learner) -> int:
    """Return the values of one image at the learner's side."""
    channels, height, width = images.shape[1:]
    return math.prod(resized((channels, height, width), learner.image_side))


def _bytes_of(setting: Setting) -> dict[str, int]:
    """Return the least bytes of the parts of a run that grow with the images."""
    stream, learner = setting.stream, setting.learner
    image = stream.images[0].nbytes
    params = learner.get_params()
    on_disk = isinstance(stream.images, np.memmap)
    kept = min(int(params.get("memory_size", 0)), stream.num_samples)
    needed = {"images": 0 if on_disk else stream.images.nbytes, "memory": kept * image}
    if isinstance(learner, ContrastiveLearner):
        n = min(stream.batch_size, stream.num_samples)
        needed["views of a batch"] = 2 * n * _pixels(stream.images, learner) * FLOAT
    return needed
