"""Notice that config.json was edited between a stop and `--resume`."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from scale._errors import InputError
from scale.methods import Learner
from scale.runs.config import CONFIG
from scale.runs.run_folder import CONFIG_REMEDY


def refuse_other_learner(out: Path, begun: dict[str, Any], learner: Learner) -> None:
    """Raise `InputError` if config.json was edited: its options do not give its learner."""
    kept, mine = begun.get("learner"), json.loads(json.dumps(learner.describe()))
    if kept is not None and kept.get("weights") != mine.get("weights"):
        raise InputError(
            f"the weights {mine['params'].get('encoder')} changed since the run began, and it has "
            "no checkpoint yet; put back the file, or start again with a new --out"
        )
    if kept is not None and any(kept[name] != mine[name] for name in ("method", "params")):
        raise InputError(
            f"{out / CONFIG} was changed since the run began: its options give another learner "
            f"than it describes; {CONFIG_REMEDY}"
        )


def mark_of(described: dict[str, Any]) -> dict[str, Any]:
    """Return what a checkpoint keeps of config.json, to notice a change: options and a digest."""
    plain = json.loads(json.dumps(described))
    run = {name: value for name, value in plain["run"].items() if name != "threads"}
    kept = {name: plain.get(name) for name in ("learner", "data", "protocol", "start")}
    text = json.dumps({"run": run, **kept}, sort_keys=True)
    return {"run": run, "digest": hashlib.sha256(text.encode()).hexdigest()}


def refuse_edited(out: Path, then: dict[str, Any], now: dict[str, Any]) -> None:
    """Raise `InputError` if config.json is not the one of the checkpoint."""
    if then == now:
        return
    before, after = then.get("run", {}), now["run"]
    names = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    told = [f"{name} = {before.get(name)} then, {after.get(name)} now" for name in names]
    what = "; ".join(told) or "not an option, but its data, protocol or learner"
    raise InputError(
        f"{out / CONFIG} was changed since the last checkpoint ({what}); undo the change, or start "
        "again with a new --out"
    )
