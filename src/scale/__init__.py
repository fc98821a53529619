"""Keep learning from an unlabelled image stream: online, single pass, no labels, no boundaries.

Examples
--------
>>> import numpy as np
>>> import scale
>>> learner = scale.ScalePlus(encoder="cnn", augmentation="mnist", steps_per_batch=2)
>>> camera = np.random.default_rng(0).integers(0, 256, (64, 28, 28, 1), dtype=np.uint8)
>>> for batch in scale.batches(camera, batch_size=32):
...     learner = learner.partial_fit(batch)
>>> learner.transform(camera[:5]).shape
(5, 128)
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    __version__: str
    from scale import testing
    from scale.data import load_dataset, register_dataset
    from scale.evaluate import guard
    from scale.memory import register_policy
    from scale.methods import (
        SCALE,
        ContrastiveLearner,
        Learner,
        Replay,
        ScalePlus,
        load,
        register_method,
    )
    from scale.models import register_encoder
    from scale.streams import Stream, batches, make_order, register_stream

_HOMES = {
    "SCALE": "scale.methods",
    "ContrastiveLearner": "scale.methods",
    "Learner": "scale.methods",
    "Replay": "scale.methods",
    "ScalePlus": "scale.methods",
    "Stream": "scale.streams",
    "batches": "scale.streams",
    "guard": "scale.evaluate",
    "load": "scale.methods",
    "load_dataset": "scale.data",
    "make_order": "scale.streams",
    "register_dataset": "scale.data",
    "register_encoder": "scale.models",
    "register_method": "scale.methods",
    "register_policy": "scale.memory",
    "register_stream": "scale.streams",
}

__all__ = [
    "SCALE",
    "ContrastiveLearner",
    "Learner",
    "Replay",
    "ScalePlus",
    "Stream",
    "batches",
    "guard",
    "load",
    "load_dataset",
    "make_order",
    "register_dataset",
    "register_encoder",
    "register_method",
    "register_policy",
    "register_stream",
    "testing",
]


def __getattr__(name: str) -> Any:
    """Import a public name on its first use, so that `scale --help` does not wait for torch."""
    from importlib import import_module

    if name == "__version__":
        return _version()
    if name == "testing":
        return import_module("scale.testing")
    if name not in _HOMES:
        raise AttributeError(f"module 'scale' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "__version__"} - {"TYPE_CHECKING", "Any"})


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("scale-lifelong")
    except PackageNotFoundError:  # run from its source
        return "unknown"
