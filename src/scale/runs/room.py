"""Refuse a run that cannot fit into the memory of the machine, before it asks for that memory."""

from __future__ import annotations

import math

import numpy as np

from scale._images import resized
from scale._machine import check_memory, in_words, memory_bytes, memory_in_words
from scale.methods import ContrastiveLearner
from scale.methods.core.allocation import AtMost
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


def _bytes_of(setting: Setting) -> dict[str, int]:
    """Return the least bytes of the parts of a run that grow with the images."""
    stream, learner = setting.stream, setting.learner
    image = stream.images[0].nbytes
    params = learner.get_params()
    on_disk = isinstance(stream.images, np.memmap)
    kept = min(int(params.get("memory_size", 0)), stream.num_samples)
    needed = {"images": 0 if on_disk else stream.images.nbytes, "memory": kept * image}
    if isinstance(learner, ContrastiveLearner):
        channels, height, width = stream.images.shape[1:]
        view = math.prod(resized((channels, height, width), learner.image_side))
        n = min(stream.batch_size, stream.num_samples)
        needed["views of a batch"] = 2 * n * view * FLOAT
    return needed
