"""Every method as an ONNX file: difference from the learner, size, latency beside torch's.

``python -m benchmarks.export_methods`` lets each method learn from a few images of digits, exports
it and compares the file with the learner on test images, with one thread. It prints one JSON line
for each method. ``--table FILE`` prints such lines as Markdown.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks._measure import median_of
from scale._errors import InputError, ScaleError
from scale._markdown import markdown
from scale.data import load_dataset
from scale.export import export_module
from scale.export.graphs import check_same, onnx_bytes, onnx_model, onnx_transform, trace
from scale.export.int8 import NEIGHBOURS, quantised, shared_neighbours
from scale.methods import METHODS, Learner
from scale.runs import default_parameters

DATASET, LEARNED, CHECKED, MEMORY = "digits", 512, 256, 256
REPEATS = 20
HEADER = ["method", "difference", "MB", "ms, 1 image", "int8 MB", "int8 shares"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a line for each method, or a table of lines; return 0, or 2 for a user's mistake."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.export_methods", description=__doc__
    )
    parser.add_argument("methods", nargs="*", metavar="METHOD", help="default: all")
    parser.add_argument("--table", type=Path, metavar="FILE", help="print lines as Markdown")
    args = parser.parse_args(arguments)
    try:
        if args.table is not None:
            lines = args.table.read_text().splitlines()
            sys.stdout.write(table([json.loads(line) for line in lines]))
            return 0
        torch.set_num_threads(1)
        for name in args.methods or list(METHODS):
            sys.stdout.write(json.dumps(measure(name)) + "\n")
            sys.stdout.flush()
    except (ScaleError, OSError) as error:
        sys.stderr.write(f"benchmarks.export_methods: {error}\n")
        return 2
    return 0


def measure(name: str) -> dict[str, Any]:
    """Return what the export of a method costs, and how far it is from the learner."""
    train, test = load_dataset(DATASET, "train"), load_dataset(DATASET, "test")
    learner = _learned(name, train.images[:LEARNED], train.labels)
    images = np.ascontiguousarray(test.images[:CHECKED])
    wanted = learner.transform(images)
    assert learner.image_shape_ is not None
    model = onnx_model(trace(export_module(learner), learner.image_shape_))
    small = _in_8_bits(model, np.ascontiguousarray(train.images[:CHECKED]), name)
    whole = onnx_bytes(model, {})
    transform = onnx_transform(whole)
    line: dict[str, Any] = {
        "method": name,
        "difference": check_same(transform, wanted, images),
        "bytes": len(whole),
        "ms": _latency(learner, transform, images[:1]),
        "images": f"{CHECKED} test images of {DATASET}",
    }
    if small is not None:
        line["int8_bytes"] = len(small)
        line["int8_shared"] = shared_neighbours(wanted, onnx_transform(small)(images))
    return line


def _learned(name: str, images: np.ndarray, labels: np.ndarray | None) -> Learner:
    params = default_parameters(DATASET, name)
    quick = {"steps_per_batch": 1, "memory_size": MEMORY}
    params |= {key: value for key, value in quick.items() if key in params}
    learner = METHODS[name](**{**params, "seed": 0})
    for at in range(0, len(images), 128):
        given = labels[at : at + 128] if learner.needs_labels and labels is not None else None
        learner.partial_fit(images[at : at + 128], given)
    return learner


def _in_8_bits(model: Any, images: np.ndarray, name: str) -> bytes | None:
    """Return the file in 8 bits; None for a method without an encoder."""
    try:
        return onnx_bytes(quantised(model, images, name), {})
    except InputError:
        return None


def _latency(learner: Learner, transform: Any, image: np.ndarray) -> dict[str, float]:
    """Return milliseconds for one image, in turns."""
    calls = {"onnx": partial(transform, image), "torch": partial(learner.transform, image)}
    return {
        name: 1e3 * best
        for name, best in median_of(calls, REPEATS, clock=time.perf_counter).items()
    }


def table(lines: list[dict[str, Any]]) -> str:
    """Return the lines as Markdown."""
    rows = [_row(line) for line in lines]
    caption = (
        f"Checked on {lines[0]['images']}, one thread. Milliseconds for one image: "
        "onnxruntime, and in brackets the learner's `transform` in torch. int8 shares: part of the "
        f"{NEIGHBOURS} nearest neighbours that 8 bits keep."
    )
    return f"{caption}\n\n{markdown(HEADER, rows)}\n"


def _row(line: dict[str, Any]) -> list[str]:
    small = "int8_bytes" in line
    return [
        line["method"],
        f"{line['difference']:.0e}",
        f"{line['bytes'] / 1e6:.1f}",
        f"{line['ms']['onnx']:.2f} ({line['ms']['torch']:.2f})",
        f"{line['int8_bytes'] / 1e6:.1f}" if small else "",
        f"{100 * line['int8_shared']:.0f} %" if small else "",
    ]


if __name__ == "__main__":
    sys.exit(main())
