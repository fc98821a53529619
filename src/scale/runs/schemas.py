"""The shapes of a run's files, checked when they are read back.

Only entries that the code uses are listed; others pass. Runs of older versions lack some, so most
are optional.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from scale.evaluate import MEASURES

Count = Annotated[int, msgspec.Meta(ge=0)]
Positive = Annotated[int, msgspec.Meta(ge=1)]


class Guard(msgspec.Struct):
    """`scale.evaluate.Guard` in a record."""

    score: float
    start_score: float
    images: Positive
    encoder_score: float | None = None


Measures = msgspec.defstruct(
    "Measures",
    [(name, float | msgspec.UnsetType, msgspec.UNSET) for name in MEASURES],
    namespace={"__doc__": "Measures by name."},
    kw_only=True,
)


class Evaluation(Measures):  # type: ignore[misc, valid-type]
    """An evaluation in metrics.jsonl."""

    position: Count
    knn_per_class: list[float] = msgspec.field(default_factory=list)
    guard: Guard | None = None


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

    floors: Annotated[dict[str, Measures], msgspec.Meta(min_length=1)]  # type: ignore[valid-type]


class Summary(Measures):  # type: ignore[misc, valid-type]
    """The content of summary.json."""

    dataset: str = ""
    stream: str = ""
    method: str = ""
    seed: Count = 0
    images: Count = 0
    batches: int = 0
    collapsed: bool = False
    knn_per_class: list[float] = msgspec.field(default_factory=list)
    guard: Guard | None = None
    floors: dict[str, Measures] = msgspec.field(default_factory=dict)  # type: ignore[valid-type]
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
