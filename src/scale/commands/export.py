"""The command ``scale export``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from tyro.conf import Positional, arg

from scale.commands._terminal import put, say


def export(
    run: Positional[Annotated[Path, arg(metavar="RUN")]],
    *,
    to: Literal["onnx", "torch"] = "onnx",
    out: Path | None = None,
    int8: bool = False,
) -> None:
    """Write a learner as one file: uint8 images in, embeddings out, without this package.

    Before the file is written, it is compared with the learner on real images.

    Args:
        run: Folder of a run, finished or not, or of a live learner, or a saved learner.
        to: onnx runs in onnxruntime, without torch, also in a browser. torch is a program of
            torch.export, a .pt2 file.
        out: The file to write. Default: beside the learner, learner.onnx or learner.pt2.
        int8: Compute the encoder in 8-bit integers, with ranges from the images in memory. The
            file is a quarter of the size; the loss of kNN is measured and printed.
    """
    from scale._machine import in_words
    from scale.export import export_learner, usage

    done = export_learner(run, to=to, out=out, int8=int8, warn=lambda text: say(f"warning: {text}"))
    shape = " x ".join(map(str, done.image_shape))
    say(f"{done.path}: {in_words(done.size)}, from n x {shape} uint8 to n x {done.dim} float32")
    say(f"largest difference from the learner {done.difference:.1e} on {done.checked_on}")
    if done.int8 is not None:
        say(f"in 8 bits: {done.int8}")
    put("".join(f"{line}\n" for line in usage(done)))
