"""Events: what was new."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, HTTPException, Query

from scale.live.events import Event
from scale.live.service.context import Context, Id
from scale.live.service.models import EventList, EventOut, Problem
from scale.live.service.rows import as_event


def routes(context: Context) -> APIRouter:
    """Return the routes of events."""
    router = APIRouter(tags=["events"])
    store = context.store

    @router.get("/events")
    @context.threaded
    def events(
        state: Annotated[Literal["open", "dismissed", "closed"] | None, Query()] = None,
        limit: Annotated[int, Query(ge=1, le=500)] = 100,
    ) -> EventList:
        """List events, newest first."""
        rows = store.query(
            "SELECT * FROM events WHERE ? IS NULL OR state = ? ORDER BY opened DESC, id DESC LIMIT "
            "?",
            *(state, state, limit),
        )
        return EventList(events=[as_event(Event.of(row, context.store.path)) for row in rows])

    @router.post("/events/{number}/dismiss", responses={404: {"model": Problem}})
    @context.threaded
    def dismiss(number: Id) -> EventOut:
        """Say that what an event shows is normal; it is learned at once."""
        if not store.query("SELECT 1 FROM events WHERE id = ?", number):
            raise HTTPException(404, f"There is no event {number}.")
        return as_event(context.knowledge.dismiss(number))

    return router
