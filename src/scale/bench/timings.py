"""How long losses and memory updates take: an experiment of timings, not of runs."""

from __future__ import annotations

import hashlib
import itertools
import json
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any

import torch
from torch import Tensor, nn

from scale._errors import InputError
from scale.bench.experiment import Experiment
from scale.bench.folder import BenchFolder
from scale.memory import POLICIES, Candidates
from scale.methods import METHODS
from scale.runs import RunConfig, make_learner, prepare
from scale.runs.config import versions

AXES = ("dataset", "method", "batches", "memory_policy", "memory_size", "stream_batch", "repeats")
WARM_UP = 2  # repetitions that are not counted
Timing = tuple[dict[str, Any], Callable[[], list[float]]]


def run_timings(
    experiment: Experiment,
    chosen: Mapping[str, Sequence[Any]],
    folder: BenchFolder,
    tell: Callable[[str], None],
) -> int:
    """Measure what is not in the folder's records yet, and return how much that was."""
    known = {record.get("job") for record in folder.records()}
    measured = 0
    for what, measure in list(plan_timings(experiment, chosen)):  # mistakes come out at once
        job = hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()[:16]
        if job in known:
            continue
        seconds = measure()
        timing = {
            "seconds": statistics.mean(seconds),
            "deviation": statistics.stdev(seconds) if len(seconds) > 1 else 0.0,
            "repeats": len(seconds),
        }
        marks = {"experiment": experiment.name, "variant": what["part"], "axes": what, "job": job}
        machine = {"threads": torch.get_num_threads(), "versions": versions()}
        folder.add({**marks, "timing": timing, **machine})
        told = ", ".join(f"{name} {value}" for name, value in what.items() if name != "part")
        tell(f"{what['part']}, {told}: {1000 * timing['seconds']:.2f} ms")
        measured += 1
    return measured


def plan_timings(experiment: Experiment, chosen: Mapping[str, Sequence[Any]]) -> Iterator[Timing]:
    """Yield what is timed, and the function that returns its seconds, one per repetition."""
    axes = _axes(experiment, chosen)
    dataset, n, size, repeats = (
        axes[name][0] for name in ("dataset", "stream_batch", "memory_size", "repeats")
    )
    pairs = [_pair(text) for text in axes["batches"]]
    for method, (stream, memory) in itertools.product(axes["method"], pairs):
        METHODS[method]
        what = {"part": "losses", "method": method, "n": stream, "m": memory}
        yield what, partial(time_losses, method, stream, memory, repeats)
    for policy in axes["memory_policy"]:
        POLICIES[policy]
        what = {"part": "memory update", "memory_policy": policy, "dataset": dataset}
        what |= {"n": n, "memory_size": size}
        yield what, partial(time_memory_update, policy, dataset, n, size, repeats)


def time_losses(method: str, n: int, m: int, repeats: int) -> list[float]:
    """Return the seconds that a method's losses and their gradients in z take, encoder apart.

    Examples
    --------
    >>> len(time_losses("scale", 8, 8, repeats=3))
    3
    """
    learner: Any = METHODS[method]()
    if not hasattr(learner, "_losses"):
        raise InputError(f"{method} has no losses that could be timed")
    learner.start((3, 32, 32))
    rng = torch.Generator().manual_seed(0)
    z = nn.functional.normalize(torch.randn(2 * (n + m), 128, generator=rng))  # (2(m+n), 128)
    past = nn.functional.normalize(z + 0.1 * torch.randn(z.shape, generator=rng))
    z.requires_grad_()
    # The method's own code, with the projections given: the encoder is not what is timed.
    learner._forward = lambda views: z
    learner._past_z = lambda stream_views, memory_views: past
    stream_views, memory_views = torch.zeros(2 * n, 1), torch.zeros(2 * m, 1)
    return _repeat(
        lambda: learner._losses(stream_views, memory_views, 0)["loss"].backward(), repeats
    )


def time_memory_update(policy: str, dataset: str, n: int, size: int, repeats: int) -> list[float]:
    """Return the seconds that a policy takes to choose from a full memory and a batch."""
    features, labels = _features(dataset, size + n)
    classes = 1 if labels is None else int(labels.max()) + 1
    candidates = Candidates(size, torch.arange(size + n), features, labels, classes)
    choose, rng = POLICIES[policy](), torch.Generator().manual_seed(0)
    return _repeat(lambda: choose(candidates, size, rng), repeats)


@lru_cache(maxsize=1)
def _features(dataset: str, count: int) -> tuple[Tensor, Tensor | None]:
    """Return features of real images from an encoder at its random start, and their classes."""
    config = RunConfig(dataset=dataset, stream="iid")
    setting = prepare(config)
    order = setting.stream.order[:count]
    if len(order) < count:
        raise InputError(
            f"{dataset} has {len(order)} images and memory_size and stream_batch are {count} "
            "together; give a smaller --memory-size"
        )
    features = torch.from_numpy(make_learner(config).transform(setting.stream.images[order]))
    labels = None if setting.labels is None else torch.from_numpy(setting.labels[:count])
    return features, labels


def _repeat(do: Callable[[], object], repeats: int) -> list[float]:
    seconds = []
    for _ in range(WARM_UP + repeats):
        begin = time.perf_counter()
        do()
        seconds.append(time.perf_counter() - begin)
    return seconds[WARM_UP:]


def _axes(experiment: Experiment, chosen: Mapping[str, Sequence[Any]]) -> dict[str, list[Any]]:
    axes: dict[str, list[Any]] = {name: [value] for name, value in experiment.base.items()}
    axes.update(experiment.axes)
    dataset = chosen.get("dataset", axes.get("dataset", ["digits"]))[0]
    axes.update({k: [v] for k, v in experiment.datasets.get(dataset, {}).items()})
    axes.update({name: list(values) for name, values in chosen.items()})
    unknown = [name for name in axes if name not in AXES]
    if unknown:
        raise InputError(f"{experiment.name} has no axis {unknown[0]!r} (it has {', '.join(AXES)})")
    missing = [name for name in AXES if name not in axes]
    if missing:
        raise InputError(f"experiment {experiment.name} says nothing of {missing[0]}")
    return axes


def _pair(text: object) -> tuple[int, int]:
    """Return n and m of a text like 128+64."""
    parts = str(text).split("+")
    if len(parts) != 2 or not all(part.isdigit() and int(part) > 0 for part in parts):
        raise InputError(f"batches are n+m, for example 128+64; got {text!r}")
    return int(parts[0]), int(parts[1])
