"""Weights & Biases, offline unless ``WANDB_MODE`` says otherwise."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, ClassVar

from scale.runs.loggers.registry import register_logger

PROJECT = "scale"


@register_logger("wandb")
class WandB:
    """A run of the project ``scale``, or ``WANDB_PROJECT``; ``wandb sync`` sends it later."""

    package: ClassVar[str] = "wandb"

    def __init__(self, folder: Path, name: str, run_id: str | None) -> None:
        import wandb

        mode: Any = os.environ.get("WANDB_MODE") or "offline"  # wandb checks it
        self._image: Any = wandb.Image
        self._run: Any = wandb.init(
            project=os.environ.get("WANDB_PROJECT") or PROJECT,
            name=name,
            id=run_id,
            resume="allow",
            dir=str(folder),
            mode=mode,
            settings=wandb.Settings(console="off", silent=True),
        )
        self.run_id: str = self._run.id

    def config(self, values: dict[str, str]) -> None:
        self._run.config.update(values, allow_val_change=True)

    def metrics(self, values: dict[str, float], step: int) -> None:
        self._run.log(values, step=step)

    def picture(self, name: str, path: Path) -> None:
        self._run.log({name: self._image(str(path))})

    def close(self) -> None:
        self._run.finish()
