"""A module as the content of one file: an ONNX graph, or a program of torch.export."""

from __future__ import annotations

import contextlib
import io
import json
import logging
import warnings
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import numpy as np
import torch
from torch import nn

from scale._errors import InputError, ScaleError
from scale._images import ImageShape
from scale._text import first_line

INPUT, OUTPUT = "images", "embeddings"
MOST = 65536  # images in a batch; torch.export wants a bound
TOLERANCE = 1e-4  # largest difference from the learner
ABOUT = "scale.json"  # name of the metadata in a .pt2 file
ENCODER = "scale.export.layers.Encode"  # in the hierarchy of classes that torch notes at a node

Transform = Callable[[np.ndarray], np.ndarray]


def need(package: str) -> Any:
    """Return an imported package of the extra ``onnx``."""
    try:
        return import_module(package)
    except ImportError as error:
        raise InputError(
            f"this needs {package.split('.')[0]}; run: pip install 'scale-lifelong[onnx]'"
        ) from error


def trace(module: nn.Module, image_shape: ImageShape) -> Any:
    """Return the program of a module for any number of images."""
    example = torch.zeros(2, *image_shape, dtype=torch.uint8)
    images = torch.export.Dim("n", min=0, max=MOST)
    try:
        with _quietly():
            return torch.export.export(module, (example,), dynamic_shapes=({0: images},))
    except Exception as error:  # a user's encoder may do what cannot be traced
        raise InputError(
            f"the learner cannot be exported: torch cannot trace it ({first_line(error)}); "
            "the encoder must compute the same steps for every image and any batch size"
        ) from error


def onnx_model(program: Any) -> Any:
    """Return the ONNX model of a program, with torch's notes about the origin of each node."""
    need("onnxscript")
    need("onnx")
    try:
        with _quietly():
            made = torch.onnx.export(
                program,
                dynamo=True,
                input_names=[INPUT],
                output_names=[OUTPUT],
                dynamic_shapes=({0: "n"},),
                verbose=False,
            )
            assert made is not None
            return made.model_proto
    except torch.onnx.OnnxExporterError as error:
        raise InputError(
            f"the learner cannot be exported to ONNX ({first_line(error)}); try --to torch"
        ) from error


def encoder_nodes(model: Any) -> list[str]:
    """Return the names of the layers of an encoder that can compute in 8 bits."""
    kinds = ("Conv", "Gemm", "MatMul")
    return [
        node.name
        for node in model.graph.node
        if node.op_type in kinds and any(ENCODER in note.value for note in node.metadata_props)
    ]


def onnx_bytes(model: Any, about: dict[str, Any]) -> bytes:
    """Return the file of a model with its metadata, without notes about this machine."""
    onnx = need("onnx")
    for part in (*model.graph.node, *model.graph.initializer, *model.graph.value_info):
        del part.metadata_props[:]
    for graph in (model.graph, *model.graph.input, *model.graph.output):
        del graph.metadata_props[:]
    onnx.helper.set_model_props(model, as_texts(about))
    model.producer_name = "scale-lifelong"
    content: bytes = model.SerializeToString()
    return content


def torch_bytes(program: Any, about: dict[str, Any]) -> bytes:
    """Return the .pt2 file of a program with its metadata."""
    buffer = io.BytesIO()
    with _quietly():
        torch.export.save(program, buffer, extra_files={ABOUT: json.dumps(as_texts(about))})
    return buffer.getvalue()


def as_texts(about: dict[str, Any]) -> dict[str, str]:
    """Return metadata as texts: ONNX keeps nothing else."""
    return {
        name: value if isinstance(value, str) else json.dumps(value)
        for name, value in about.items()
        if value is not None
    }


def onnx_transform(content: bytes) -> Transform:
    """Return the function that an ONNX file computes."""
    runtime = need("onnxruntime")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    options.log_severity_level = 3
    session = runtime.InferenceSession(content, options, providers=["CPUExecutionProvider"])

    def transform(images: np.ndarray) -> np.ndarray:
        (found,) = session.run([OUTPUT], {INPUT: images})
        return np.asarray(found)

    return transform


def torch_transform(content: bytes) -> Transform:
    """Return the function that a .pt2 file computes."""
    with _quietly():
        module = torch.export.load(io.BytesIO(content)).module()

    def transform(images: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            found: np.ndarray = module(torch.from_numpy(images)).numpy()
        return found

    return transform


@contextlib.contextmanager
def _quietly() -> Iterator[None]:
    """Keep torch from talking about packages that are not needed."""
    logger = logging.getLogger("torch.onnx")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(before)


def check_same(transform: Transform, wanted: np.ndarray, images: np.ndarray) -> float:
    """Return the largest difference of a file's embeddings from the learner's, in any batches.

    Differences are relative to the largest embedded value if that is above 1.
    """
    found = [transform(part) for part in np.split(images, [1, 3])]
    apart = np.abs(np.concatenate([part for part in found if len(part)]) - wanted).max()
    difference = float(apart / max(1.0, float(np.abs(wanted).max())))
    if not difference <= TOLERANCE:
        raise ScaleError(
            f"the exported graph differs from the learner by {difference:.1e}, more than "
            f"{TOLERANCE:g}; nothing was written; please report it"
        )
    return difference
