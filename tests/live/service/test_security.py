"""Nobody comes in without the token, from another site, or under another name."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.datastructures import Headers

from scale._errors import DamagedFileError, UnwritableError
from scale.live.service.security import (
    Pass,
    is_known_host,
    is_same_origin,
    make_token,
    own_names,
    token_of,
)
from tests.live.service.conftest import Page

TOKEN = "a" * 40


@pytest.fixture(scope="module")
def locked(serve: Callable[..., Page]) -> Page:
    return serve(token=TOKEN)


def test_the_token_is_made_once_and_only_its_user_may_read_it(tmp_path: Path):
    token = make_token(tmp_path)
    assert len(token) >= 40
    assert stat.S_IMODE(os.stat(tmp_path / "token").st_mode) == 0o600
    assert make_token(tmp_path) == token


def test_two_learners_have_different_tokens(tmp_path: Path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    assert make_token(tmp_path / "a") != make_token(tmp_path / "b")


@pytest.mark.parametrize("content", [b"", b"short\n", b"\xff" * 40])
def test_a_file_without_a_token_is_refused(tmp_path: Path, content: bytes):
    (tmp_path / "token").write_bytes(content)
    with pytest.raises(DamagedFileError, match="holds no token"):
        make_token(tmp_path)


def test_a_token_that_cannot_be_written_is_told(tmp_path: Path):
    with pytest.raises(UnwritableError, match="token"):
        make_token(tmp_path / "missing")


@pytest.mark.parametrize(
    "path",
    ["/status", "/images", "/images/1/thumbnail", "/events", "/metrics", "/updates", "/names",
     "/map", "/openapi.json", "/memory", "/search?image=1"],
)  # fmt: skip
def test_without_the_token_nothing_is_shown(locked: Page, path: str):
    answer = locked.get(path)
    assert answer.status == 401
    assert "token" in answer.json()["detail"]


@pytest.mark.parametrize(
    "headers",
    [
        {"authorization": f"Bearer {TOKEN}x"},
        {"authorization": "Bearer "},
        {"authorization": f"Basic {TOKEN}"},
        {"authorization": "Bearer \xff\xfe"},
        {"cookie": f"{Pass(TOKEN).cookie}={TOKEN}"},
        {"cookie": "a=b; ;;=;\x7f"},
    ],
)
def test_a_wrong_token_is_refused(locked: Page, headers: dict[str, str]):
    assert locked.ask("GET", "/status", headers=headers).status == 401


def test_a_program_brings_the_token_as_bearer(locked: Page):
    assert locked.get("/status", authorization=f"Bearer {TOKEN}").status == 200


@pytest.mark.parametrize("path", ["/healthz", "/login", "/web/theme.css"])
def test_health_and_the_login_page_need_no_token(locked: Page, path: str):
    assert locked.get(path).status == 200


def test_a_browser_without_a_cookie_is_sent_to_the_login_page(locked: Page):
    answer = locked.get("/")
    assert (answer.status, answer.headers["location"]) == (303, "/login")


def test_the_address_with_the_token_sets_a_strict_cookie_and_forgets_the_token(locked: Page):
    answer = locked.get(f"/?token={TOKEN}")
    cookie = answer.headers["set-cookie"]
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(cookie.split("; "))
    assert TOKEN not in cookie
    assert TOKEN.encode() not in answer.content
    assert locked.get("/status", cookie=cookie.partition(";")[0]).status == 200


def test_the_login_form_takes_the_token(locked: Page):
    form = {"content-type": "application/x-www-form-urlencoded"}
    wrong = locked.ask("POST", "/login", b"token=nonsense", form)
    assert (wrong.status, b"not the token" in wrong.content) == (403, True)
    assert "set-cookie" not in wrong.headers
    right = locked.ask("POST", "/login", f"token={TOKEN}".encode(), form)
    assert right.status == 200
    cookie = right.headers["set-cookie"].partition(";")[0]
    assert locked.get("/status", cookie=cookie).status == 200
    assert locked.ask("POST", "/login", b"token=" + b"x" * 9000, form).status == 413


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "", "localhost.evil:8765", "[::1", "a b"]
)
def test_another_host_name_is_refused(page: Page, host: str):
    """An attacker may let a name point at 127.0.0.1 (DNS rebinding)."""
    assert page.get("/status", host=host).status in (400, 421)


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.1:9", "[::1]:8765"])
def test_loopback_names_are_known(page: Page, host: str):
    assert page.get("/status", host=host).status == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://localhost:1"},
        {"origin": "https://["},
        {"origin": "file://"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
@pytest.mark.parametrize("path", ["/names", "/names/remove", "/events/1/dismiss", "/images"])
def test_changes_from_another_site_are_refused(page: Page, path: str, headers: dict[str, str]):
    answer = page.send(path, {"images": [1], "name": "x"}, **headers)
    assert answer.status == 403
    assert page.store.query("SELECT * FROM names") == []


def test_changes_from_the_page_itself_are_made(own_page: Page):
    here = f"http://127.0.0.1:{own_page.server.port}"
    answer = own_page.send("/names", {"images": [1], "name": "x"}, origin=here)
    assert answer.status == 200


@pytest.mark.parametrize(
    "path", ["/", "/status", "/nowhere", "/web/theme.css", "/images/1/picture"]
)
def test_every_answer_has_the_headers(page: Page, path: str):
    headers = page.get(path).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert "server" not in headers


def test_the_page_has_no_inline_script_or_style(page: Page):
    for path in ("/", "/login"):
        text = page.get(path).content.decode()
        assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\son\w+=|style=|javascript:", text)
        assert not re.search(r"(src|href)=.?(https?:)?//", text)


@settings(max_examples=40)
@given(st.text(max_size=60))
def test_only_addresses_and_known_names_are_hosts(text: str):
    name = text.rpartition(":")[0] or text
    if is_known_host(text, frozenset({"localhost"})):
        assert re.fullmatch(r"(?i).*localhost|[0-9.]+|\[?[0-9a-f:.%]+\]?.*", name)


@settings(max_examples=40)
@given(st.text(max_size=40), st.text(max_size=40))
def test_any_origin_and_host_get_an_answer(origin: str, host: str):
    raw = [(b"origin", origin.encode()), (b"host", host.encode())]
    assert isinstance(is_same_origin(Headers(raw=raw)), bool)


@settings(max_examples=40)
@given(st.text())
def test_only_the_token_is_the_token(text: str):
    assert Pass(TOKEN).is_token(text) == (text == TOKEN)
    assert not Pass(None).is_token(text)


@settings(max_examples=40)
@given(st.binary(max_size=200))
def test_any_form_can_be_read(form: bytes):
    assert isinstance(token_of(form), str)


def test_a_page_beyond_loopback_knows_the_name_of_its_machine():
    assert own_names("::1") == ["localhost"]
    assert "camera.lan" in own_names("camera.lan")
