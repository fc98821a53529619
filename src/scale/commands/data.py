"""The commands ``scale data`` and ``scale data get``."""

from __future__ import annotations

from typing import Annotated

from tyro.conf import Positional, arg

from scale.commands._terminal import progress, say, table_console


def data() -> None:
    """List the registered datasets and where they are. `scale data get NAME` downloads one."""
    from rich.table import Table

    from scale.data import list_datasets

    shown = Table()
    for column in ("dataset", "images", "size", "where"):
        shown.add_column(column, overflow="fold")
    for status in list_datasets():
        images = ", ".join(f"{split} {count:,}" for split, count in status.splits.items())
        size = f"{status.size / 1e6:.0f} MB" if status.size else ""
        shown.add_row(status.name, images, size, status.where)
    table_console().print(shown)


def data_get(name: Positional[Annotated[str, arg(metavar="NAME")]]) -> None:
    """Download a dataset from the Hugging Face hub. Run it again to complete a broken download.

    Args:
        name: A registered name, or a hub id (owner/name).
    """
    from scale.data import get_dataset

    with progress("downloading") as advance:
        folder = get_dataset(name, progress=advance)
    say(f"{name} is in {folder}")
