"""Compare embeddings with BatchNorm's running statistics and with statistics of the memory."""

from __future__ import annotations

import numpy as np
import torch
from torch.nn.modules.batchnorm import _BatchNorm

from scale.augment import resize
from scale.evaluate import Evaluator, knn_accuracy
from scale.methods import Replay
from scale.methods.core.pixels import PIXEL_MEAN, PIXEL_STD

MOST_IMAGES = 2048  # all of them go through the encoder in one pass


def compare_statistics(
    learner: Replay, same: Replay, evaluator: Evaluator
) -> dict[str, float | int]:
    """Return how much the embeddings change, and the kNN accuracy with either statistics.

    Parameters
    ----------
    learner
        The trained learner; left unchanged.
    same
        A second copy of it, whose running statistics are replaced by those of its memory.
    evaluator
        Evaluation images and protocol.

    Returns
    -------
    dict
        `cosine`: mean cosine of the two embeddings of an evaluation image. `knn_running` and
        `knn_memory`: kNN accuracy in percent. `memory_images`: images behind the statistics.
    """
    images = take_statistics_of_memory(same)
    by_running, by_memory = (evaluator.features(each.transform) for each in (learner, same))
    moved = torch.cosine_similarity(torch.tensor(by_running[0]), torch.tensor(by_memory[0]))
    return {
        "memory_images": images,
        "cosine": round(float(moved.mean()), 6),
        "knn_running": _knn(evaluator, *by_running),
        "knn_memory": _knn(evaluator, *by_memory),
    }


def take_statistics_of_memory(learner: Replay) -> int:
    """Set BatchNorm's running statistics to those of memory images; return how many were used.

    The images are those that `transform` sees, not views. They go through in one pass, so that
    each layer's statistics are exact for the output of the layers before it.
    """
    images = learner.memory_.sample(MOST_IMAGES)
    pixels = resize(images.to(learner.device), learner.augmentation_.size)
    pixels = pixels.sub_(PIXEL_MEAN).div_(PIXEL_STD)
    for layer in learner.encoder_.modules():
        if isinstance(layer, _BatchNorm):
            layer.reset_running_stats()
            layer.momentum = 1.0  # the next pass replaces the statistics
    with torch.no_grad():
        learner.encoder_(pixels.contiguous(memory_format=torch.channels_last))
    return len(images)


def _knn(evaluator: Evaluator, queries: np.ndarray, bank: np.ndarray) -> float:
    sets = evaluator.sets
    return 100 * knn_accuracy(
        bank, sets.bank_labels, queries, sets.eval_labels, k=evaluator.protocol.k
    )
