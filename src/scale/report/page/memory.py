"""Images that memory holds, at some moments of a run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from scale._errors import DamagedFileError
from scale.methods import Learner
from scale.report.page.sprite import sprite
from scale.runs.memory_sample import Sample, holds_images, read_samples, take_sample

AT_THE_END = 400  # images shown of a run that kept no samples on its way


def memory_images(
    folder: Path, learner: Learner | None, total: int, missing: list[str]
) -> dict[str, Any] | None:
    """Return the images that memory held at some evaluations of a run; None without any.

    Parameters
    ----------
    folder
        Folder of the run.
    learner
        Its learner now, None if it cannot be read.
    total
        Images of the whole stream.
    missing
        List that gets a sentence for what cannot be shown.
    """
    try:
        samples = read_samples(folder)
    except DamagedFileError as error:
        missing.append(f"Memory at earlier moments cannot be shown: {error}.")
        samples = []
    if not samples and learner is not None:
        if not holds_images(learner.memory_):
            missing.append(f"{learner.name} keeps no images in a memory.")
            return None
        missing.append("The images in memory are shown for one moment: no others were kept.")
        samples = [take_sample(learner.memory_, max(total, learner.memory_.seen), AT_THE_END)]
    return _shown(samples) if samples else None


def _shown(samples: Sequence[Sample]) -> dict[str, Any]:
    """Return all images in one picture, each once, and which of them each moment has."""
    arrivals = np.concatenate([sample.arrivals for sample in samples])
    known, first = np.unique(arrivals, return_index=True)
    images = np.concatenate([sample.images for sample in samples])[first]
    labels = np.concatenate([sample.labels for sample in samples])[first]
    return {
        "sprite": sprite(images),
        "arrivals": known.tolist(),
        "labels": labels.tolist(),
        "moments": [_moment(sample, known) for sample in samples],
    }


def _moment(sample: Sample, known: np.ndarray) -> dict[str, Any]:
    rows = []
    for low, high, held in sample.parts.tolist():
        here = sample.arrivals[(sample.arrivals >= low) & (sample.arrivals < high)]
        images = np.searchsorted(known, here).tolist()
        rows.append({"from": low, "to": high, "held": held, "images": images})
    return {"seen": sample.seen, "held": int(sample.parts[:, 2].sum()), "parts": rows}
