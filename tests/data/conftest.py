"""Small real files of every kind that `scale.data` reads."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    cache = tmp_path / "cache"
    monkeypatch.setenv("SCALE_CACHE", str(cache))
    return cache


@pytest.fixture
def real_data() -> Path:
    if not os.environ.get("SCALE_DATA"):
        pytest.skip("SCALE_DATA is not set")
    return Path(os.environ["SCALE_DATA"])


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.fixture
def save_image() -> Callable[..., Path]:
    def save(path: Path, array: np.ndarray, **options: Any) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(array).save(path, **options)
        return path

    return save


@pytest.fixture
def class_folder(tmp_path: Path, rng: np.random.Generator, save_image: Any) -> Path:
    """Two classes, three 6 x 5 colour images each."""
    for name in ("cat", "dog"):
        for i in range(3):
            array = rng.integers(0, 256, (5, 6, 3), dtype=np.uint8)
            save_image(tmp_path / "animals" / name / f"{i}.png", array)
    return tmp_path / "animals"


@pytest.fixture(scope="session")
def write_parquet() -> Callable[..., Path]:
    """Write images (lossless) and labels in the layout of the hub."""

    def write(
        path: Path,
        images: Sequence[np.ndarray | bytes | None],
        labels: dict[str, Sequence[Any]],
        names: dict[str, list[str]] | None = None,
        column: str = "image",
        rows_per_group: int = 4,
    ) -> Path:
        import pyarrow as pa
        import pyarrow.parquet as pq

        cells = [{"bytes": _encode(i), "path": None} for i in images]
        kind = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
        table = pa.table({column: pa.array(cells, kind), **labels})
        features: dict[str, Any] = {column: {"_type": "Image"}}
        for label, given in (names or {}).items():
            features[label] = {"_type": "ClassLabel", "names": given}
        about = json.dumps({"info": {"features": features}})
        path.parent.mkdir(parents=True, exist_ok=True)
        table = table.replace_schema_metadata({"huggingface": about})
        pq.write_table(table, path, row_group_size=rows_per_group)
        return path

    return write


def _encode(image: np.ndarray | bytes | None) -> bytes | None:
    if not isinstance(image, np.ndarray):
        return image
    buffer = io.BytesIO()
    Image.fromarray(image).save(buffer, "PNG")
    return buffer.getvalue()
