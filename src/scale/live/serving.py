"""The page beside a live learner: where it is served, and to whom."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from scale._errors import InputError
from scale._names import shown
from scale._numbers import check_number

if TYPE_CHECKING:
    from scale.live.knowledge import Knowledge
    from scale.live.watcher import Watcher

HOST = "127.0.0.1"
LAST_PORT = 65535


def parse_address(text: str) -> tuple[str, int]:
    """Return host and port of ``PORT`` or ``HOST:PORT``; without a host it is this machine only.

    Examples
    --------
    >>> parse_address("8765"), parse_address("0.0.0.0:80"), parse_address("[::]:8765")
    (('127.0.0.1', 8765), ('0.0.0.0', 80), ('::', 8765))
    """
    host, colon, port = text.strip().rpartition(":")
    if not (port.isascii() and port.isdecimal()) or (colon and not host.strip("[]")):
        raise InputError(
            f"the page's address must be PORT or HOST:PORT, for example 8765, got {shown(text)}"
        )
    if ":" in host and not (host.startswith("[") and host.endswith("]")):
        raise InputError(f"write the page's address as [{host}]:{port}")
    number = int(port[-9:]) if len(port.lstrip("0")) < 9 else LAST_PORT + 1  # int has a limit
    check_number("the page's port", number, least=0, most=LAST_PORT, whole=True)
    return (host.strip("[]") if colon else HOST), number


@contextlib.contextmanager
def serving(address: str, knowledge: Knowledge, watcher: Watcher | None = None) -> Iterator[str]:
    """Serve the page during the block; yield its address, with the token if it needs one.

    Parameters
    ----------
    address
        ``PORT`` or ``HOST:PORT``. Beyond this machine, the page needs a token. It is made at the
        first start, in the file ``token`` of the learner's folder.
    knowledge
        What the learner knows; it has the store.
    watcher
        The running watcher; None shows a store while none runs.

    Raises
    ------
    InputError
        The address cannot be served on, or the extra ``serve`` is not installed.
    """
    host, port = parse_address(address)
    try:
        from scale.live.service import Server, make_app, make_token
        from scale.live.service.security import is_loopback, own_names
    except ImportError as error:
        raise InputError(
            f"the page needs {error.name}; install it with: pip install 'scale-lifelong[serve]'"
        ) from error
    store = knowledge.store
    token = None if is_loopback(host) else make_token(store.folder)
    app = make_app(watcher, knowledge, store, token, names=own_names(host))
    with Server(app, host, port) as server:
        yield server.url if token is None else f"{server.url}?token={token}"
