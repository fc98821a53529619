"""The command ``scale embed``."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from tyro.conf import Positional

from scale.commands._terminal import say


def embed(
    run: Positional[Path],
    images: Positional[str],
    *,
    out: Path,
    on_bad: Literal["stop", "skip"] = "stop",
) -> None:
    """Embed new images with a run's encoder.

    Args:
        run: Folder of a run, finished or not, or a saved learner.
        images: A folder of images, .npy, .npz, or a dataset's name.
        out: The .npy file to write: one row of float32 features per image.
        on_bad: Stop at a file that is no readable image, or skip it.
    """
    from scale.runs import embed_images

    (count, dim), skipped = embed_images(run, images, out, on_bad=on_bad)
    for name in skipped:
        say(f"skipped {name}")
    say(f"{count} embeddings of {dim} numbers in {out}")
