"""Groups to name in one go, and the map of images."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from scale.live.groups import Point as Place
from scale.live.service.context import Context
from scale.live.service.models import Group, Groups, MapOut, Point
from scale.live.service.rows import images_of
from scale.live.service.shared import Shared
from scale.live.service.status import STORED, versions_of

SECONDS = 60.0
"""How long the places on a map hold, and the groups while names stay the same."""


def routes(context: Context) -> APIRouter:
    """Return the routes of groups and map."""
    router = APIRouter(tags=["groups"])
    places, proposals = Shared[list[Place]](SECONDS), Shared[Groups](SECONDS)

    @router.get("/groups")
    @context.threaded
    def groups() -> Groups:
        """Propose groups of images without a name that lie together."""
        return proposals.get(versions_of(context)["names"], lambda: _groups(context))

    @router.get("/map")
    @context.threaded
    def map_of_images(points: Annotated[int, Query(ge=1, le=5000)] = 1000) -> MapOut:
        """Return a map of images in which similar ones lie together."""
        placed = places.get(points, lambda: context.knowledge.map(points))
        return _labelled(context, placed)

    return router


def _groups(context: Context) -> Groups:
    found = context.knowledge.groups()
    return Groups(groups=[Group(images=list(one.ids), tightness=one.tightness) for one in found])


def _labelled(context: Context, placed: list[Place]) -> MapOut:
    """Return a map with the names of now: places take long to find, names do not."""
    images = {image.id: image for image in images_of(context, [one.id for one in placed])}
    points = [
        Point(id=one.id, x=one.x, y=one.y, name=images[one.id].name)
        for one in placed
        if one.id in images and images[one.id].stored
    ]
    return MapOut(points=points, total=context.store.query(STORED)[0][0])
