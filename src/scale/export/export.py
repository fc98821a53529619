"""Export a learner to one file that needs nothing of this package."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from scale._errors import InputError
from scale._files import as_path, check_writable, write_atomic
from scale._names import check_one_of
from scale.export.families import export_module, normalisation
from scale.export.graphs import (
    INPUT,
    check_same,
    onnx_bytes,
    onnx_model,
    onnx_transform,
    torch_bytes,
    torch_transform,
    trace,
)
from scale.export.int8 import loss_of_neighbours, quantised
from scale.export.samples import CHECKED, Samples, calibration_images, samples_for
from scale.methods import Learner
from scale.methods.core.encoders import WithEncoder
from scale.runs.embed_learner import Embedder, open_embedder

SUFFIXES = {"onnx": ".onnx", "torch": ".pt2"}
Format = Literal["onnx", "torch"]


@dataclass(frozen=True)
class Exported:
    """A file that an export wrote."""

    path: Path
    size: int
    """Bytes."""
    image_shape: tuple[int, int, int]
    dim: int
    difference: float
    """Largest difference of its embeddings from the learner's, before quantisation."""
    checked_on: str
    int8: str | None = None
    """What 8 bits cost, in words."""


def export_learner(
    run: Path,
    *,
    to: Format = "onnx",
    out: Path | None = None,
    int8: bool = False,
    warn: Callable[[str], None] = warnings.warn,
) -> Exported:
    """Write the learner of a run as one file: uint8 images in, the embeddings of `transform` out.

    Parameters
    ----------
    run
        Folder of a run, finished or not, or of a live learner, or a saved learner.
    to
        ``"onnx"`` for onnxruntime, without torch, or ``"torch"`` for a program of torch.export.
    out
        The file; by default beside the learner, with the ending ``.onnx`` or ``.pt2``.
    int8
        Compute the encoder in 8-bit integers (ONNX only).
    warn
        Called with a message for each damaged checkpoint.
    """
    check_one_of("to", to, SUFFIXES)
    if int8 and to != "onnx":
        raise InputError("int8 is for onnx; leave it out, or export to onnx")
    path = _target(run, SUFFIXES[to], out)
    check_writable(path)
    embedder = open_embedder(run, warn)
    learner = embedder.learner
    program = trace(export_module(learner), embedder.image_shape)
    samples = samples_for(run, learner)
    images = np.ascontiguousarray(samples.images[:CHECKED])
    wanted, cost = learner.transform(images), None
    about = describe(embedder)
    if to == "torch":
        content = torch_bytes(program, about)
        difference = check_same(torch_transform(content), wanted, images)
    else:
        model = onnx_model(program)
        content = onnx_bytes(_copy(model), about)
        difference = check_same(onnx_transform(content), wanted, images)
        if int8:
            content, cost = _smaller(model, content, about, learner, samples)
    write_atomic(path, content)
    return Exported(
        path,
        len(content),
        embedder.image_shape,
        wanted.shape[1],
        difference,
        samples.origin,
        cost,
    )


def describe(embedder: Embedder) -> dict[str, Any]:
    """Return the metadata of an export: method, code, images, normalisation, licence."""
    from scale import __version__

    learner = embedder.learner
    scaled = normalisation(learner) if isinstance(learner, WithEncoder) else None
    return {
        **{name: value for name, value in embedder.about().items() if name != "image_side"},
        "scale_version": __version__,
        "input": f"{INPUT}: uint8, n x c x h x w, not normalised",
        "normalisation": None
        if scaled is None
        else dict(zip(("mean", "std"), (one.flatten().tolist() for one in scaled), strict=True)),
        "start_licence": start_licence(learner),
    }


def start_licence(learner: Learner) -> str | None:
    """Return the licence of the pretrained weights that a learner started from, if it did."""
    weights = learner.weights_ if isinstance(learner, WithEncoder) else None
    return None if weights is None else str(weights.licence)


def usage(done: Exported) -> list[str]:
    """Return the lines of Python that use an exported file."""
    shape = " x ".join(map(str, done.image_shape))
    name = str(done.path)
    if done.path.suffix == SUFFIXES["torch"]:
        return [
            "import torch",
            f"program = torch.export.load({name!r}).module()",
            f"z = program(images)  # tensor, uint8, n x {shape}",
        ]
    return [
        "import onnxruntime",
        f"session = onnxruntime.InferenceSession({name!r})",
        f'z = session.run(None, {{"{INPUT}": images}})[0]  # array, uint8, n x {shape}',
    ]


def _smaller(
    model: Any, whole: bytes, about: dict[str, Any], learner: Learner, samples: Samples
) -> tuple[bytes, str]:
    """Return the file in 8 bits, and what that costs."""
    chosen, origin = calibration_images(learner, samples)
    small = onnx_bytes(
        quantised(model, chosen, learner.name), {**about, "int8": f"ranges from {origin}"}
    )
    cost = loss_of_neighbours(onnx_transform(whole), onnx_transform(small), samples)
    return small, f"{cost}; ranges from {origin}"


def _copy(model: Any) -> Any:
    copy = type(model)()
    copy.CopyFrom(model)
    return copy


def _target(run: Path, suffix: str, out: Path | None) -> Path:
    """Return the file to write: by default beside the learner."""
    if out is not None:
        if out.suffix != suffix:
            raise InputError(f"the file to write must end in {suffix}, got {out}")
        return out
    run = as_path("run", run)
    file = run / "learner.safetensors" if run.is_dir() else run
    return file.with_suffix(suffix)
