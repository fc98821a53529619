"""Names that a person gives."""

from __future__ import annotations

from collections import Counter, defaultdict

from fastapi import APIRouter

from scale.live.names import UNKNOWN
from scale.live.service.context import Context
from scale.live.service.models import (
    Changed,
    NameList,
    NameOut,
    Naming,
    Problem,
    Responses,
    Unnaming,
)
from scale.live.service.rows import newest_of
from scale.live.service.shared import Shared
from scale.live.service.status import versions_of

SECONDS = 10.0
NEWEST = 500
"""Images that are looked at for `lately`."""
EXAMPLES = 5

REFUSED: Responses = {
    400: {"model": Problem, "description": "There is no such image, or it is no name."}
}


def routes(context: Context) -> APIRouter:
    """Return the routes of names."""
    router = APIRouter(tags=["names"])
    lists = Shared[NameList](SECONDS)

    @router.get("/names")
    @context.threaded
    def names() -> NameList:
        """List the names, with the images that a person gave each, and leave-one-out accuracy."""
        versions = versions_of(context)
        key = (versions["names"], versions["images"])
        return lists.get(key, lambda: _names(context))

    @router.post("/names", responses=REFUSED)
    @context.threaded
    def name(naming: Naming) -> Changed:
        """Give images a name; one that they had is replaced."""
        context.knowledge.name(naming.images, naming.name)
        return Changed(changed=len(set(naming.images)))

    @router.post("/names/remove", responses=REFUSED)
    @context.threaded
    def unname(unnaming: Unnaming) -> Changed:
        """Remove the names of images."""
        context.knowledge.unname(unnaming.images)
        return Changed(changed=len(set(unnaming.images)))

    return router


def _names(context: Context) -> NameList:
    newest = newest_of(context, NEWEST)
    summaries = context.knowledge.names()
    named = context.knowledge.named(newest) if summaries and newest else []
    lately = Counter(one.name for one in named)
    examples: defaultdict[str, list[int]] = defaultdict(list)
    for image, name in context.knowledge.given.all().items():
        if len(examples[name]) < EXAMPLES:
            examples[name].append(image)
    return NameList(
        names=[
            NameOut(
                name=one.name,
                count=one.count,
                accuracy=one.accuracy,
                lately=lately[one.name],
                examples=examples[one.name],
            )
            for one in summaries
        ],
        newest=len(newest),
        unknown=lately[UNKNOWN],
    )
