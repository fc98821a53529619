"""The command ``scale events``."""

from __future__ import annotations

import json as json_module
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from tyro.conf import Positional, arg

from scale.commands._terminal import put, say, table_console
from scale.commands._times import local_time

if TYPE_CHECKING:
    from scale.live import Event


def events(
    folder: Positional[Annotated[Path, arg(metavar="DIR")]],
    *,
    state: Literal["open", "closed", "dismissed"] | None = None,
    dismiss: int | None = None,
    json: bool = False,
) -> None:
    """List what was new to a live learner, while it runs or not.

    Args:
        folder: Folder of the live learner.
        state: Only events of this state.
        dismiss: Call what this event shows normal. Its images are known from the next batch on.
        json: Print the events as JSON.
    """
    from scale.live import Store
    from scale.live.events import EventLog

    with Store(folder) as store:
        log = EventLog(store)
        found = log.all(state) if dismiss is None else [log.dismiss(dismiss)]
        paths = {one.id: store.row(one.image)["path"] for one in found}
    if json:
        rows = [{**asdict(one), "path": paths[one.id]} for one in found]
        put(json_module.dumps(rows, indent=1) + "\n")
    elif not found:
        say("nothing new yet" if state is None else f"no event is {state}")
    else:
        _print(found, paths)


def _print(found: list[Event], paths: dict[int, str | None]) -> None:
    from rich.table import Table

    table = Table("event", "opened", "state", "image", "new images", "score", "nearest known")
    for one in found:
        path = paths[one.id]
        table.add_row(
            str(one.id),
            local_time(one.opened),
            one.state,
            f"{one.image} {path}" if path else str(one.image),
            str(one.count),
            f"{one.score:.2f} (new above {one.threshold:g})",
            ", ".join(str(number) for number, _ in one.nearest),
        )
    table_console().print(table)
