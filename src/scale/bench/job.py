"""One run of an experiment, known by the content of its config."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from scale.evaluate.protocol import PROTOCOLS
from scale.runs import RunConfig, recipe_for


@dataclass(frozen=True)
class Job:
    """A run to be done, and its place in the experiment.

    Examples
    --------
    >>> job = Job("lambda", RunConfig(dataset="digits", params={"lam": 0.1}))
    >>> job.hash == Job("mu", RunConfig(dataset="digits", params={"lam": 0.1}, threads=1)).hash
    True
    """

    experiment: str
    config: RunConfig
    variant: str = ""
    axes: dict[str, Any] = field(default_factory=dict)
    """The values of the experiment's axes that this run has."""

    @cached_property
    def hash(self) -> str:
        """Return a hash of everything that decides the outcome, the code apart."""
        config = self.config.to_json()
        del config["threads"]  # an engine's matter, which changes from machine to machine
        dataset = self.config.dataset
        config["stream_batch"] = self.config.stream_batch or recipe_for(dataset).stream_batch
        protocol = PROTOCOLS.get(dataset)
        content = {
            "run": config,
            "protocol": None if protocol is None else dataclasses.asdict(protocol),
        }
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]

    @property
    def name(self) -> str:
        """Return the name of the run's folder: readable, and the same for the same content."""
        run = self.config
        dataset = re.sub(r"\W+", "-", Path(run.dataset).stem)
        method = re.sub(r"[^\w.+-]+", "-", Path(run.method).name)  # it may be a file: mine.py:Mine
        return f"{method}-{dataset}-{run.stream}-seed{run.seed}-{self.hash}"

    @property
    def label(self) -> str:
        """Return what to call the run on the screen."""
        run = self.config
        shown = ("dataset", "stream", "method", "seed")
        varied = [f"{name} {value}" for name, value in self.axes.items() if name not in shown]
        what = ", ".join([self.variant or run.method, *varied])
        return f"{what} on {Path(run.dataset).stem} {run.stream}, seed {run.seed}"

    @property
    def marks(self) -> dict[str, Any]:
        """Return what a record says beside the run itself."""
        return {
            "experiment": self.experiment,
            "variant": self.variant,
            "axes": self.axes,
            "job": self.hash,
        }
