"""TensorBoard: event files in the run's folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from PIL import Image

from scale._markdown import markdown
from scale.runs.loggers.registry import register_logger

FOLDER = "tensorboard"


@register_logger("tensorboard")
class TensorBoard:
    """Look at it with ``tensorboard --logdir RUN``, or with a folder of runs."""

    package: ClassVar[str] = "tensorboard"

    def __init__(self, folder: Path, name: str, run_id: str | None) -> None:
        from torch.utils.tensorboard.writer import SummaryWriter

        self.run_id = FOLDER
        self._writer: Any = SummaryWriter(str(folder / FOLDER))

    def config(self, values: dict[str, str]) -> None:
        table = markdown(["option", "value"], list(values.items()))
        self._writer.add_text("config", table, 0)

    def metrics(self, values: dict[str, float], step: int) -> None:
        for name, value in values.items():
            self._writer.add_scalar(name, value, step)
        self._writer.flush()

    def picture(self, name: str, path: Path) -> None:
        with Image.open(path) as image:
            pixels = np.asarray(image.convert("RGB"))
        self._writer.add_image(name, pixels, 0, dataformats="HWC")

    def close(self) -> None:
        self._writer.close()
