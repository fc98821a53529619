"""A real store with real digits, a real learner, and a server on a free port."""

from __future__ import annotations

import http.client
import io
import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from sklearn.datasets import load_digits

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")

import scale
from scale.live import Store
from scale.live.knowledge import Knowledge
from scale.live.pictures import make_picture
from scale.live.service import Server, make_app

NOON = 1_760_011_200.0  # 9 October 2025, 12:00 UTC
BATCH = 16


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    content: bytes

    def json(self) -> Any:
        return json.loads(self.content)


@dataclass
class Page:
    """A served store, and requests to it as they go over the wire."""

    store: Store
    knowledge: Knowledge
    server: Server
    headers: dict[str, str] = field(default_factory=dict)

    def ask(
        self,
        method: str,
        path: str,
        body: bytes | Iterator[bytes] | None = None,
        headers: dict[str, str] | None = None,
    ) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=60)
        try:
            connection.request(method, path, body, {**self.headers, **(headers or {})})
            answer = connection.getresponse()
            found = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(answer.status, found, answer.read())
        finally:
            connection.close()

    def get(self, path: str, **headers: str) -> Answer:
        return self.ask("GET", path, headers={k.replace("_", "-"): v for k, v in headers.items()})

    def send(self, path: str, value: object, **headers: str) -> Answer:
        more = {name.replace("_", "-"): one for name, one in headers.items()}
        kind = {"content-type": "application/json"}
        return self.ask("POST", path, json.dumps(value).encode(), {**kind, **more})


def digit_frames(count: int) -> np.ndarray:
    """Real digits, sorted by class: n x 32 x 32 x 3."""
    images, labels = load_digits(return_X_y=True)
    order = np.argsort(labels[: 10 * count], kind="stable")[:: 10 * count // count][:count]
    grey = (images[order] * 255 / 16).astype(np.uint8).reshape(-1, 8, 8)
    return np.repeat(grey.repeat(4, axis=1).repeat(4, axis=2)[..., None], 3, axis=3)


def fill(store: Store, frames: np.ndarray, *, start: float = NOON, every: float = 60.0) -> None:
    source = store.source("/camera/<door>", "folder")
    for i, frame in enumerate(frames):
        picture = make_picture(frame, 16)
        store.add_image(source, picture, taken=start + every * i, path=f"/camera/{i}.png")


def learn(store: Store, learner: scale.Learner) -> None:
    while waiting := store.waiting(BATCH):
        batch = store.journal(waiting, steps=1)
        learner.partial_fit(store.pixels(waiting))
        with store.transaction() as db:
            facts = json.dumps({"loss": 1 / batch, "effective_rank": 3.0 * batch})
            db.execute(
                "UPDATE batches SET learned = ?, facts = ? WHERE id = ?", (1.0, facts, batch)
            )


@pytest.fixture(scope="session")
def made_store(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, scale.Learner]:
    folder = tmp_path_factory.mktemp("live")
    learner = scale.ScalePlus(
        encoder="cnn", augmentation="digits", steps_per_batch=1, clusters=32, memory_size=64
    )
    with Store(folder, create=True) as store:
        fill(store, digit_frames(96))
        learn(store, learner)
        with store.transaction() as db:
            why = json.dumps({"nearest": [[3, 0.4], [4, 0.5]], "images": [50, 51]})
            row = "(kind, image, opened, state, score, threshold, count, why)"
            values = ("new", 50, NOON + 3000, "open", 1.8, 1.0, 7, why)
            db.execute(f"INSERT INTO events {row} VALUES (?, ?, ?, ?, ?, ?, ?, ?)", values)
    return folder, learner


@pytest.fixture(scope="session")
def serve(
    made_store: tuple[Path, scale.Learner], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[..., Page]]:
    """Return a function that serves a copy of the store; options are those of `make_app`."""
    opened: list[Page] = []

    def start(header_seconds: float = 20.0, **options: Any) -> Page:
        folder, learner = made_store
        copy = tmp_path_factory.mktemp("served") / "live"
        shutil.copytree(folder, copy)
        store = Store(copy)
        knowledge = Knowledge(store, learner)
        app = make_app(None, knowledge, store, **options)
        server = Server(app, "127.0.0.1", 0, header_seconds=header_seconds)
        server.__enter__()
        opened.append(Page(store, knowledge, server))
        return opened[-1]

    yield start
    for page in opened:
        page.server.close()
        page.store.close()


@pytest.fixture(scope="session")
def page(serve: Callable[..., Page]) -> Page:
    """A page for tests that change nothing."""
    return serve()


@pytest.fixture
def own_page(serve: Callable[..., Page]) -> Page:
    """A page for a test that changes something."""
    return serve()


def encoded(frame: np.ndarray, kind: str = "PNG") -> bytes:
    out = io.BytesIO()
    Image.fromarray(frame).save(out, kind)
    return out.getvalue()
