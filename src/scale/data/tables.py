"""Tables on disk: parquet files, and arrow files as `datasets` writes them, memory-mapped."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

from scale._errors import DamagedFileError, ScaleError
from scale._files import check_file

_ROWS = 256  # rows of images that are read at a time


class Table(Protocol):
    """The rows of a file, in groups that can be read alone."""

    schema: Any
    groups: list[int]
    """Rows of each group."""

    def column(self, name: str) -> Any:
        """Return a whole column."""

    def pieces(self, group: int, column: str) -> Iterator[Any]:
        """Yield a column of one group, a few rows at a time; a struct for the path of a field."""


class _Parquet:
    def __init__(self, file: Any) -> None:
        self._file, self.schema = file, file.schema_arrow
        about = file.metadata
        self.groups = [about.row_group(at).num_rows for at in range(file.num_row_groups)]

    def column(self, name: str) -> Any:
        return self._file.read(columns=[name]).column(0)

    def pieces(self, group: int, column: str) -> Iterator[Any]:
        for batch in self._file.iter_batches(_ROWS, row_groups=[group], columns=[column]):
            yield batch.column(0)


class _Arrow:
    def __init__(self, table: Any) -> None:
        self._table, self.schema = table, table.schema
        self._batches = table.to_batches()
        self.groups = [batch.num_rows for batch in self._batches]

    def column(self, name: str) -> Any:
        return self._table.column(name)

    def pieces(self, group: int, column: str) -> Iterator[Any]:
        values = self._batches[group].column(column.split(".")[0])
        for at in range(0, len(values), _ROWS):
            yield values.slice(at, _ROWS)


@contextlib.contextmanager
def opened(file: Path) -> Iterator[Table]:
    """Open a parquet or .arrow file; an error while it is read is a `DamagedFileError`."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    arrow = file.suffix.lower() == ".arrow"
    try:
        if arrow:
            with pa.memory_map(str(check_file(file))) as mapped:
                yield _Arrow(_read_arrow(mapped))
        else:
            with pq.ParquetFile(check_file(file)) as parquet:
                yield _Parquet(parquet)
    except ScaleError:
        raise
    except (pa.ArrowException, OSError, ValueError, MemoryError) as error:
        reason = " ".join(str(error).split())
        kind = "an arrow" if arrow else "a parquet"
        raise DamagedFileError(
            f"{file} is damaged or not {kind} file ({reason}); get it again"
        ) from error


def _read_arrow(mapped: Any) -> Any:
    """Return the table of a file in the stream format, or in the file format; it is a view."""
    import pyarrow as pa

    whole = mapped.read(6) == b"ARROW1"
    mapped.seek(0)
    table = (pa.ipc.open_file if whole else pa.ipc.open_stream)(mapped).read_all()
    table.validate(full=True)  # a damaged offset would read outside of the file
    return table
