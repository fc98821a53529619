"""How the learner is: for the page, for Prometheus, and for whoever starts it again."""

from __future__ import annotations

import math
from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.responses import PlainTextResponse

from scale.live.kept import reading, table_in
from scale.live.service.context import Context
from scale.live.service.metrics import as_text
from scale.live.service.models import Health, History, Status
from scale.live.status import read_status

ALWAYS = ("state", "images", "skipped", "dropped", "sources", "disk_bytes", "method", "problem")
"""Facts that stay true while no learner runs."""
STORED = "SELECT COUNT(*) FROM images WHERE pixels IS NOT NULL"


def routes(context: Context) -> APIRouter:
    """Return the routes of the status."""
    router = APIRouter(tags=["status"])

    @router.get("/status")
    @context.threaded
    def status() -> Status:
        """Say how the learner is: sources, gate, rates, losses, disk."""
        return status_of(context)

    @router.get("/history")
    @context.threaded
    def history(points: Annotated[int, Query(ge=2, le=2000)] = 400) -> History:
        """List diagnostics of batches, evenly over all that were learned."""
        return _history(context, points)

    @router.get("/healthz")
    async def healthz() -> Health:
        """Say that the service answers; no token is needed."""
        return Health(status="ok")

    @router.get("/metrics", response_class=PlainTextResponse)
    @context.threaded
    def metrics() -> PlainTextResponse:
        """Show the figures in the text format of Prometheus."""
        text = as_text(status_of(context))
        return PlainTextResponse(text, media_type="text/plain; version=0.0.4; charset=utf-8")

    return router


def status_of(context: Context) -> Status:
    """Return the status of the learner, or what is known while this process has none."""
    store, watcher = context.store, context.watcher
    facts = read_status(store.folder) if watcher is None else watcher.status()
    counts = store.query(
        f"SELECT ({STORED}), (SELECT COUNT(*) FROM events WHERE state = 'open'), "
        "(SELECT COUNT(*) FROM names), (SELECT MAX(id) FROM batches WHERE learned IS NOT NULL)"
    )[0]
    running = facts["state"] not in ("stopped", "killed")
    known = {key: _plain(value) for key, value in facts.items() if running or key in ALWAYS}
    more = {"stored": counts[0], "open_events": counts[1], "named": counts[2]}
    return Status.model_validate({**known, **more, "step": counts[3] or 0, "watching": running})


def versions_of(context: Context) -> dict[str, int]:
    """Return numbers that change when something of each kind does."""
    row = context.store.query(
        "SELECT (SELECT MAX(id) FROM images), (SELECT COUNT(*) * 1000 + SUM(LENGTH(state) + count) "
        "FROM events), (SELECT CAST(COUNT(*) + SUM(at) * 1000 AS INTEGER) FROM names), "
        "(SELECT MAX(id) FROM batches WHERE learned IS NOT NULL)"
    )[0]
    return dict(zip(("images", "events", "names", "step"), (one or 0 for one in row), strict=True))


def _history(context: Context, points: int) -> History:
    last = context.store.query("SELECT MAX(id) FROM batches WHERE facts IS NOT NULL")[0][0] or 0
    stride = max(-(-last // points), 1)
    rows = context.store.query(
        "SELECT id, facts FROM batches WHERE facts IS NOT NULL AND (id % ? = 0 OR id = ?) "
        "ORDER BY id",
        *(stride, last),
    )
    with reading(context.store.path, "what batches did"):
        facts = [table_in(row["facts"]) for row in rows]
    keys = {key for one in facts for key, value in one.items() if _is_number(value)}
    return History(
        step=[row["id"] for row in rows],
        series={key: [_number(one.get(key)) for one in facts] for key in sorted(keys)},
    )


def _plain(value: Any) -> Any:
    """Return a fact without NaN, which JSON has not."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _number(value: Any) -> float | None:
    return _plain(float(value)) if _is_number(value) else None
