"""embeddings of 32x32 images by an exported scale-plus, one thread: onnxruntime beside torch."""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path

import numpy as np
import torch

from benchmarks._learner import images
from benchmarks._measure import Row, median_of, row
from scale.export import export_learner
from scale.export.graphs import onnx_transform, torch_transform
from scale.methods import ScalePlus


def main(quick: bool = False) -> list[Row]:
    """Time embeddings of single images and of a batch, in turns."""
    repeats, counts = (1, (1, 2)) if quick else (20, (1, 64))
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with tempfile.TemporaryDirectory() as made:
            learner, files = _export(Path(made), quick)
            sizes = {name: file.stat().st_size / 1e6 for name, file in files.items()}
            transforms = {
                "ours": onnx_transform(files["onnx"].read_bytes()),
                "int8": onnx_transform(files["int8"].read_bytes()),
                "torch": torch_transform(files["torch"].read_bytes()),
                "learner": learner.transform,
            }
        rows = []
        for count in counts:
            batch = np.ascontiguousarray(images(count, seed=2).numpy())
            calls = {name: partial(one, batch) for name, one in transforms.items()}
            taken = {
                name: 1e3 * one / count
                for name, one in median_of(calls, repeats if count > 1 else 5 * repeats).items()
            }
            what = f"an image in a batch of {count}"
            named = ("the learner's transform", taken["learner"])
            for kind, label in (("ours", "onnx"), ("int8", "onnx, int8"), ("torch", "torch")):
                size = sizes["onnx" if kind == "ours" else kind]
                rows.append(
                    row(f"{what}, {label}", taken[kind], named, note=f"file of {size:.1f} MB")
                )
        return rows
    finally:
        torch.set_num_threads(threads)


def _export(folder: Path, quick: bool) -> tuple[ScalePlus, dict[str, Path]]:
    """Return a learner with a full memory, and its exports."""
    learner = ScalePlus(
        encoder="cnn" if quick else "resnet18", steps_per_batch=1, memory_size=32 if quick else 512
    )
    for seed in range(1 if quick else 4):
        learner.partial_fit(images(32 if quick else 128, seed=seed))
    path = folder / "learner.safetensors"
    learner.save(path)
    files = {
        "onnx": export_learner(path).path,
        "int8": export_learner(path, int8=True, out=folder / "int8.onnx").path,
        "torch": export_learner(path, to="torch").path,
    }
    return learner, files
