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
    split: str | None = None,
    on_bad: Literal["stop", "skip"] = "stop",
) -> None:
    """Embed new images with a run's learner.

    Args:
        run: Folder of a run, finished or not, or a saved learner.
        images: An image, a folder of images, .npy, .npz, or a dataset's name.
        out: The .npy file to write: one row of float32 features per image. For z.npy, z.files.txt
            names the file of each row.
        split: Which split, for example test. By default all images of a folder, in the order of
            their paths, and the train split of other sources.
        on_bad: Stop at a file that is not a readable image, or skip it.
    """
    from scale.runs import embed_images

    done = embed_images(
        run,
        images,
        out,
        split=split,
        on_bad=on_bad,
        warn=lambda text: say(f"warning: {text}"),
    )
    for name in done.skipped:
        say(f"skipped {name}")
    count, dim = done.shape
    beside = "" if done.names is None else f", the file of each row in {done.names}"
    say(f"{count} embeddings of {dim} numbers in {out}{beside}")
