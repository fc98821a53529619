"""What the store says about images, by their numbers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple

from scale.live.embeddings import marks, parts
from scale.live.store import Store


def stored(store: Store) -> list[int]:
    """Return all images whose pixels are stored, in order of arrival."""
    sql = "SELECT id FROM images WHERE pixels IS NOT NULL ORDER BY id"
    return [row[0] for row in store.query(sql)]


def times(store: Store, ids: Sequence[int]) -> dict[int, float]:
    """Return when images were taken, without those whose pixels are gone."""
    found: dict[int, float] = {}
    for part in parts(ids):
        sql = f"SELECT id, taken FROM images WHERE pixels IS NOT NULL AND id IN ({marks(part)})"
        found |= {row[0]: row[1] for row in store.query(sql, *part)}
    return found


def paths_of(store: Store, ids: Sequence[int]) -> dict[int, str | None]:
    """Return the path of each image, in the order of `ids`."""
    found: dict[int, str | None] = {}
    for part in parts(ids):
        sql = f"SELECT id, path FROM images WHERE id IN ({marks(part)})"
        found |= {row[0]: row[1] for row in store.query(sql, *part)}
    return {one: found[one] for one in ids}


FILES = 0
"""The scene of video files; numbers of sources begin at 1."""


class Sighting(NamedTuple):
    """Where an image was seen.

    Parameters
    ----------
    scene
        The scene.
    taken
        When.
    source
        Number of the source.
    looked
        Frames of the source that were taken or duplicates until then; None if not known.
    """

    scene: int
    taken: float
    source: int
    looked: int | None


def sightings(store: Store, ids: Sequence[int]) -> dict[int, Sighting]:
    """Return where each image was seen.

    A camera, a stream, a folder or a program is a scene of its own: its source. Video files come
    one after the other, so all of them are one scene.
    """
    found: dict[int, Sighting] = {}
    for part in parts(ids):
        sql = (
            f"SELECT images.id, CASE sources.kind WHEN 'video' THEN {FILES} ELSE source END, "
            "taken, source, looked FROM images JOIN sources ON sources.id = source "
            f"WHERE images.id IN ({marks(part)})"
        )
        found |= {row[0]: Sighting(*row[1:]) for row in map(tuple, store.query(sql, *part))}
    return found


def looked_at(store: Store, source: int) -> tuple[int, float | None]:
    """Return how many frames of a source were taken or duplicates, and when the last one was."""
    text = store.query("SELECT gate FROM sources WHERE id = ?", source)[0][0]
    gate = {} if text is None else json.loads(text)
    return int(gate.get("looked", 0)), gate.get("last")


def is_last(store: Store, source: int, image: int) -> bool:
    """Return whether no later image of a source is stored."""
    sql = "SELECT 1 FROM images WHERE id > ? AND source = ? LIMIT 1"
    return not store.query(sql, image, source)


def spread(ids: list[int], n: int) -> list[int]:
    """Return at most `n` of the ids, evenly spaced.

    Examples
    --------
    >>> spread([1, 2, 3, 4, 5], 2)
    [1, 3]
    """
    if len(ids) <= n:
        return ids
    return [ids[at * len(ids) // n] for at in range(n)]
