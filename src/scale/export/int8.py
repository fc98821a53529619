"""An encoder in 8-bit integers, and what that costs in accuracy."""

from __future__ import annotations

import logging
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from scale._errors import InputError
from scale.evaluate import knn_predict
from scale.export.graphs import INPUT, Transform, encoder_nodes, need
from scale.export.samples import Samples

BATCH = 32  # images of a calibration step
NEIGHBOURS = 10


def quantised(model: Any, images: np.ndarray, method: str) -> Any:
    """Return the model with the layers of its encoder in 8 bits.

    Patches, read-out and resizing stay in float32: differences of large numbers do not fit 8 bits.

    Parameters
    ----------
    model
        The ONNX model, with torch's notes.
    images
        Images that show the range of each layer's outputs.
    method
        Name of the method, for the error.
    """
    nodes = encoder_nodes(model)
    if not nodes:
        raise InputError(
            f"--int8 is for the layers of an encoder, and {method} has none; leave it out"
        )
    need("onnxruntime")
    from onnxruntime import quantization

    with tempfile.TemporaryDirectory() as made:
        source, target = Path(made) / "float.onnx", Path(made) / "int8.onnx"
        source.write_bytes(model.SerializeToString())
        logger = logging.getLogger()
        before, logger.level = logger.level, logging.ERROR
        try:
            quantization.quantize_static(
                str(source),
                str(target),
                _Batches(images),
                quant_format=quantization.QuantFormat.QDQ,
                nodes_to_quantize=nodes,
                per_channel=True,
                reduce_range=True,  # else processors without VNNI overflow
                extra_options={"ActivationSymmetric": False, "CalibMovingAverage": False},
            )
        finally:
            logger.level = before
        return need("onnx").load(str(target))


def loss_of_neighbours(before: Transform, after: Transform, samples: Samples) -> str:
    """Return in words how far two transforms find the same neighbours.

    kNN accuracy by the run's evaluation; without labels, the share of equal nearest neighbours.
    """
    evaluator = samples.evaluator
    if evaluator is None:
        images = samples.images
        share = 100 * shared_neighbours(before(images), after(images))
        return (
            f"{share:.1f} % of the {NEIGHBOURS} nearest neighbours are the same ({samples.origin})"
        )
    sets = evaluator.sets
    full, small = (
        100
        * float(
            np.mean(
                knn_predict(bank, sets.bank_labels, queries, k=evaluator.protocol.k)
                == sets.eval_labels
            )
        )
        for queries, bank in map(evaluator.features, (before, after))
    )
    return (
        f"kNN {small:.2f} % instead of {full:.2f} % ({len(sets.eval_labels)} test images, "
        f"{len(sets.bank_labels)} labels)"
    )


def shared_neighbours(before: np.ndarray, after: np.ndarray) -> float:
    """Return the share of nearest neighbours that two embeddings of the same images agree on."""
    k = min(NEIGHBOURS, len(before) - 1)
    if k < 1:
        return 1.0
    same = [
        len(set(one) & set(other))
        for one, other in zip(_nearest(before, k), _nearest(after, k), strict=True)
    ]
    return float(np.mean(same)) / k


def _nearest(rows: np.ndarray, k: int) -> list[list[int]]:
    squares = (rows**2).sum(1)
    distances = squares[:, None] + squares - 2 * rows @ rows.T
    np.fill_diagonal(distances, np.inf)
    return [list(row) for row in np.argsort(distances, 1)[:, :k]]


class _Batches:
    """Calibration images, as onnxruntime asks for them."""

    def __init__(self, images: np.ndarray) -> None:
        parts = [images[at : at + BATCH] for at in range(0, len(images), BATCH)]
        self._parts = iter(parts)

    def get_next(self) -> dict[str, np.ndarray] | None:
        """Return the next batch, or None at the end."""
        part = next(self._parts, None)
        return None if part is None else {INPUT: np.ascontiguousarray(part)}
