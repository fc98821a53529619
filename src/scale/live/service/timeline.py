"""Images over time, hour by hour."""

from __future__ import annotations

from collections import defaultdict
from typing import Annotated

from fastapi import APIRouter, Path, Query

from scale.live.events import Event
from scale.live.service.context import Context
from scale.live.service.models import Hour, HourDetail, Hours
from scale.live.service.rows import IMAGE, as_event, as_image, with_names

SECONDS = 3600
LAST_HOUR = 10**8


def routes(context: Context) -> APIRouter:
    """Return the routes of the timeline."""
    router = APIRouter(tags=["timeline"])
    store = context.store

    @router.get("/timeline")
    @context.threaded
    def hours() -> Hours:
        """List the hours in which stored images were taken."""
        images = store.query(
            "SELECT CAST(taken / 3600 AS INTEGER) AS hour, COUNT(*) AS n FROM images WHERE pixels "
            "IS NOT NULL GROUP BY hour ORDER BY hour"
        )
        events = store.query(
            "SELECT CAST(taken / 3600 AS INTEGER) AS hour, COUNT(*) AS n FROM events JOIN images "
            "ON images.id = events.image GROUP BY hour"
        )
        given = store.query(
            "SELECT CAST(taken / 3600 AS INTEGER) AS hour, name, COUNT(*) AS n FROM names JOIN "
            "images ON images.id = names.image GROUP BY hour, name"
        )
        opened = {row["hour"]: row["n"] for row in events}
        names: defaultdict[int, dict[str, int]] = defaultdict(dict)
        for row in given:
            names[row["hour"]][row["name"]] = row["n"]
        return Hours(
            hours=[
                Hour(hour=h, images=n, events=opened.get(h, 0), names=names.get(h, {}))
                for h, n in images
            ]
        )

    @router.get("/timeline/{hour}")
    @context.threaded
    def hour(
        hour: Annotated[int, Path(ge=0, le=LAST_HOUR)],
        after: Annotated[float | None, Query(ge=0, le=1e12)] = None,
        limit: Annotated[int, Query(ge=1, le=500)] = 120,
    ) -> HourDetail:
        """List the images of an hour, oldest first, from a moment on; and its events."""
        start, end = hour * SECONDS, (hour + 1) * SECONDS
        rows = store.query(
            f"{IMAGE} WHERE images.pixels IS NOT NULL AND taken >= ? AND taken < ? ORDER BY taken, "
            "images.id LIMIT ?",
            *(max(start, after or 0), end, limit + 1),
        )
        events = store.query(
            "SELECT events.* FROM events JOIN images ON images.id = events.image WHERE taken >= ? "
            "AND taken < ?",
            *(start, end),
        )
        return HourDetail(
            hour=hour,
            images=with_names(context, [as_image(row) for row in rows[:limit]]),
            events=[as_event(Event.of(row, context.store.path)) for row in events],
            more=len(rows) > limit,
        )

    return router
