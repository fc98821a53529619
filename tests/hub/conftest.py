"""A small hub that runs in the test: the parts of its HTTP interface that push and pull use."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.methods.learners import fit, make

COMMIT = "1234567890abcdef1234567890abcdef12345678"


class Hub(ThreadingHTTPServer):
    """Models by name; each is its files."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.models: dict[str, dict[str, bytes]] = {}

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    server: Hub

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        path = self.path.split("?")[0]
        models = self.server.models
        if not self.headers.get("Authorization", "").startswith("Bearer hf_good"):
            self.answer({"error": "Invalid credentials"}, 401)
        elif path == "/api/repos/create":
            given = json.loads(body)
            name = f"{given.get('organization') or 'me'}/{given['name']}"
            models.setdefault(name, {})
            self.answer({"url": f"{self.server.address}/{name}", "id": name})
        elif path == "/api/validate-yaml":
            self.answer({"errors": [], "warnings": []})
        elif "/preupload/" in path:
            files = [
                {"path": one["path"], "uploadMode": "regular", "shouldIgnore": False}
                for one in json.loads(body)["files"]
            ]
            self.answer({"files": files})
        elif "/commit/" in path:
            self.commit(path.split("/api/models/")[1].split("/commit/")[0], body)
        else:
            self.answer({"error": "not found"}, 404)

    def commit(self, name: str, body: bytes) -> None:
        for line in map(json.loads, body.splitlines()):
            if line["key"] == "file":
                content = base64.b64decode(line["value"]["content"])
                self.server.models[name][line["value"]["path"]] = content
        url = f"{self.server.address}/{name}/commit/{COMMIT}"
        self.answer({"commitUrl": url, "commitOid": COMMIT, "success": True})

    def do_GET(self) -> None:
        path = self.path.split("?")[0]
        models = self.server.models
        if path.startswith("/api/models/"):
            name = "/".join(path.split("/")[3:5])
            if name not in models:
                self.answer({"error": "Repository not found"}, 404, "RepoNotFound")
            elif "/tree/" in path:
                self.answer([self.entry(file, models[name][file]) for file in models[name]])
            else:
                siblings = [{"rfilename": file} for file in models[name]]
                self.answer({"id": name, "sha": COMMIT, "siblings": siblings})
            return
        owner, model, *rest = path.strip("/").split("/")
        files = models.get(f"{owner}/{model}")
        if files is None:
            self.answer({"error": "Repository not found"}, 404, "RepoNotFound")
        elif rest[-1] not in files:
            self.answer({"error": "Entry not found"}, 404, "EntryNotFound")
        else:
            self.send(files[rest[-1]])

    do_HEAD = do_GET

    def entry(self, path: str, content: bytes) -> dict[str, Any]:
        return {"type": "file", "path": path, "oid": "0" * 40, "size": len(content)}

    def answer(self, told: Any, status: int = 200, code: str = "") -> None:
        content = json.dumps(told).encode()
        self.send_response(status)
        if code:
            self.send_header("X-Error-Code", code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def send(self, content: bytes) -> None:
        self.send_response(200)
        self.send_header("ETag", f'"{hashlib.sha256(content).hexdigest()}"')
        self.send_header("X-Repo-Commit", COMMIT)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Hub]:
    constants = pytest.importorskip("huggingface_hub.constants")
    server = Hub()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    monkeypatch.setenv("HF_ENDPOINT", server.address)
    monkeypatch.setenv("HF_TOKEN", "hf_good")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hf-cache"))
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="session")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small learner as a file."""
    path = tmp_path_factory.mktemp("learner") / "small.safetensors"
    fit(make("er")).save(path)
    return path
