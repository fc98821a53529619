"""Who may come in: token, cookie, host, origin, and the headers of every answer."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import json
import os
import secrets
import socket
from collections.abc import Iterable
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from scale._errors import DamagedFileError, UnwritableError

TOKEN = "token"
LEAST_TOKEN = 16
YEAR = 365 * 86400
OPEN_PATHS = ("/healthz", "/login")
OPEN_FOLDER = "/web/"
CHANGES_NOTHING = ("GET", "HEAD", "OPTIONS")
CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": CONTENT_POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
}


def make_token(folder: Path) -> str:
    """Return the token of a live learner; the first call makes it, readable by its user only.

    Raises
    ------
    DamagedFileError
        The file is too short to be a token.
    UnwritableError
        The file cannot be written or read.
    """
    path = folder / TOKEN
    try:
        try:
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            token = path.read_text(encoding="ascii", errors="replace").strip()
        else:
            token = secrets.token_urlsafe(32)
            with open(handle, "w", encoding="ascii") as file:
                file.write(token + "\n")
                file.flush()
                os.fsync(file.fileno())
    except OSError as error:
        raise UnwritableError(
            f"cannot write or read {path}: {error.strerror}; change that"
        ) from error
    if len(token) < LEAST_TOKEN or not token.isascii():
        raise DamagedFileError(f"{path} holds no token; remove it, and the next start makes one")
    return token


class Pass:
    """Tells whether a request brings the token.

    Parameters
    ----------
    token
        The token; None lets everyone in.
    """

    def __init__(self, token: str | None) -> None:
        self.token = token
        secret = (token or "").encode()
        # Cookies do not know ports: learners on one machine need names of their own.
        self.cookie = "scale-" + hashlib.sha256(b"name" + secret).hexdigest()[:12]
        self._session = hmac.new(secret, b"session", hashlib.sha256).hexdigest()

    def is_token(self, given: str) -> bool:
        """Return whether `given` is the token, in a time that does not depend on it."""
        return self.token is not None and _equal(given, self.token)

    def lets_in(self, headers: Headers) -> bool:
        """Return whether a request with these headers may come in."""
        if self.token is None:
            return True
        kind, _, given = headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer" and self.is_token(given.strip()):
            return True
        try:
            cookies = SimpleCookie(headers.get("cookie", ""))
        except CookieError:
            return False
        found = cookies.get(self.cookie)
        return found is not None and _equal(found.value, self._session)

    def cookie_header(self, *, secure: bool) -> str:
        """Return the cookie that a browser keeps instead of the token."""
        more = "; Secure" if secure else ""
        return (
            f"{self.cookie}={self._session}; Path=/; Max-Age={YEAR}; HttpOnly; SameSite=Strict"
            f"{more}"
        )


class Guard:
    """ASGI middleware: refuses requests that may not come in, and adds headers to all answers.

    Parameters
    ----------
    app
        What is guarded.
    passes
        Who brings the token.
    names
        Host names under which the page is reached. Addresses always are allowed; another name
        may belong to an attacker who lets it point here (DNS rebinding).
    """

    def __init__(self, app: ASGIApp, passes: Pass, names: Iterable[str]) -> None:
        self.app = app
        self.passes = passes
        self.names = frozenset(name.lower() for name in names)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        refused = self._refusal(scope)
        answer = _with_headers(send)
        if refused is None:
            await self.app(scope, receive, answer)
        else:
            await _refuse(answer, *refused)

    def _refusal(self, scope: Scope) -> tuple[int, str, dict[str, str]] | None:
        headers, path = Headers(scope=scope), scope["path"]
        host = headers.get("host", "")
        if not is_known_host(host, self.names):
            said = f"This page is not reached under the name {_name(host)[:100]!r}. Use the address"
            return 421, said + " that scale watch printed.", {}
        if scope["method"] not in CHANGES_NOTHING and not is_same_origin(headers):
            return 403, "Another site asked for this change. Only this page may.", {}
        if path in OPEN_PATHS or path.startswith(OPEN_FOLDER) or self.passes.lets_in(headers):
            return None
        if path == "/" and scope["method"] == "GET":
            given = token_of(scope["query_string"])
            return None if self.passes.is_token(given) else (303, "", {"location": "/login"})
        said = "A token is needed. It is in the file token of the learner's folder."
        return 401, said, {"www-authenticate": "Bearer"}


def is_known_host(host: str, names: frozenset[str]) -> bool:
    """Return whether a Host header is an address or one of `names`.

    Examples
    --------
    >>> is_known_host("127.0.0.1:8765", frozenset()), is_known_host("[::1]", frozenset())
    (True, True)
    >>> is_known_host("evil.example:8765", frozenset({"localhost"}))
    False
    """
    name = _name(host)
    if name in names:
        return True
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def is_same_origin(headers: Headers) -> bool:
    """Return whether a request is from this page or from a program that is no browser."""
    if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
        return False
    origin = headers.get("origin")
    if origin is None:
        return True
    try:
        parts = urlsplit(origin)
        port = parts.port
    except ValueError:
        return False
    usual = {"http": 80, "https": 443}.get(parts.scheme)
    if usual is None or parts.hostname is None:
        return False
    try:
        here = urlsplit(f"//{headers.get('host', '')}")
        return parts.hostname == here.hostname and (port or usual) == (here.port or usual)
    except ValueError:
        return False


def own_names(host: str) -> list[str]:
    """Return the names under which a page on `host` may be reached.

    Examples
    --------
    >>> own_names("127.0.0.1")
    ['localhost']
    """
    names = ["localhost"]
    if not is_loopback(host):
        machine = socket.gethostname().lower()
        names += [host.lower(), machine, f"{machine.partition('.')[0]}.local"]
    return names


def is_loopback(host: str) -> bool:
    """Return whether only this machine reaches `host`."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _name(host: str) -> str:
    """Return the name in a Host header, without the port."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def token_of(form: bytes) -> str:
    """Return the field `token` of a query or a form; empty when there is none."""
    try:
        return parse_qs(form.decode("ascii", "replace"), max_num_fields=20).get("token", [""])[0]
    except ValueError:  # too many fields
        return ""


def _equal(given: str, right: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "replace"), right.encode())


def _with_headers(send: Send) -> Send:
    async def answer(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers[name] = value
            headers.setdefault("cache-control", "no-store")
        await send(message)

    return answer


async def _refuse(send: Send, status: int, text: str, headers: dict[str, str]) -> None:
    content = json.dumps({"detail": text}).encode()
    head = {"content-type": "application/json", "content-length": str(len(content)), **headers}
    raw = [(name.encode(), value.encode()) for name, value in head.items()]
    await send({"type": "http.response.start", "status": status, "headers": raw})
    await send({"type": "http.response.body", "body": content})
