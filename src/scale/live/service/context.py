"""What the parts of the service share: the learner, its store, and threads to ask them in."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, ParamSpec, TypeVar

from fastapi import HTTPException, Path

if TYPE_CHECKING:
    from scale.live.knowledge import Knowledge
    from scale.live.store import Store
    from scale.live.watcher import Watcher

P = ParamSpec("P")
R = TypeVar("R")

THREADS = 3
LARGEST = 2**53 - 1  # whole numbers that a browser can hold
Id = Annotated[int, Path(ge=1, le=LARGEST)]


@dataclass
class Context:
    """The learner behind the page.

    Parameters
    ----------
    store
        Its store.
    knowledge
        Names, search, groups, events.
    watcher
        The running watcher; None when the page only shows a store.
    """

    store: Store
    knowledge: Knowledge
    watcher: Watcher | None = None
    threads: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(THREADS, thread_name_prefix="page")
    )

    def threaded(self, function: Callable[P, R]) -> Callable[P, Awaitable[R]]:
        """Return `function` as an endpoint that runs in one of few threads.

        The threads live as long as the page, for each has its connection to the store.
        """

        async def endpoint(*args: P.args, **kwargs: P.kwargs) -> R:
            return await self.run(functools.partial(function, *args, **kwargs))

        # FastAPI reads the parameters and their types from here.
        endpoint.__name__, endpoint.__doc__ = function.__name__, function.__doc__
        signature = inspect.signature(function, eval_str=True)
        endpoint.__signature__ = signature  # type: ignore[attr-defined]
        return endpoint

    async def run(self, function: Callable[[], R]) -> R:
        """Run a function in one of the threads."""
        return await asyncio.get_running_loop().run_in_executor(self.threads, function)

    def check_image(self, number: int) -> None:
        """Refuse the number of an image that is not there."""
        if not self.store.query("SELECT 1 FROM images WHERE id = ?", number):
            raise HTTPException(404, f"There is no image {number}.")
