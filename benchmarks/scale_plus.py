"""a batch of 128 images and the embeddings after it: scale-plus beside SCALE at equal updates."""

from __future__ import annotations

from functools import partial

from benchmarks._learner import images
from benchmarks._measure import Row, median_of, row
from scale.methods import SCALE, ScalePlus
from scale.methods.core.contrastive import ContrastiveLearner


def main(quick: bool = False) -> list[Row]:
    """Time a batch with full memories, then the first embedding after a batch and the next."""
    n, size = (8, 64) if quick else (128, 1280)
    rows = []
    batch, embedded = images(n, seed=1), images(n, seed=2)
    for updates in (1, 2) if quick else (1, 5):
        ours, scale = (_started(method, updates, n, size) for method in (ScalePlus, SCALE))
        ours._refresh_readout(n)  # type: ignore[operator]  # a stream would have filled it
        taken = median_of(
            {"ours": partial(ours.partial_fit, batch), "scale": partial(scale.partial_fit, batch)},
            repeats=3 if updates == 1 else 1,
            warm_up=False,
        )
        what = f"scale-plus, a batch of {n}, updates: {updates}"
        rows.append(row(what, taken["ours"] * 1e3, ("SCALE", taken["scale"] * 1e3)))
    embed = {"ours": partial(ours.transform, embedded), "scale": partial(scale.transform, embedded)}
    scale.transform(embedded)
    first = median_of({"ours": embed["ours"]}, 1, warm_up=False)["ours"]
    again = median_of(embed, 3, warm_up=False)
    limit = ("the encoder's own pass", again["scale"] * 1e3)
    rows.append(row(f"first embedding of {n} after a batch", first * 1e3, limit=limit))
    rows.append(row(f"embedding of {n} more", again["ours"] * 1e3, limit=limit))
    return rows


def _started(
    method: type[ContrastiveLearner], updates: int, n: int, size: int
) -> ContrastiveLearner:
    """Return a learner with a full memory."""
    learner = method(memory_size=size, memory_batch=n, steps_per_batch=updates)  # type: ignore[call-arg]
    learner.start((3, 32, 32))
    learner.memory_.update(images(size))  # type: ignore[attr-defined]
    learner.step_ = 1000  # early, scale-plus refreshes more of its read-out
    return learner
