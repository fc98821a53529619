"""Alerts reach real receivers; a dead one holds up nothing and is counted."""

import http.server
import json
import socket
import sys
import threading

import pytest

from scale._errors import InputError
from scale.live.alerts import AlertOptions, Alerts, Receiver
from scale.live.events import Event
from tests.waiting import until

EVENT = Event(3, "new", 17, 1e9, None, "open", 1.5, 1.0, 6, ((2, 0.3),), (16, 17))


@pytest.fixture
def web():
    """Return the address of a server, and what was posted to it."""
    posted = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            posted.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(500 if self.path == "/bad" else 204)
            self.end_headers()

        def log_message(self, *args):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", posted
    server.shutdown()
    server.server_close()


def test_a_webhook_and_a_command_get_the_event_as_json(web, tmp_path):
    url, posted = web
    out = tmp_path / "it's; touch x"
    code = "import sys; open(sys.argv[1], 'w').write(sys.stdin.read())"
    command = f"""{sys.executable} -c "{code}" "{out}" """
    alerts = Alerts(AlertOptions(webhook=f"{url}/in", on_event=command).receivers())
    alerts.tell(EVENT, path="a.jpg")
    until(lambda: all(one["sent"] == 1 for one in alerts.status()))
    alerts.close()
    (told,) = posted
    assert (told["id"], told["image"]) == (3, 17)
    assert told["path"] == "a.jpg"
    assert told["opened_utc"] == "2001-09-09T01:46:40+00:00"
    assert json.loads(out.read_text()) == told


def test_failures_are_counted_with_their_reason(web):
    url, _ = web
    dead = AlertOptions(webhook=f"{url}/bad", on_event="false")
    alerts = Alerts(dead.receivers())
    alerts.tell(EVENT)
    until(lambda: all(one["failed"] == 1 for one in alerts.status()))
    errors = {one["receiver"]: one["error"] for one in alerts.status()}
    assert "500" in errors["webhook"]
    assert errors["command"].endswith("false ended with status 1")
    alerts.close()


def test_a_receiver_that_never_answers_holds_up_nothing():
    release = threading.Event()
    receiver = Receiver("dead", lambda alert: release.wait(60) and None, at_most=10**6)
    for _ in range(500):
        receiver.put(b"{}")
    assert receiver.dropped >= 500 - 101
    assert receiver.sent == 0
    release.set()
    receiver.close()


def test_alerts_are_limited_in_number_and_time():
    receiver = Receiver("many", lambda alert: None, at_most=3, seconds=3600)
    for _ in range(10):
        receiver.put(b"{}")
    receiver.close()
    assert (receiver.sent, receiver.held) == (3, 7)


def test_mqtt_publishes_to_a_broker():
    pytest.importorskip("paho.mqtt.client")
    broker = socket.create_server(("127.0.0.1", 0))
    got = []

    def serve():
        link, _ = broker.accept()
        with link:
            while head := link.recv(1):
                size, shift = 0, 0
                while True:
                    byte = link.recv(1)[0]
                    size, shift = size | (byte & 127) << shift, shift + 7
                    if byte < 128:
                        break
                body = b""
                while len(body) < size:
                    body += link.recv(size - len(body))
                kind = head[0] >> 4
                if kind == 1:
                    link.sendall(b"\x20\x02\x00\x00")
                elif kind == 3:
                    end = 2 + int.from_bytes(body[:2], "big")
                    got.append((body[2:end].decode(), json.loads(body[end + 2 :])))
                    link.sendall(b"\x40\x02" + body[end : end + 2])

    threading.Thread(target=serve, daemon=True).start()
    port = broker.getsockname()[1]
    alerts = Alerts(AlertOptions(mqtt=f"127.0.0.1:{port}/door/new").receivers())
    alerts.tell(EVENT)
    until(lambda: alerts.status()[0]["sent"] + alerts.status()[0]["failed"])
    assert alerts.status()[0]["error"] == ""
    assert [(topic, told["id"]) for topic, told in got] == [("door/new", 3)]
    alerts.close()
    broker.close()


@pytest.mark.parametrize(
    "wrong",
    [
        {"webhook": "ftp://x/y"},
        {"webhook": "x"},
        {"webhook": "http://a b"},
        {"webhook": "http://[::1"},
        {"webhook": "http://h:99999/"},
        {"mqtt": "host"},
        {"mqtt": "/topic"},
        {"mqtt": "host:x/topic"},
        {"mqtt": "host/a/#"},
        {"mqtt": "../topic"},
        {"on_event": ""},
        {"on_event": "/no/such/program"},
        {"on_event": "'unclosed"},
    ],
)
def test_receivers_that_cannot_be_are_refused(wrong):
    with pytest.raises(InputError):
        AlertOptions(**wrong).check()
