"""More like this: by the number of an image, or by an image that is sent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Query, Request

from scale.live.service.body import BAD_IMAGE, IMAGE_BODY, decode_body, read_body
from scale.live.service.context import LARGEST, Context
from scale.live.service.models import Found, HitOut, Problem
from scale.live.service.rows import images_of

if TYPE_CHECKING:
    from scale.live.search import Answer

Count = Annotated[int, Query(ge=1, le=500)]


def routes(context: Context) -> APIRouter:
    """Return the routes of the search."""
    router = APIRouter(tags=["search"])

    @router.get("/search", responses={404: {"model": Problem}})
    @context.threaded
    def by_number(image: Annotated[int, Query(ge=1, le=LARGEST)], k: Count = 24) -> Found:
        """Find stored images like a stored one."""
        context.check_image(image)
        return _found(context, context.knowledge.search(image, k))

    @router.post("/search", openapi_extra=IMAGE_BODY, responses=BAD_IMAGE)
    async def by_image(request: Request, k: Count = 24) -> Found:
        """Find stored images like the one that is sent. It is not stored and not learned from."""
        content = await read_body(request)
        return await context.run(
            lambda: _found(context, context.knowledge.search(decode_body(content), k))
        )

    return router


def _found(context: Context, answer: Answer) -> Found:
    scores = {hit.id: hit.score for hit in answer.hits}
    images = images_of(context, list(scores))
    hits = [HitOut(**image.model_dump(), score=scores[image.id]) for image in images]
    return Found(hits=hits, stale=answer.stale, step=answer.step)
