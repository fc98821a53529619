"""The HTTP server: a thread with its own event loop, beside the learner."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol

from scale._errors import InputError
from scale._numbers import check_number

BACKLOG = 128
LAST_PORT = 65535
EVERYWHERE = ("0.0.0.0", "::")
MOST_CONNECTIONS = 400
HEADER_SECONDS = 20.0
"""A client that has sent no request by then is cut off."""


class Server:
    """Serves an app until the block ends.

    Parameters
    ----------
    app
        What is served, as `make_app` returns it.
    host, port
        Where. Port 0 takes a free one; see `port`.
    header_seconds
        How long a new connection may take to send its first request.

    Raises
    ------
    InputError
        The port is taken, may not be used, or the host is not one of this machine.
    """

    def __init__(
        self, app: FastAPI, host: str, port: int, *, header_seconds: float = HEADER_SECONDS
    ) -> None:
        self._socket = _listen(host, port)
        self.host = host
        self.port: int = self._socket.getsockname()[1]
        config = uvicorn.Config(
            app,
            http=_patient(header_seconds),
            ws="none",
            loop="asyncio",
            lifespan="on",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_keep_alive=20,
            timeout_graceful_shutdown=1,
            backlog=BACKLOG,
        )
        self._server = _Stoppable(config, getattr(app.state, "end_updates", lambda: None))
        self._thread = threading.Thread(target=self._serve, name="page", daemon=True)

    @property
    def url(self) -> str:
        """Address of the page; with this machine's name if all of its addresses are served."""
        host = socket.gethostname() if self.host in EVERYWHERE else self.host
        host = f"[{host}]" if ":" in host else host
        return f"http://{host}:{self.port}/"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop serving; requests that run are given a second."""
        self._server.should_exit = True
        if self._thread.is_alive():
            self._thread.join()
        self._socket.close()

    def _serve(self) -> None:
        asyncio.run(self._server.serve(sockets=[self._socket]))


class _Stoppable(uvicorn.Server):
    """A server that sends listeners away before it stops."""

    def __init__(self, config: uvicorn.Config, before: Callable[[], None]) -> None:
        super().__init__(config)
        self._before = before

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._before()
        await super().shutdown(sockets)


def _listen(host: str, port: int) -> socket.socket:
    check_number("port", port, least=0, most=LAST_PORT, whole=True)
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise InputError(f"cannot serve on {host!r}: no such host; give HOST:PORT") from error
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        why = (error.strerror or str(error)).lower()
        raise InputError(
            f"cannot serve on {host}:{port}: {why}; choose another port or host"
        ) from error
    return listener


def _patient(seconds: float) -> type[asyncio.Protocol]:
    """Return uvicorn's protocol with an end to its patience."""

    class Protocol(H11Protocol):
        """Cuts off clients that say nothing, and those that are too many."""

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            if len(self.connections) > MOST_CONNECTIONS:
                transport.abort()
            else:
                self.loop.call_later(seconds, self._cut_off_silent)

        def _cut_off_silent(self) -> None:
            if self.cycle is None and not self.transport.is_closing():
                self.transport.abort()

    return Protocol
