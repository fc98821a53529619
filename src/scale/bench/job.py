"""One run of an experiment, identified by its config and its code."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from scale.data import card_for
from scale.runs import RunConfig, code_of, complete
from scale.runs.parameters import default_stream_batch


@dataclass(frozen=True)
class Job:
    """A run to do, and its place in the experiment.

    Examples
    --------
    >>> job = Job("lambda", RunConfig(dataset="digits", params={"tau": 0.1}))
    >>> job.hash == Job("mu", RunConfig(dataset="digits", params={"tau": 0.1}, threads=1)).hash
    True
    """

    experiment: str
    config: RunConfig
    variant: str = ""
    axes: dict[str, Any] = field(default_factory=dict)
    """The run's values of the experiment's axes."""

    @cached_property
    def hash(self) -> str:
        """Return a hash of config, evaluation protocol and code, which decide the numbers."""
        card = dataclasses.asdict(card_for(self.config.dataset))
        del card["params"]  # all parameters are in the setting
        content = {"run": self.setting, "card": card, "code": self.code}
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]

    @cached_property
    def code(self) -> str:
        """Return the digest of the code that runs the job here."""
        return str(code_of(self.config)["digest"])

    @cached_property
    def setting(self) -> str:
        """Return options and parameters as a text that can be compared with other records."""
        return setting_of(complete(self.config).to_json())

    @property
    def name(self) -> str:
        """Return the name of the run's folder: equal jobs have equal names."""
        run = self.config
        dataset = re.sub(r"\W+", "-", Path(run.dataset).stem)
        method = re.sub(r"[^\w.+-]+", "-", Path(run.method).name)  # it may be a file: mine.py:Mine
        return f"{method}-{dataset}-{run.stream}-seed{run.seed}-{self.hash}"

    @property
    def label(self) -> str:
        """Return the run's name on the screen."""
        run = self.config
        shown = ("dataset", "stream", "method", "seed")
        varied = [f"{name} {value}" for name, value in self.axes.items() if name not in shown]
        what = ", ".join([self.variant or run.method, *varied])
        return f"{what} on {Path(run.dataset).stem} {run.stream}, seed {run.seed}"

    @property
    def marks(self) -> dict[str, Any]:
        """Return the run's place in the experiment, for its record."""
        return {
            "experiment": self.experiment,
            "variant": self.variant,
            "axes": self.axes,
            "job": self.hash,
        }


def setting_of(run: dict[str, Any]) -> str:
    """Return options and parameters as a text, equal for equal runs; threads do not count.

    A record of an older version may lack the stream batch; it had the dataset's default.
    """
    batch = run.get("stream_batch") or default_stream_batch(run["dataset"])
    options = {name: run[name] for name in run if name != "threads"}
    return json.dumps({**options, "stream_batch": batch}, sort_keys=True)
