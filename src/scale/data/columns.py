"""The columns of a parquet or arrow file: images, labels and the names of classes."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scale._errors import DamagedFileError, InputError
from scale._names import did_you_mean
from scale.data.tables import opened


@dataclass(frozen=True)
class Columns:
    """The image column, the label column, whether labels are words, and the classes' names."""

    image: str
    label: str | None
    words: bool
    class_names: tuple[str, ...]

    @classmethod
    def of(cls, file: Path, label: str | None) -> Columns:
        """Read the schema of a file; `label` None takes the file's only label."""
        with opened(file) as table:
            schema = table.schema
        features = _features(schema, file)
        image = _image_column(schema, features, file)
        others = [name for name in schema.names if name != image.split(".")[0]]
        if label is None:
            label = _only_label(others, features, file)
        elif label not in others:
            known = ", ".join(others) or "none"
            hint = did_you_mean(label, others)
            raise InputError(f"{file} has no label column {label!r}{hint}; it has: {known}")
        words = label is not None and _are_words(schema.field(label).type, label, file)
        names = _class_names(features.get(label or "", {}), label, file)
        return cls(image, label, words, names)

    @classmethod
    def of_all(cls, files: list[Path], label: str | None) -> Columns:
        """Read the schemas of the files of one split, which must have the same columns."""
        first = cls.of(files[0], label)
        for file in files[1:]:
            for name, found in vars(cls.of(file, label)).items():
                expected = getattr(first, name)
                if found != expected:
                    raise InputError(
                        f"{file} and {files[0]} are of one split, but differ in "
                        f"{_DIFFER[name]} ({found!r}, {expected!r}); get all its files again"
                    )
        return first


_DIFFER = {
    "image": "the image column",
    "label": "the label column",
    "words": "whether labels are words",
    "class_names": "the names of the classes",
}


def _are_words(kind: Any, label: str, file: Path) -> bool:
    """Return whether a label column has words; refuse all but words and whole numbers."""
    import pyarrow as pa

    inner = kind.value_type if pa.types.is_dictionary(kind) else kind
    if pa.types.is_integer(inner) or pa.types.is_null(inner):
        return False
    if pa.types.is_string(inner) or pa.types.is_large_string(inner):
        return True
    raise InputError(
        f"the label {label!r} of {file} must be whole numbers or words, got {kind}; choose "
        "another with label="
    )


def _class_names(feature: dict[str, Any], label: str | None, file: Path) -> tuple[str, ...]:
    names = feature.get("names") or ()
    if not isinstance(names, list | tuple) or not all(isinstance(one, str) for one in names):
        raise DamagedFileError(
            f"{file} describes the class names of {label!r} as {names!r}; expected a list of texts"
        )
    return tuple(names)


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
        features = about.get("info", {}).get("features", {})
        # A column of several values has a list for its description.
        return {name: one for name, one in features.items() if isinstance(one, dict)}
    except (ValueError, AttributeError, RecursionError) as error:
        raise DamagedFileError(
            f"the description of columns in {file} is not that of the hub; get it again"
        ) from error


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
