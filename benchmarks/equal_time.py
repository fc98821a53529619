"""Updates that give every method of an experiment the time of one of them.

    python -m benchmarks.equal_time table1 --dataset mnist --updates 5

prints the section `[updates.mnist]` of an experiment's file. An experiment keeps these numbers, so
that its runs do not depend on the clock. The time is CPU time of one thread, of a batch and of one
update, after one batch; a method without updates takes the time that it takes.

    python -m benchmarks.equal_time table1 --dataset mnist fruits --table

prints what a batch costs beside that method's at equal updates, in Markdown. Each method takes
turns with it, so other load matters little.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence

import numpy as np
import torch

from scale._markdown import markdown
from scale.bench import load_experiment, plan
from scale.methods import Learner
from scale.runs import RunConfig, complete, prepare
from scale.runs.setting import Setting, make_learner

STREAM = "seq"
FEW, MANY = 1, 3  # updates of two timed batches; the difference gives the time of one update
MOST = 200  # updates of a batch


def main(argv: Sequence[str] | None = None) -> None:
    """Measure the methods of an experiment; print their updates, or a table of their costs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("experiment")
    parser.add_argument("--dataset", required=True, nargs="+")
    parser.add_argument("--like", default="scale", help="the method whose time all others get")
    parser.add_argument("--updates", type=int, default=5, help="its updates for each batch")
    parser.add_argument("--methods", nargs="*", help="only these; default all of the experiment")
    parser.add_argument("--table", action="store_true", help="print costs instead of updates")
    given = parser.parse_args(argv)
    torch.set_num_threads(1)
    configs = {dataset: configs_of(given.experiment, dataset) for dataset in given.dataset}
    if given.table:
        costs = {
            dataset: relative_costs(found, given.methods, given.like, given.updates)
            for dataset, found in configs.items()
        }
        print(table(costs, given.like), end="")
        return
    for dataset, found in configs.items():
        print_updates(dataset, found, given)


def configs_of(experiment: str, dataset: str) -> dict[str, RunConfig]:
    """Return the run of each method on a dataset, class by class."""
    chosen = {"dataset": [dataset], "stream": [STREAM], "seed": [0]}
    experiment_ = load_experiment(experiment)
    return {job.config.method: complete(job.config) for job in plan(experiment_, chosen)}


def print_updates(dataset: str, configs: dict[str, RunConfig], given: argparse.Namespace) -> None:
    """Print the section of a dataset."""
    setting = prepare(configs[given.like])
    batch, update = measure(configs[given.like], setting)
    budget = batch + given.updates * (update or 0.0)
    print(f"# A batch of {given.like} with {given.updates} updates: {budget:.2f} s of CPU time.")
    print(f"[updates.{dataset}]")
    for method in given.methods or configs:
        print(line(method, *measure(configs[method], setting), budget), flush=True)


def relative_costs(
    configs: dict[str, RunConfig], methods: Sequence[str] | None, like: str, updates: int
) -> dict[str, float]:
    """Return the CPU time of a batch of each method over that of `like`, at equal updates."""
    setting = prepare(configs[like])
    n = setting.stream.batch_size
    first, then = np.split(np.array(setting.stream.images[setting.stream.order[: 2 * n]]), 2)
    found = {}
    for method in methods or configs:
        times = []
        for name in (like, method):
            learner = make_learner(configs[name])
            has_updates = "steps_per_batch" in learner.get_params()
            seconds(learner, first, FEW if has_updates else None)
            times.append(seconds(learner, then, updates if has_updates else None))
        found[method] = times[1] / times[0]
    return found


def table(costs: dict[str, dict[str, float]], like: str) -> str:
    """Return costs by dataset and method in Markdown, the dearest on the first dataset first.

    Examples
    --------
    >>> costs = {"mnist": {"vae": 2.468, "er": 0.031}, "fruits": {"er": 1.0}}
    >>> print(table(costs, "scale"), end="")
    | method | mnist, over scale's | fruits, over scale's |
    | --- | --- | --- |
    | `vae` | 2.5 |  |
    | `er` | 0.03 | 1.0 |
    """
    methods = dict.fromkeys(method for found in costs.values() for method in found)
    first = next(iter(costs.values()))
    lines = []
    for method in sorted(methods, key=lambda one: -first.get(one, 0.0)):
        values = (found.get(method) for found in costs.values())
        shown = ("" if v is None else f"{v:.1f}" if v >= 0.1 else f"{v:.2f}" for v in values)
        lines.append([f"`{method}`", *shown])
    return markdown(["method", *(f"{dataset}, over {like}'s" for dataset in costs)], lines)


def line(method: str, batch: float, update: float | None, budget: float) -> str:
    """Return the entry of a method, or a comment if it makes no updates.

    Examples
    --------
    >>> line("vae", 0.01, 0.05, 0.51)
    'vae = 10  # 0.05 s each'
    >>> line("stam", 2.0, None, 0.51)
    '# stam makes no updates; a batch takes 3.9 times as long'
    """
    if update is None:
        return f"# {method} makes no updates; a batch takes {batch / budget:.1f} times as long"
    wanted = round((budget - batch) / max(update, 1e-9))
    return f"{method} = {min(max(wanted, 1), MOST)}  # {update:.2f} s each"


def measure(config: RunConfig, setting: Setting) -> tuple[float, float | None]:
    """Return the seconds of a batch without its updates, and of one update; None if it has none."""
    learner = make_learner(config)
    n = setting.stream.batch_size
    images = np.array(setting.stream.images[setting.stream.order[: 2 * n]])
    if "steps_per_batch" not in learner.get_params():
        seconds(learner, images[:n], None)
        return seconds(learner, images[n:], None), None
    seconds(learner, images[:n], FEW)
    few, many = (seconds(learner, images[n:], updates) for updates in (FEW, MANY))
    update = max(many - few, 0.0) / (MANY - FEW)
    return max(few - FEW * update, 0.0), update


def seconds(learner: Learner, images: np.ndarray, updates: int | None) -> float:
    """Return the CPU seconds that a learner takes for a batch with this number of updates."""
    if updates is not None:
        learner.steps_per_batch = updates  # type: ignore[attr-defined]
    begin = time.process_time()
    learner.partial_fit(images)
    return time.process_time() - begin


if __name__ == "__main__":
    main()
