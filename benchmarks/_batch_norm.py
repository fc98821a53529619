"""What an embedding depends on BatchNorm's statistics: the running ones, or the memory's."""

from __future__ import annotations

import numpy as np
import torch
from torch.nn.modules.batchnorm import _BatchNorm

from scale.augment import resize
from scale.evaluate import Evaluator, knn_accuracy
from scale.methods import Replay
from scale.methods.core.contrastive import PIXEL_MEAN, PIXEL_STD

MOST_IMAGES = 2048  # they pass the encoder at once


def compare_statistics(
    learner: Replay, same: Replay, evaluator: Evaluator
) -> dict[str, float | int]:
    """Return how far the evaluation images move, and the kNN accuracy with either statistics.

    Parameters
    ----------
    learner
        As trained.
    same
        The same learner again; its running statistics are replaced by those of its memory.
    evaluator
        Gives the images and the protocol.

    Returns
    -------
    dict
        `cosine`: the mean over evaluation images of that between their two embeddings; in percent
        `knn_running` and `knn_memory`; `memory_images`: how many the statistics were taken of.
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
    """Set BatchNorm's running statistics to those of images in memory; return how many these are.

    They are taken of the images as `transform` sees them, not of views, and of all in one pass, so
    that each layer's are exact for what the layers before it then give.
    """
    images = learner.memory_.sample(MOST_IMAGES)
    pixels = resize(images.to(learner.device), learner.augmentation_.size)
    pixels = pixels.sub_(PIXEL_MEAN).div_(PIXEL_STD)
    for layer in learner.encoder_.modules():
        if isinstance(layer, _BatchNorm):
            layer.reset_running_stats()
            layer.momentum = 1.0  # what the next pass sees, and nothing of before
    with torch.no_grad():
        learner.encoder_(pixels.contiguous(memory_format=torch.channels_last))
    return len(images)


def _knn(evaluator: Evaluator, queries: np.ndarray, bank: np.ndarray) -> float:
    sets = evaluator.sets
    return 100 * knn_accuracy(
        bank, sets.bank_labels, queries, sets.eval_labels, k=evaluator.protocol.k
    )
