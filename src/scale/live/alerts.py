"""Alerts about events: a webhook, MQTT, a command. A dead receiver holds up nothing."""

from __future__ import annotations

import json
import queue
import re
import shlex
import shutil
import subprocess
import threading
import time
import urllib.parse
import urllib.request
from collections import deque
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from scale._errors import InputError, ScaleError
from scale._names import shown
from scale._text import printable
from scale.live.events import Event

WAITING = 100  # alerts that may wait for one receiver; more are dropped
AT_MOST, SECONDS = 10, 600.0  # alerts to one receiver in this time; more are held back
TIMEOUT = 10.0  # seconds that a receiver has
COMMAND_TIMEOUT = 60.0
MQTT_PORT = 1883
HOST = re.compile(r"\[[0-9a-fA-F:.]+\]|\w[\w.-]*")
PORT = re.compile("[0-9]{1,5}")
WILD = re.compile(r"[+#\x00-\x1f\x7f]")  # not in the topic of a message

Send = Callable[[bytes], None]


@dataclass(frozen=True)
class AlertOptions:
    """Who is told about events.

    Parameters
    ----------
    webhook
        URL to which each event is posted as JSON.
    mqtt
        Broker and topic to which each event is published as JSON: HOST[:PORT]/TOPIC.
    on_event
        Command that is run for each event, with the event as JSON on its standard input. It is
        split into arguments like a shell does, but no shell runs it.
    """

    webhook: str | None = None
    mqtt: str | None = None
    on_event: str | None = None

    def check(self) -> None:
        """Raise `InputError` for a receiver that cannot be."""
        self._senders()

    def receivers(self) -> list[Receiver]:
        """Return the receivers, each with its thread."""
        return [Receiver(name, send) for name, send in self._senders()]

    def _senders(self) -> list[tuple[str, Send]]:
        kinds = (("webhook", self.webhook), ("mqtt", self.mqtt), ("command", self.on_event))
        return [(name, MAKERS[name](text)) for name, text in kinds if text is not None]


class Receiver:
    """One receiver of alerts, with a thread and a bounded queue of its own.

    Parameters
    ----------
    name
        What it is, for the status.
    send
        Sends one alert; it may take long and may fail.
    at_most, seconds
        Alerts that are sent in this time; more are held back and counted.
    """

    def __init__(
        self, name: str, send: Send, *, at_most: int = AT_MOST, seconds: float = SECONDS
    ) -> None:
        self.name = name
        self.sent = self.failed = self.dropped = self.held = 0
        self.error = ""
        self._send = send
        self._at_most, self._seconds = at_most, seconds
        self._times: deque[float] = deque()
        self._queue: queue.Queue[bytes | None] = queue.Queue(WAITING)
        self._thread = threading.Thread(target=self._work, name=f"alerts-{name}", daemon=True)
        self._thread.start()

    def put(self, alert: bytes) -> None:
        """Take an alert and return at once."""
        now = time.monotonic()
        while self._times and now - self._times[0] > self._seconds:
            self._times.popleft()
        if len(self._times) >= self._at_most:
            self.held += 1
            return
        try:
            self._queue.put_nowait(alert)
        except queue.Full:
            self.dropped += 1
            return
        self._times.append(now)

    def close(self, seconds: float = 2.0) -> None:
        """Let alerts that wait be sent, but wait no longer than `seconds`."""
        try:
            self._queue.put_nowait(None)
        except queue.Full:
            return
        self._thread.join(seconds)

    def status(self) -> dict[str, Any]:
        """Return the counts and the last error."""
        counts = {name: getattr(self, name) for name in ("sent", "failed", "dropped", "held")}
        return {"receiver": self.name, **counts, "error": self.error}

    def _work(self) -> None:
        while (alert := self._queue.get()) is not None:
            try:
                self._send(alert)
                self.sent += 1
                self.error = ""
            except Exception as error:  # a receiver may fail in any way
                self.failed += 1
                self.error = printable(f"{type(error).__name__}: {error}"[:300])


class Alerts:
    """Tells all receivers about events.

    Parameters
    ----------
    receivers
        The receivers.
    """

    def __init__(self, receivers: list[Receiver]) -> None:
        self.receivers = receivers

    def tell(self, event: Event, **more: object) -> None:
        """Send an event to every receiver; return at once."""
        alert = as_json(event, **more)
        for receiver in self.receivers:
            receiver.put(alert)

    def close(self) -> None:
        """Stop; alerts that wait are sent if that is quick."""
        for receiver in self.receivers:
            receiver.close()

    def status(self) -> list[dict[str, Any]]:
        """Return the counts of each receiver."""
        return [receiver.status() for receiver in self.receivers]


def as_json(event: Event, **more: object) -> bytes:
    """Return an event as JSON, with the time also as text."""
    when = datetime.fromtimestamp(event.opened, UTC).isoformat()
    return json.dumps({**asdict(event), "opened_utc": when, **more}).encode()


def webhook(url: str) -> Send:
    """Return a function that posts JSON to a URL."""
    try:
        parts = urllib.parse.urlsplit(url)
        good = parts.scheme in ("http", "https") and bool(parts.hostname)
        _ = parts.port
    except ValueError:
        good = False
    if not good or printable(url) != url or " " in url:
        raise InputError(f"webhook must be a URL like http://host:port/path, got {shown(url)}")

    def send(alert: bytes) -> None:
        head = {"Content-Type": "application/json", "User-Agent": "scale-lifelong"}
        request = urllib.request.Request(url, alert, head, method="POST")
        with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
            answer.read(1)

    return send


def mqtt(address: str) -> Send:
    """Return a function that publishes JSON to a topic, HOST[:PORT]/TOPIC."""
    place, _, topic = address.partition("/")
    host, _colon, port = place.rpartition(":") if ":" in place else (place, "", str(MQTT_PORT))
    valid = HOST.fullmatch(host) and PORT.fullmatch(port) and 0 < int(port) < 65536
    if not (valid and topic) or WILD.search(topic):
        raise InputError(
            f"mqtt must be HOST[:PORT]/TOPIC, such as broker:1883/door/new, got {shown(address)}"
        )
    try:
        from paho.mqtt import client as paho
        from paho.mqtt.enums import CallbackAPIVersion
    except ImportError as error:
        raise InputError(
            "alerts by MQTT need paho-mqtt; install it with: pip install 'scale-lifelong[mqtt]'"
        ) from error

    def send(alert: bytes) -> None:
        client = paho.Client(CallbackAPIVersion.VERSION2)
        client.connect_timeout = TIMEOUT
        client.connect(host, int(port), keepalive=30)
        client.loop_start()
        try:
            told = client.publish(topic, alert, qos=1)
            told.wait_for_publish(TIMEOUT)
            if not told.is_published():
                raise TimeoutError(f"the broker did not confirm within {TIMEOUT:.0f} seconds")
        finally:
            client.disconnect()
            client.loop_stop()

    return send


def command(line: str) -> Send:
    """Return a function that runs a command with JSON on its standard input."""
    try:
        arguments = shlex.split(line)
    except ValueError as error:
        raise InputError(f"the command {shown(line)} cannot be split: {error}") from error
    if not arguments or "\0" in line:
        raise InputError(f"give a command to run, got {shown(line)}")
    if shutil.which(arguments[0]) is None:
        raise InputError(f"there is no program {shown(arguments[0])}; give its path")

    def send(alert: bytes) -> None:
        nowhere = subprocess.DEVNULL
        done = subprocess.run(
            arguments,
            input=alert,
            stdout=nowhere,
            stderr=nowhere,
            timeout=COMMAND_TIMEOUT,
            check=False,
        )
        if done.returncode:
            raise ScaleError(f"{arguments[0]} ended with status {done.returncode}")

    return send


MAKERS: dict[str, Callable[[str], Send]] = {"webhook": webhook, "mqtt": mqtt, "command": command}
