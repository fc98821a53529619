"""The command ``scale streams``."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from scale.commands._terminal import say


def streams(
    *,
    dataset: str = "digits",
    out: Path = Path("streams.png"),
    label: str | None = None,
    samples_per_class: int | None = None,
    class_order: Literal["natural", "seeded"] = "natural",
    seed: int = 0,
) -> None:
    """Draw the streams of a dataset as one picture, class over time.

    Args:
        dataset: Name, hub id, folder, .npy or .npz; it must have labels.
        out: The picture to write.
        label: Label column of a hub dataset, for example fine_label.
        samples_per_class: Images of each class. The default is that of the dataset.
        class_order: Classes in the order of their number, or drawn from the seed.
        seed: Seed of the streams.
    """
    from scale.report import draw_dataset_streams

    draw_dataset_streams(
        dataset,
        out,
        label=label,
        samples_per_class=samples_per_class,
        class_order=class_order,
        seed=seed,
    )
    say(f"the streams of {dataset} are drawn in {out}")
