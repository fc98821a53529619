"""Small arrays as JSON, without loss."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
import numpy.typing as npt

Small = npt.NDArray[np.float32]


def pack(values: Small) -> dict[str, Any]:
    """Return an array as JSON-able values.

    Examples
    --------
    >>> unpack(pack(np.array([[0.1, 2.0]], np.float32)))
    array([[0.1, 2. ]], dtype=float32)
    """
    data = base64.b64encode(values.astype("<f4").tobytes()).decode("ascii")
    return {"shape": list(values.shape), "data": data}


def unpack(packed: dict[str, Any]) -> Small:
    """Return the array that `pack` packed."""
    flat = np.frombuffer(base64.b64decode(packed["data"]), dtype="<f4").astype(np.float32)
    return flat.reshape(packed["shape"])
