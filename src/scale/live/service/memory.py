"""The learner's memory: what it keeps and why."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Query

from scale.live.rows import spread
from scale.live.service.context import Context
from scale.live.service.models import MemoryOut
from scale.live.service.rows import images_of
from scale.memory import POLICIES

if TYPE_CHECKING:
    from scale.methods import Learner


def routes(context: Context) -> APIRouter:
    """Return the routes of the memory."""
    router = APIRouter(tags=["memory"])

    @router.get("/memory")
    @context.threaded
    def memory(limit: Annotated[int, Query(ge=1, le=500)] = 240) -> MemoryOut:
        """List images that the learner keeps and learns from again, spread evenly over all."""
        kept = context.knowledge.memory()
        learner = context.knowledge.learner
        return MemoryOut(
            images=images_of(context, spread(kept, limit)),
            total=len(kept),
            size=getattr(learner, "memory_size", None),
            why=_why(learner),
        )

    return router


def _why(learner: Learner) -> str:
    """Return how a learner chooses the images that it keeps."""
    policy = getattr(learner, "memory_policy", None)
    if policy is None:
        return f"The method {learner.name} keeps no images."
    chosen = (inspect.getdoc(POLICIES[policy]) or "").partition("\n")[0]
    return f"The memory policy is {policy}: {chosen[:1].lower()}{chosen[1:]}"
