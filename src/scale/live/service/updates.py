"""Live updates by server-sent events; a slow client misses some, and slows nobody down."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable

SECONDS = 1.0
"""Between two looks at the learner, while anybody listens."""
SILENCE = 15.0
"""After so long without news a comment is sent, so that a connection that is gone is noticed."""
MOST_CLIENTS = 200


class Client:
    """One listener: the newest message of each kind that it has not been sent yet."""

    def __init__(self) -> None:
        self._news: dict[str, str] = {}
        self._has_news = asyncio.Event()
        self.ended = False

    def end(self) -> None:
        """Send nothing more."""
        self.ended = True
        self._has_news.set()

    def put(self, kind: str, data: str) -> None:
        """Replace what waits of this kind, so that a slow client holds one message of each."""
        self._news[kind] = data
        self._has_news.set()

    async def take(self) -> str:
        """Wait for news and return them in the form of server-sent events."""
        try:
            async with asyncio.timeout(SILENCE):
                await self._has_news.wait()
        except TimeoutError:
            return ": still here\n\n"
        self._has_news.clear()
        news, self._news = self._news, {}
        return "".join(f"event: {kind}\ndata: {data}\n\n" for kind, data in news.items())


class Updates:
    """Looks at the learner once a second for all clients together, and only if there are any.

    Parameters
    ----------
    look
        Returns the newest message of each kind.
    """

    def __init__(self, look: Callable[[], Awaitable[dict[str, str]]]) -> None:
        self._look = look
        self._clients: set[Client] = set()
        self._task: asyncio.Task[None] | None = None
        self._last: dict[str, str] = {}

    @property
    def is_full(self) -> bool:
        """Whether no more clients are taken."""
        return len(self._clients) >= MOST_CLIENTS

    async def stream(self) -> AsyncIterator[str]:
        """Yield events until the client goes away."""
        client = Client()
        self._clients.add(client)
        for kind, data in self._last.items():
            client.put(kind, data)
        if self._task is None:
            self._task = asyncio.create_task(self._pump())
        try:
            yield "retry: 2000\n\n"
            while not client.ended:
                yield await client.take()
        finally:
            self._clients.discard(client)

    def end(self) -> None:
        """Send all clients away; a server cannot stop while they listen."""
        for client in self._clients:
            client.end()

    async def close(self) -> None:
        """Stop looking."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    async def _pump(self) -> None:
        while self._clients:
            for kind, data in (await self._look()).items():
                if self._last.get(kind) != data:
                    self._last[kind] = data
                    for client in self._clients:
                        client.put(kind, data)
            await asyncio.sleep(SECONDS)
        self._task = None
        self._last = {}
