"""The command ``scale search``."""

from __future__ import annotations

import json as json_module
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from scale.commands._embedding import embedding
from scale.commands._terminal import put, say, table_console
from scale.commands._times import local_time


def search(
    folder: Positional[Annotated[Path, arg(metavar="DIR")]],
    image: Positional[Annotated[str, arg(metavar="IMAGE")]],
    *,
    k: int = 12,
    json: bool = False,
) -> None:
    """Show the stored images most similar to one, while a live learner runs or not.

    Args:
        folder: Folder of the live learner.
        image: Number of a stored image, or any image file.
        k: Number of images to show.
        json: Print the answer as JSON.
    """
    from scale.live import Knowledge
    from scale.live.resolve import query_image

    with Knowledge.open(folder, lambda text: say(f"warning: {text}")) as knowledge:
        store, query = knowledge.store, query_image(knowledge.store, image)
        with embedding() as progress:
            answer = knowledge.search(query, k, progress)
        paths = [store.row(hit.id)["path"] for hit in answer.hits]
    if json:
        hits = [
            {**hit._asdict(), "path": path} for hit, path in zip(answer.hits, paths, strict=True)
        ]
        found = {"hits": hits, "stale": answer.stale, "step": answer.step}
        put(json_module.dumps(found, indent=1) + "\n")
        return
    from rich.table import Table

    table = Table("image", "similarity", "taken", "path")
    for hit, path in zip(answer.hits, paths, strict=True):
        table.add_row(str(hit.id), f"{hit.score:.3f}", local_time(hit.taken), path or "")
    table_console().print(table)
    if answer.stale:
        say(f"{answer.stale} stored images have no embedding by this learner yet")
