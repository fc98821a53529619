"""The columns of a parquet file: images, labels and the names of classes."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scale._errors import DamagedFileError, InputError


@dataclass(frozen=True)
class Columns:
    """The image column, the label column and the names of the classes."""

    image: str
    label: str | None
    class_names: tuple[str, ...]

    @classmethod
    def of(cls, file: Path, label: str | None) -> Columns:
        """Read the schema of a file; `label` None takes the file's only label."""
        with opened(file) as parquet:
            schema = parquet.schema_arrow
        features = _features(schema, file)
        image = _image_column(schema, features, file)
        others = [name for name in schema.names if name != image.split(".")[0]]
        if label is None:
            label = _only_label(others, features, file)
        elif label not in others:
            known = ", ".join(others) or "none"
            raise InputError(f"{file} has no label column {label!r}; it has: {known}")
        names = features.get(label, {}).get("names") if label is not None else None
        return cls(image, label, tuple(names or ()))


def _only_label(names: list[str], features: dict[str, Any], file: Path) -> str | None:
    if "label" in names:
        return "label"
    classes = [name for name in names if features.get(name, {}).get("_type") == "ClassLabel"]
    if len(classes) > 1:
        raise InputError(
            f"{file} has several labels ({', '.join(classes)}); choose one with label="
        )
    return classes[0] if classes else None


def _features(schema: Any, file: Path) -> dict[str, Any]:
    try:
        about = json.loads((schema.metadata or {}).get(b"huggingface", b"{}"))
        features: dict[str, Any] = about.get("info", {}).get("features", {})
        return features
    except (ValueError, AttributeError) as error:
        raise DamagedFileError(f"the description of columns in {file} is not JSON") from error


def _image_column(schema: Any, features: dict[str, Any], file: Path) -> str:
    """Return the path of the column of encoded images."""
    import pyarrow as pa

    described = [n for n in schema.names if features.get(n, {}).get("_type") == "Image"]
    for name in [*described, "image", "img"]:
        if name not in schema.names:
            continue
        kind = schema.field(name).type
        if pa.types.is_struct(kind) and kind.get_field_index("bytes") >= 0:
            return f"{name}.bytes"
        if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
            return str(name)
    raise InputError(
        f"{file} has no column of encoded images called image or img; it has: "
        f"{', '.join(schema.names)}"
    )


@contextlib.contextmanager
def opened(file: Path) -> Iterator[Any]:
    """Open a parquet file; an error while it is read is a `DamagedFileError`."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(file) as parquet:
            yield parquet
    except (pa.ArrowException, OSError) as error:
        reason = " ".join(str(error).split())
        raise DamagedFileError(
            f"{file} is damaged or not a parquet file ({reason}); get it again"
        ) from error
