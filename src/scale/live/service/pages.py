"""The page itself: static files from memory, and the form that takes the token."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from scale.live.service.body import read_body
from scale.live.service.security import Pass, token_of
from scale.web import Asset, assets

MOST_FORM = 4096
REFUSED = b'<p role="alert" class="wrong">That is not the token.</p>'
ENTERED = b"""<!doctype html><html lang="en"><meta charset="utf-8"><title>scale</title>
<meta http-equiv="refresh" content="0; url=/"><p><a href="/">Go on</a></p></html>"""


def routes(passes: Pass) -> APIRouter:
    """Return the routes of the page; they are no part of the API's description."""
    router = APIRouter(include_in_schema=False)
    files = assets()

    @router.get("/")
    async def page(request: Request) -> Response:
        if passes.is_token(request.query_params.get("token", "")):
            return _entered(request, passes)  # the token leaves the address bar
        return _answer(files["index.html"], request)

    @router.get("/web/{name:path}")
    async def asset(name: str, request: Request) -> Response:
        found = files.get(name)
        return Response("There is no such file.", 404) if found is None else _answer(found, request)

    @router.get("/favicon.ico")
    async def icon(request: Request) -> Response:
        return _answer(files["icon.svg"], request)

    @router.get("/login")
    async def login(request: Request) -> Response:
        return _answer(files["login.html"], request)

    @router.post("/login")
    async def enter(request: Request) -> Response:
        if passes.token is None or passes.is_token(token_of(await read_body(request, MOST_FORM))):
            return _entered(request, passes)
        said = files["login.html"].content.replace(b"<!-- refused -->", REFUSED)
        return Response(said, 403, media_type="text/html")

    return router


def _answer(asset: Asset, request: Request) -> Response:
    tag = f'"{asset.tag}"'
    headers = {"etag": tag, "cache-control": "no-cache", "content-type": asset.kind}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return Response(asset.content, headers=headers)


def _entered(request: Request, passes: Pass) -> Response:
    """Set the cookie. A page that goes on by itself: a redirect from elsewhere would lose it."""
    response = Response(ENTERED, media_type="text/html")
    if passes.token is not None:
        response.headers["set-cookie"] = passes.cookie_header(secure=request.url.scheme == "https")
    return response
