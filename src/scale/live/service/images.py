"""Images by number, and images that programs send."""

from __future__ import annotations

import time
from typing import Annotated

from fastapi import APIRouter, HTTPException, Query, Request
from starlette.responses import Response

from scale.live.service.body import BAD_IMAGE, IMAGE_BODY, decode_body, read_body
from scale.live.service.context import LARGEST, Context, Id
from scale.live.service.models import ImageDetail, ImageList, Near, Problem, Responses, Taken
from scale.live.service.rows import IMAGE, as_image, images_of, newest_of, with_names

A_DAY = {"cache-control": "private, max-age=86400, immutable"}
NEWEST = 1000
"""Images that are looked through for those that neighbours give a name."""
NOT_THERE: Responses = {404: {"model": Problem, "description": "There is no such image."}}


def routes(context: Context) -> APIRouter:
    """Return the routes of images."""
    router = APIRouter(tags=["images"])

    @router.get("/images")
    @context.threaded
    def list_images(
        before: Annotated[int | None, Query(ge=1, le=LARGEST)] = None,
        name: Annotated[str | None, Query(max_length=100)] = None,
        limit: Annotated[int, Query(ge=1, le=500)] = 60,
    ) -> ImageList:
        """List stored images, newest first; those before a number, or those of a name."""
        if name is not None:
            return _of_name(context, name, limit)
        rows = context.store.query(
            f"{IMAGE} WHERE images.pixels IS NOT NULL AND images.id < ? ORDER BY images.id DESC "
            "LIMIT ?",
            *(LARGEST if before is None else before, limit + 1),
        )
        shown = with_names(context, [as_image(row) for row in rows[:limit]])
        return ImageList(images=shown, more=len(rows) > limit)

    @router.post(
        "/images",
        openapi_extra=IMAGE_BODY,
        responses={
            **BAD_IMAGE,
            409: {"model": Problem, "description": "No learner is watching."},
            503: {"model": Problem, "description": "The learner takes no images now."},
        },
    )
    async def feed(
        request: Request,
        taken: Annotated[float | None, Query(ge=0, le=1e11)] = None,
    ) -> Taken:
        """Give the learner an image. It passes the gate like every other."""
        if context.watcher is None:
            raise HTTPException(409, "No learner is watching this store; start scale watch.")
        watcher, content = context.watcher, await read_body(request)

        def give() -> list[int]:
            when = time.time() if taken is None else taken
            return watcher.feed(decode_body(content)[None], when=when, source="http", block=False)

        return Taken(images=await context.run(give))

    @router.get("/images/{number}", responses=NOT_THERE)
    @context.threaded
    def image(number: Id) -> ImageDetail:
        """Show an image, how it got its name, and the nearest known images."""
        context.check_image(number)
        found = images_of(context, [number])[0]
        detail = ImageDetail(**found.model_dump())
        if found.stored:
            why = context.knowledge.explain(number)
            detail.decided_by = list(why.name.decided_by)
            detail.nearest = [Near(id=one.id, score=one.score) for one in why.nearest]
            detail.events = [one.id for one in why.events]
        return detail

    _add_pictures(router, context)
    return router


def _add_pictures(router: APIRouter, context: Context) -> None:
    """Add the routes of thumbnails and pictures."""

    @router.get(
        "/images/{number}/thumbnail",
        response_class=Response,
        responses={
            200: {"content": {"image/jpeg": {}}},
            **NOT_THERE,
        },
    )
    @context.threaded
    def thumbnail(number: Id) -> Response:
        """Return a small JPEG, at most 160 pixels a side."""
        context.check_image(number)
        if not context.store.row(number)["kept"]:
            raise HTTPException(404, f"Image {number} left the store to make room.")
        content = context.store.thumbnail(number).read_bytes()
        return Response(content, media_type="image/jpeg", headers=A_DAY)

    @router.get(
        "/images/{number}/picture",
        response_class=Response,
        responses={
            200: {"content": {"image/png": {}}},
            **NOT_THERE,
        },
    )
    @context.threaded
    def picture(number: Id) -> Response:
        """Return the image as the learner sees it, a PNG."""
        rows = context.store.query("SELECT pixels FROM images WHERE id = ?", number)
        if not rows or rows[0][0] is None:
            raise HTTPException(404, f"There is no image {number} any more, or yet.")
        return Response(rows[0][0], media_type="image/png", headers=A_DAY)


def _of_name(context: Context, name: str, limit: int) -> ImageList:
    """Return images that were given a name, and newest ones that their neighbours give it."""
    given = context.store.query(
        "SELECT image FROM names JOIN images ON images.id = image WHERE name = ? AND pixels IS "
        "NOT NULL ORDER BY image DESC LIMIT ?",
        *(name, limit + 1),
    )
    ids = [row[0] for row in given]
    newest = newest_of(context, NEWEST)
    if newest and len(ids) <= limit:
        named = context.knowledge.named(newest)
        ids += [one.id for one in named if one.name == name and not one.given]
    return ImageList(images=images_of(context, ids[:limit]), more=len(ids) > limit)
