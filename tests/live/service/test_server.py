"""The server: its port, silent clients, slow clients, clients that go away."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable

import pytest
from fastapi import FastAPI

from scale._errors import InputError
from scale.live.service import Server
from scale.live.service.updates import MOST_CLIENTS
from tests.live.service.conftest import Page


def test_a_taken_port_is_told(page: Page):
    with pytest.raises(InputError, match="choose another port"):
        Server(FastAPI(), "127.0.0.1", page.server.port)


@pytest.mark.parametrize("host", ["no.such.host.invalid", "a" * 300, "203.0.113.7"])
def test_a_host_that_is_not_ours_is_told(host: str):
    with pytest.raises(InputError, match="cannot serve on"):
        Server(FastAPI(), host, 0)


def test_a_port_that_is_none_is_told():
    with pytest.raises(InputError, match="port must be"):
        Server(FastAPI(), "127.0.0.1", 99999)


def connect(page: Page) -> socket.socket:
    return socket.create_connection(("127.0.0.1", page.server.port), timeout=60)


def test_a_client_that_says_nothing_is_cut_off(serve: Callable[..., Page]):
    page = serve(header_seconds=0.2)
    with connect(page) as silent, connect(page) as half:
        half.sendall(b"GET /status HTTP/1.1\r\nhost: local")
        for client in (silent, half):
            with contextlib.suppress(ConnectionResetError):
                assert client.recv(1) == b""
    assert page.get("/healthz").status == 200


def listen(page: Page) -> socket.socket:
    client = connect(page)
    client.sendall(b"GET /updates HTTP/1.1\r\nhost: localhost\r\n\r\n")
    return client


def read_until(client: socket.socket, what: bytes) -> bytes:
    got = b""
    while what not in got:
        part = client.recv(65536)
        assert part, got
        got += part
    return got


def test_updates_come_by_themselves(own_page: Page):
    with listen(own_page) as client:
        got = read_until(client, b"event: changed")
        assert b"text/event-stream" in got
        assert b"event: status" in got
        own_page.knowledge.name([5], "five")
        assert b'"names"' in read_until(client, b"event: changed")


def test_clients_that_do_not_read_or_go_away_stop_nobody(own_page: Page):
    slow = [listen(own_page) for _ in range(100)]
    for client in slow[:50]:
        client.close()
    with listen(own_page) as client:
        read_until(client, b"event: changed")
        own_page.knowledge.name([6], "six")
        read_until(client, b"event: changed")
    for client in slow[50:]:
        client.close()
    assert own_page.get("/status").status == 200


def test_too_many_listeners_are_told(page: Page):
    clients = [listen(page) for _ in range(MOST_CLIENTS)]
    for client in clients:
        read_until(client, b"retry")
    assert page.get("/updates").status == 503
    for client in clients:
        client.close()


def test_the_server_stops_while_clients_listen(own_page: Page, caplog: pytest.LogCaptureFixture):
    with listen(own_page) as client:
        read_until(client, b"event: status")
        own_page.server.close()
    assert caplog.text == ""
    with pytest.raises(ConnectionRefusedError):
        connect(own_page)
