"""The learner that embeds, and what an embedding's file says about it."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scale._files import as_path
from scale.data import pixels
from scale.methods import Learner, load
from scale.models import ENCODERS
from scale.runs.code import PACKAGE, sources_of
from scale.runs.config import RunConfig
from scale.runs.learner import load_learner
from scale.runs.metrics import read_metrics
from scale.runs.run_folder import LEARNER
from scale.runs.source import digest_of
from scale.runs.watched import is_watched, load_watched, watched_method


@dataclass(frozen=True, eq=False)
class Embedder:
    """A learner that has learned, with its origin.

    `method` is that of the run: `scale.load` needs it for a method in a user's file.
    """

    learner: Learner
    run: Path
    method: str | None
    digest: str

    @property
    def image_shape(self) -> tuple[int, int, int]:
        """Channels, height and width of its images."""
        assert self.learner.image_shape_ is not None
        return self.learner.image_shape_

    def content(self) -> bytes:
        """Return the learner as the content of a file."""
        return _content(self.run, self.learner)

    def about(self) -> dict[str, Any]:
        """Return what is written beside its embeddings."""
        channels, height, width = self.image_shape
        images = self._images_seen()
        is_run = self.run.is_dir() and not is_watched(self.run)
        batch = RunConfig.read(self.run).stream_batch if is_run else None
        return {
            "method": self.learner.name,
            "code": self.code,
            "learner": self.digest,
            "image_side": height if height == width else None,
            "image_shape": [channels, height, width],
            "images_seen": images,
            "batches_seen": None if images is None or batch is None else -(-images // batch),
        }

    @property
    def code(self) -> str:
        """Digest of the code that decodes and embeds."""
        encoder = self.learner.get_params().get("encoder")
        roots = [*sources_of(type(self.learner)), *sources_of(pixels.read_pixels)]
        if isinstance(encoder, str) and encoder in ENCODERS:
            roots += sources_of(ENCODERS[encoder])
        elif encoder is not None:
            roots += sources_of(encoder)
        return digest_of(dict.fromkeys(roots), PACKAGE)

    def _images_seen(self) -> int | None:
        if self.learner.memory_ is not None:
            return self.learner.memory_.seen
        if not (self.run / "summary.json").is_file():
            return None
        batches = read_metrics(self.run / "metrics.jsonl", "batch")
        return int(batches[-1]["position"]) if batches else None


def open_embedder(run: Path, warn: Callable[[str], None]) -> Embedder:
    """Return the learner of a run, finished or not, or of a live learner, or a saved one."""
    if is_watched(as_path("run", run)):
        method: str | None = watched_method(run)
        learner = load_watched(run, str(method), warn)
    elif run.is_dir():
        learner, method = load_learner(run, warn), RunConfig.read(run).method
    else:
        learner, method = load(run), None
    return Embedder(learner, run, method, hashlib.sha256(_content(run, learner)).hexdigest())


def _content(run: Path, learner: Learner) -> bytes:
    """Return a learner's file; a live learner may have learned on since its own was written."""
    file = run / LEARNER if run.is_dir() else run
    return file.read_bytes() if file.is_file() and not is_watched(run) else _saved(learner)


def _saved(learner: Learner) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        learner.save(Path(folder) / "learner")
        return (Path(folder) / "learner").read_bytes()
