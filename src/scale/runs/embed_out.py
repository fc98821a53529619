"""Write embeddings to a Parquet or .npy file, a part at a time."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.lib import format as npy_format

from scale._files import atomic_path
from scale.data.archive import Archive
from scale.runs.embed_parts import PART, Part

KEY = b"scale"  # metadata of the schema: a JSON object about the learner


class Whole(NamedTuple):
    """All parts of an embedding, and what its file says about them."""

    archive: Archive
    read: Callable[[int], Part]
    rows: int
    dim: int
    about: dict[str, Any]

    def parts(self) -> Iterator[tuple[np.ndarray, list[int]]]:
        """Yield the embeddings of each part that has any, and the positions of their images."""
        for start in range(0, self.archive.total, PART):
            z, skipped = self.read(start // PART)
            left_out = {one.index for one in skipped}
            stop = min(start + PART, self.archive.total)
            at = [index for index in range(start, stop) if index not in left_out]
            if at:
                yield z, at


def write_parquet(out: Path, whole: Whole) -> None:
    """Write a row group for each part: the place of each image, and its embedding."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    places = [pa.field("path", pa.string())]
    if "path" not in whole.archive.columns(0, 1):
        places = [pa.field("source", pa.string()), pa.field("index", pa.int64())]
    kind = pa.list_(pa.float32(), whole.dim)
    schema = pa.schema(
        [*places, pa.field("embedding", kind)], metadata={KEY: json.dumps(whole.about)}
    )
    options = {"compression": "zstd", "use_dictionary": ["source"]}
    with atomic_path(out) as part, open(part, "wb") as file:
        writer = pq.ParquetWriter(file, schema, **options)
        for z, at in whole.parts():
            start = at[0] - at[0] % PART
            columns = whole.archive.columns(start, at[-1] + 1)
            arrays = [
                pa.array([_text(columns[one.name][index - start]) for index in at], one.type)
                for one in places
            ]
            arrays.append(pa.FixedSizeListArray.from_arrays(pa.array(z.reshape(-1)), whole.dim))
            writer.write_table(pa.table(arrays, schema=schema), row_group_size=PART)
        writer.close()


def write_npy(out: Path, whole: Whole, beside: Callable[[], None]) -> None:
    """Write what `np.save` would write of the whole array; call `beside` before it is in place."""
    header = {"descr": "<f4", "fortran_order": False, "shape": (whole.rows, whole.dim)}
    with atomic_path(out) as part:
        with open(part, "wb") as file:
            npy_format.write_array_header_1_0(file, header)
            for z, _ in whole.parts():
                file.write(np.ascontiguousarray(z, dtype="<f4").data)
        beside()


def _text(value: Any) -> Any:
    """Return a name that is not UTF-8 as a JSON string, as in a .files.txt; all else unchanged."""
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            return json.dumps(value)
    return value
