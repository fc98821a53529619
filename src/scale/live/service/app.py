"""The web application: all routes, behind the guard."""

from __future__ import annotations

import contextlib
import json
import warnings
from collections.abc import AsyncIterator, Iterable
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from starlette.responses import JSONResponse, StreamingResponse

from scale import __version__
from scale._errors import ScaleError, UnwritableError
from scale.live.service import (
    events,
    groups,
    images,
    memory,
    names,
    pages,
    search,
    status,
    timeline,
)
from scale.live.service.body import Limit
from scale.live.service.context import Context
from scale.live.service.models import Problem, Responses
from scale.live.service.security import Guard, Pass
from scale.live.service.updates import Updates

if TYPE_CHECKING:
    from scale.live.knowledge import Knowledge
    from scale.live.store import Store
    from scale.live.watcher import Watcher

ABOUT = """Everything that the page of `scale watch --serve` does.

Send a token as `Authorization: Bearer TOKEN`. Images are numbered in order of arrival."""
PROBLEMS: Responses = {
    400: {"model": Problem, "description": "Something in the request cannot be used."},
    401: {"model": Problem, "description": "A token is needed."},
    403: {"model": Problem, "description": "Another site asked for a change."},
    421: {"model": Problem, "description": "The host is not known."},
    507: {"model": Problem, "description": "The disk is full."},
}
PARTS = (status, images, timeline, groups, search, names, memory, events)


def make_app(
    watcher: Watcher | None,
    knowledge: Knowledge,
    store: Store,
    token: str | None = None,
    *,
    names: Iterable[str] = ("localhost",),
) -> FastAPI:
    """Return the web application of a live learner.

    Parameters
    ----------
    watcher
        The running watcher; None shows a store while none runs.
    knowledge
        Names, search, groups and events over the store.
    store
        The store.
    token
        What a client must bring. None lets everyone in, which is right on loopback only.
    names
        Host names under which the page is reached, besides its addresses.
    """
    warnings.filterwarnings("ignore", module="PIL")  # uploads could fill the terminal with them
    context = Context(store, knowledge, watcher)
    updates = Updates(lambda: context.run(lambda: _news(context)))

    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        await updates.close()
        context.threads.shutdown(cancel_futures=True)

    passes = Pass(token)
    app = FastAPI(
        title="scale",
        version=__version__,
        description=ABOUT,
        lifespan=lifespan,
        docs_url=None,  # its scripts would come from the network
        redoc_url=None,
        responses=PROBLEMS,
    )
    app.state.end_updates = updates.end
    for part in PARTS:
        app.include_router(part.routes(context))
    app.include_router(pages.routes(passes))

    _add_updates(app, updates)
    app.add_exception_handler(ScaleError, _refuse)
    app.add_exception_handler(RequestValidationError, _refuse_value)
    app.add_middleware(Limit)
    app.add_middleware(Guard, passes=passes, names=names)
    return app


def _add_updates(app: FastAPI, updates: Updates) -> None:
    """Add the route of changes as they come."""

    @app.get(
        "/updates",
        tags=["status"],
        response_class=StreamingResponse,
        responses={
            200: {"content": {"text/event-stream": {}}},
            503: {"model": Problem, "description": "Too many listen."},
        },
    )
    async def listen() -> StreamingResponse:
        """Send `status`, and `changed` with a number for each kind of thing, as they change."""
        if updates.is_full:
            raise HTTPException(503, "Too many pages are open; close some.")
        return StreamingResponse(updates.stream(), media_type="text/event-stream")


def _news(context: Context) -> dict[str, str]:
    return {
        "status": status.status_of(context).model_dump_json(by_alias=True),
        "changed": json.dumps(status.versions_of(context)),
    }


async def _refuse(request: Request, error: Exception) -> JSONResponse:
    """Answer with the message of an error that a user can cause."""
    code = 507 if isinstance(error, UnwritableError) else 400
    return JSONResponse({"detail": str(error)}, code)


async def _refuse_value(request: Request, error: Exception) -> JSONResponse:
    """Answer what is wrong with a value, without the value: it may not even be text."""
    assert isinstance(error, RequestValidationError)
    known: list[dict[str, Any]] = [
        {"type": one["type"], "loc": [str(part) for part in one["loc"]], "msg": one["msg"]}
        for one in error.errors()
    ]
    return JSONResponse({"detail": known}, 422)
