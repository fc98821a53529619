"""Downloads from a small hub that runs in the test."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scale._errors import DamagedFileError, InputError, ScaleError
from scale.data import LoadOptions, get_dataset, load_dataset
from scale.data.hub import HubDataset, find_hub_folder

pytest.importorskip("huggingface_hub")

COMMIT = "1234567890abcdef1234567890abcdef12345678"


class Hub(ThreadingHTTPServer):
    """One dataset, ``me/tiny``, with the parts of the hub's API that huggingface_hub asks for."""

    def __init__(self, files: dict[str, bytes]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.files = files
        self.listed = {path: hashlib.sha256(content).hexdigest() for path, content in files.items()}
        self.break_next = False
        self.requests: list[str] = []

    def describe(self) -> dict[str, Any]:
        siblings = [
            {"rfilename": path, "blobId": "0" * 40, "lfs": {"sha256": sha256, **self.sizes(path)}}
            for path, sha256 in self.listed.items()
        ]
        siblings.append({"rfilename": "README.md", "size": 3, "blobId": "1" * 40})
        return {"id": "me/tiny", "sha": COMMIT, "siblings": siblings}

    def tree(self) -> list[dict[str, Any]]:
        return [
            {"type": "file", "path": path, "oid": "0" * 40, **self.sizes(path)}
            | {"lfs": {"oid": sha256, **self.sizes(path)}}
            for path, sha256 in self.listed.items()
        ]

    def sizes(self, path: str) -> dict[str, int]:
        return {"size": len(self.files.get(path, b"")), "pointerSize": 130}


class Handler(BaseHTTPRequestHandler):
    server: Hub

    def do_GET(self) -> None:
        path = self.path.split("?")[0]
        prefix = f"/datasets/me/tiny/resolve/{COMMIT}/"
        hub, name = self.server, path.removeprefix(prefix)
        if path == "/api/datasets/me/tiny":
            self.answer(json.dumps(hub.describe()).encode())
        elif path == f"/api/datasets/me/tiny/tree/{COMMIT}":
            self.answer(json.dumps(hub.tree()).encode())
        elif path.startswith(prefix) and name in hub.files:
            until = None
            if self.command == "GET":
                hub.requests.append(name)
                until, hub.break_next = 100 if hub.break_next else None, False
            self.answer(hub.files[name], hub.listed[name], until)
        else:
            self.send_response(404)
            self.send_header("Content-Length", "0")
            self.end_headers()

    do_HEAD = do_GET

    def answer(self, content: bytes, etag: str = "", until: int | None = None) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("X-Repo-Commit", COMMIT)
        self.send_header("ETag", f'"{etag}"')
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(content[:until])

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def hub(
    tmp_path: Path, write_parquet: Any, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Hub]:
    files = {}
    for split, n in (("train", 30), ("test", 10)):
        name = f"data/{split}-00000-of-00001.parquet"
        images = rng.integers(0, 256, (n, 8, 8, 3), dtype=np.uint8)
        path = write_parquet(tmp_path / "upload" / name, images, {"label": [0] * n})
        files[name] = path.read_bytes()
    server = Hub(files)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_address[1]}")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.delenv("SCALE_DATA", raising=False)
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_dataset_arrives_whole_and_loads(hub: Hub, own_cache: Path) -> None:
    seen: list[tuple[int, int]] = []
    folder = get_dataset("me/tiny", progress=lambda *at: seen.append(at))
    assert folder == own_cache / "hub" / "me" / "tiny"
    for name, content in hub.files.items():
        assert (folder / name).read_bytes() == content
    total = sum(map(len, hub.files.values()))
    assert seen == sorted(seen)
    assert seen[-1] == (total, total)
    assert len(load_dataset("me/tiny", "test")) == 10


def test_a_dataset_known_by_name_is_downloaded_when_it_is_loaded(hub: Hub, own_cache: Path) -> None:
    seen: list[tuple[int, int]] = []
    options = LoadOptions(progress=lambda *at: seen.append(at))
    assert len(HubDataset("tiny", "me/tiny")("train", options)) == 30
    total = sum(map(len, hub.files.values()))
    assert (total, total) in seen
    hub.requests.clear()
    assert len(HubDataset("tiny", "me/tiny")("test", LoadOptions())) == 10
    assert hub.requests == []


def test_a_hub_id_is_downloaded_only_by_command(hub: Hub) -> None:
    with pytest.raises(InputError, match="get it with `scale data get me/tiny`"):
        load_dataset("me/tiny")
    assert hub.requests == []


def test_an_incomplete_dataset_is_not_loaded_and_can_be_completed(hub: Hub) -> None:
    test = hub.files.pop("data/test-00000-of-00001.parquet")
    with pytest.raises(ScaleError, match=r"tiny is not in .*, and the download of me/tiny was"):
        HubDataset("tiny", "me/tiny")("train", LoadOptions())
    assert find_hub_folder("me/tiny") is None
    hub.files["data/test-00000-of-00001.parquet"] = test
    hub.requests.clear()
    get_dataset("me/tiny")
    assert hub.requests == ["data/test-00000-of-00001.parquet"]  # the other is kept
    assert find_hub_folder("me/tiny") is not None


def test_only_missing_and_damaged_files_are_fetched(hub: Hub) -> None:
    folder = get_dataset("me/tiny")
    hub.requests.clear()
    get_dataset("me/tiny")
    assert hub.requests == []
    name, content = next(iter(hub.files.items()))
    (folder / name).write_bytes(b"?" * len(content))
    get_dataset("me/tiny")
    assert (folder / name).read_bytes() == content


def test_a_broken_connection_is_tried_again(hub: Hub) -> None:
    hub.break_next = True
    folder = get_dataset("me/tiny")
    for name, content in hub.files.items():
        assert (folder / name).read_bytes() == content
    assert len(hub.requests) == 3


def test_altered_content_is_refused(hub: Hub, own_cache: Path) -> None:
    name, content = next(iter(hub.files.items()))
    hub.files[name] = content[:500] + b"?" + content[501:]
    with pytest.raises(DamagedFileError, match="checksum"):
        get_dataset("me/tiny")
    assert find_hub_folder("me/tiny") is None
    hub.files[name] = content
    assert (get_dataset("me/tiny") / name).read_bytes() == content


def test_a_file_outside_the_folder_is_refused(hub: Hub, own_cache: Path) -> None:
    hub.listed["../../evil.parquet"] = "0" * 64
    with pytest.raises(ScaleError, match="outside"):
        get_dataset("me/tiny")
    assert not list(own_cache.parent.rglob("evil*"))


def test_a_dataset_the_hub_does_not_know_is_named(hub: Hub) -> None:
    with pytest.raises(ScaleError, match="me/other"):
        get_dataset("me/other")


def test_no_network_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with pytest.raises(ScaleError, match="check the name and the network") as caught:
        get_dataset("cifar10")
    assert "\n" not in str(caught.value)


def test_a_place_that_cannot_be_written_is_named(hub: Hub, own_cache: Path) -> None:
    own_cache.write_text("a file where the folder should be")
    with pytest.raises(ScaleError, match="set SCALE_CACHE"):
        get_dataset("me/tiny")


def test_two_processes_at_once_both_succeed(hub: Hub, own_cache: Path) -> None:
    code = "from scale.data import get_dataset; get_dataset('me/tiny')"
    both = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(2)]
    assert [process.wait() for process in both] == [0, 0]
    assert len(hub.requests) == 2


def test_without_huggingface_hub_it_says_what_to_install() -> None:
    code = (
        "import sys; sys.modules['huggingface_hub'] = None\n"
        "from scale.data import get_dataset\n"
        "try: get_dataset('mnist')\n"
        "except Exception as error: print(type(error).__name__, error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("ScaleError")
    assert "pip install 'scale-lifelong[hub]'" in done.stdout


def test_built_in_datasets_need_no_download() -> None:
    with pytest.raises(InputError, match="needs no download"):
        get_dataset("digits")
