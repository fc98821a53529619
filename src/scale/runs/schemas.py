"""The shapes of a run's files, checked when they are read back.

Only entries that the code uses are listed; others pass. Runs of older versions lack some, so most
are optional.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from scale.evaluate import MEASURES, Measure

Count = Annotated[int, msgspec.Meta(ge=0)]
Positive = Annotated[int, msgspec.Meta(ge=1)]
Percent = Annotated[float, msgspec.Meta(ge=0, le=100)]


class Guard(msgspec.Struct):
    """`scale.evaluate.Guard` in a record."""

    score: Percent
    start_score: Percent
    images: Positive
    encoder_score: Percent | None = None
    better: bool = False
    encoder_better: bool = False


def _value(measure: Measure) -> Any:
    """Return the type of a measure: a number in its range."""
    signed = measure.unit == "points" or measure.name == "ari"
    least = -100.0 if signed else 0.0
    most = 100.0 if measure.unit in ("%", "points") else None
    return Annotated[float, msgspec.Meta(ge=least, le=most)] | msgspec.UnsetType


Measures = msgspec.defstruct(
    "Measures",
    [(name, _value(measure), msgspec.UNSET) for name, measure in MEASURES.items()],
    namespace={"__doc__": "Measures by name."},
    kw_only=True,
)


class Measured(Measures, kw_only=True):  # type: ignore[misc, valid-type, call-arg]
    """The measures of features, and what is measured by class and without labels."""

    knn_per_class: list[Percent] = msgspec.field(default_factory=list)
    guard: Guard | None = None


class Evaluation(Measured, kw_only=True):  # type: ignore[call-arg]
    """An evaluation in metrics.jsonl."""

    position: Count


class Batch(msgspec.Struct, kw_only=True):
    """A batch in metrics.jsonl."""

    position: Count
    batch: int = 0
    collapsed: bool = False
    effective_rank: float | None = None
    memory: list[int] = msgspec.field(default_factory=list)


LINES: dict[str, type[msgspec.Struct]] = {"batch": Batch, "evaluation": Evaluation}
"""Shape of a line of metrics.jsonl by its kind."""


class Floors(msgspec.Struct):
    """The content of floors.json, under one name."""

    floors: Annotated[dict[str, Measured], msgspec.Meta(min_length=1)]


class Summary(Measured):
    """The content of summary.json."""

    dataset: str = ""
    stream: str = ""
    method: str = ""
    seed: Count = 0
    images: Count = 0
    batches: int = 0
    collapsed: bool = False
    floors: dict[str, Measured] = msgspec.field(default_factory=dict)
    timing: dict[str, float] = msgspec.field(default_factory=dict)


class Code(msgspec.Struct):
    """The code of a run."""

    digest: str
    commit: str | None = None
    changed: bool | None = None


class Description(msgspec.Struct, kw_only=True):
    """`Learner.describe` in config.json, checkpoints and learners."""

    method: str
    params: dict[str, Any]
    image_shape: list[int]
    format: str = ""
    file: str | None = None
    weights: dict[str, Any] | None = None


class Data(msgspec.Struct, kw_only=True):
    """Facts about the data of a run."""

    source: str = ""
    available: int = 0
    images: int = 0
    batches: int = 0
    image_shape: list[int] = msgspec.field(default_factory=list)
    class_names: list[str] = msgspec.field(default_factory=list)
    per_class: list[int] = msgspec.field(default_factory=list)
    evaluation: dict[str, int] | None = None
    skipped: list[str] = msgspec.field(default_factory=list)
    digests: dict[str, str] = msgspec.field(default_factory=dict)


class Start(msgspec.Struct, kw_only=True):
    """The learner that a run goes on from."""

    learner: str
    digest: str
    images: Count


class Run(msgspec.Struct, kw_only=True):
    """The options that every reader uses; `RunConfig` checks all."""

    dataset: str
    method: str
    stream: str = ""
    seed: Count = 0
    params: dict[str, Any] = msgspec.field(default_factory=dict)


class Protocol(msgspec.Struct, kw_only=True):
    """`scale.evaluate.Protocol` in config.json."""

    samples_per_class: Positive | None = None
    eval_per_class: Positive = 1
    bank_size: Positive = 1
    k: Positive = 1
    full_k: Positive = 1
    full_temperature: Annotated[float, msgspec.Meta(gt=0)] = 1.0


class Config(msgspec.Struct, kw_only=True):
    """The content of config.json."""

    run: Run
    learner: Description | None = None
    data: Data = msgspec.field(default_factory=Data)
    protocol: Protocol | None = None
    threads: Positive | None = None
    versions: dict[str, str] = msgspec.field(default_factory=dict)
    code: Code | None = None
    later_code: list[Code] = msgspec.field(default_factory=list)
    start: Start | None = None
    command: dict[str, Any] = msgspec.field(default_factory=dict)


class Checkpoint(msgspec.Struct, kw_only=True):
    """What a checkpoint says beside its tensors."""

    learner: Description
    cursor: Count
    metrics_bytes: Count
    metrics_digest: str | None = None
    spent: dict[str, float] | None = None
    elapsed_seconds: float = 0.0
    begun: dict[str, Any] | None = None
