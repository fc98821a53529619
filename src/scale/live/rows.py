"""What the store says about images, by their numbers."""

from __future__ import annotations

from collections.abc import Sequence

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


def scenes(store: Store, ids: Sequence[int]) -> dict[int, tuple[int, float]]:
    """Return the scene of each image, and when it was taken.

    A camera, a stream, a folder or a program is a scene of its own: its source. Video files come
    one after the other, so all of them are one scene.
    """
    found: dict[int, tuple[int, float]] = {}
    for part in parts(ids):
        sql = (
            f"SELECT images.id, CASE sources.kind WHEN 'video' THEN {FILES} ELSE source END, taken "
            f"FROM images JOIN sources ON sources.id = source WHERE images.id IN ({marks(part)})"
        )
        found |= {row[0]: (row[1], row[2]) for row in store.query(sql, *part)}
    return found


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
