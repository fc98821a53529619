"""The learner of a run, finished or not."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

from scale._errors import InputError
from scale.methods import Learner, load, restore
from scale.runs.checkpoint import Checkpoints, Meta, State
from scale.runs.config import RunConfig, read_config
from scale.runs.run_folder import LEARNER


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
    final = folder / LEARNER
    if final.is_file():
        return load(final, method=method)
    finished = (folder / "summary.json").is_file()

    def use(state: State, meta: Meta) -> Learner:
        learner = restore(state, meta["learner"], method=method, origin=str(folder))
        if finished and meta["cursor"] < read_config(folder).get("data", {}).get("images", 0):
            warn(
                f"{final} is missing; this is the learner of the checkpoint at image "
                f"{meta['cursor']}, not that of the end"
            )
        return learner

    found = Checkpoints(folder / "checkpoints").read(warn, use)
    if found is None and finished:
        raise InputError(
            f"the run in {folder} is finished, but its {LEARNER} is missing; put back a copy of "
            "it, or run again with a new --out"
        )
    if found is None:
        raise InputError(f"the run in {folder} has no checkpoint yet; wait for its first one")
    return found
