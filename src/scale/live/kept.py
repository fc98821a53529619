"""What a live learner's store keeps as text, read back: damage gets a message."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from scale._errors import DamagedFileError, ScaleError
from scale._text import first_line


@contextlib.contextmanager
def reading(path: Path, what: str) -> Iterator[None]:
    """Tell that the store at `path` is damaged if the block cannot use `what` it keeps there."""
    try:
        yield
    except ScaleError:
        raise
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise DamagedFileError(
            f"{path} is damaged ({what}: {first_line(error)}); put back a copy of it"
        ) from error


def table_in(text: str) -> dict[str, Any]:
    """Return the table in a JSON text; raise `ValueError` for anything else."""
    found = json.loads(text)
    if not isinstance(found, dict):
        raise ValueError(f"expected a table, found a {type(found).__name__}")
    return found
