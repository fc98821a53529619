"""Rows of the store as answers, with the names that images have or get."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence

from scale._errors import ScaleError
from scale.live.events import Event
from scale.live.service.context import Context
from scale.live.service.models import EventOut, ImageOut, Known

IMAGE = (
    "SELECT images.id, uri, path, taken, came, width, height, box, batch, "
    "images.pixels IS NOT NULL AS kept FROM images JOIN sources ON sources.id = images.source "
)
"""The beginning of queries for `as_image`."""
AT_ONCE = 500  # ids in one query


def as_image(row: sqlite3.Row) -> ImageOut:
    """Return an image without its name."""
    return ImageOut(
        id=row["id"],
        taken=row["taken"],
        came=row["came"],
        source=row["uri"],
        path=row["path"],
        width=row["width"],
        height=row["height"],
        box=None if row["box"] is None else json.loads(row["box"]),
        batch=row["batch"],
        stored=bool(row["kept"]),
    )


def images_of(context: Context, ids: Sequence[int]) -> list[ImageOut]:
    """Return images with their names, in the order of `ids`, without those that are not there."""
    found: dict[int, ImageOut] = {}
    for at in range(0, len(ids), AT_ONCE):
        part = ids[at : at + AT_ONCE]
        marks = ", ".join("?" * len(part))
        rows = context.store.query(f"{IMAGE} WHERE images.id IN ({marks})", *part)
        found |= {row["id"]: as_image(row) for row in rows}
    return with_names(context, [found[one] for one in ids if one in found])


def with_names(context: Context, images: list[ImageOut]) -> list[ImageOut]:
    """Fill in the names that images have or get from their neighbours.

    What cannot be named now has no name; a listing does not fail for it.
    """
    stored = [image.id for image in images if image.stored]
    try:
        named = {one.id: one for one in context.knowledge.named(stored)} if stored else {}
    except ScaleError:  # for example removed by retention in between
        named = {}
    for image in images:
        one = named.get(image.id)
        if one is not None and (one.given or one.decided_by or one.name != "unknown"):
            image.name, image.given, image.confidence = one.name, one.given, one.confidence
    return images


def newest_of(context: Context, limit: int) -> list[int]:
    """Return the newest stored images, newest first."""
    sql = "SELECT id FROM images WHERE pixels IS NOT NULL ORDER BY id DESC LIMIT ?"
    return [row[0] for row in context.store.query(sql, limit)]


def as_event(event: Event) -> EventOut:
    """Return an event as an answer."""
    return EventOut(
        id=event.id,
        kind=event.kind,
        image=event.image,
        opened=event.opened,
        closed=event.closed,
        state=event.state,
        score=event.score,
        threshold=event.threshold,
        count=event.count,
        nearest=[Known(id=one, distance=far) for one, far in event.nearest],
        images=list(event.images),
    )
