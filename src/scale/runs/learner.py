"""The learner of a run, finished or not."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

from scale._errors import InputError
from scale.methods import Learner, load, restore
from scale.runs.checkpoint import Checkpoints
from scale.runs.config import RunConfig


def load_learner(folder: Path, warn: Callable[[str], None] = warnings.warn) -> Learner:
    """Return the learner at the end of a run, or at its newest checkpoint.

    Parameters
    ----------
    folder
        Folder of the run.
    warn
        Called with a message for each damaged checkpoint.
    """
    method = RunConfig.read(folder).method
    final = folder / "learner.safetensors"
    if final.is_file():
        return load(final, method=method)
    found = Checkpoints(folder / "checkpoints").read(warn)
    if found is None:
        raise InputError(f"the run in {folder} has no checkpoint yet; wait for its first one")
    state, meta = found
    return restore(state, meta["learner"], method=method, origin=str(folder))
