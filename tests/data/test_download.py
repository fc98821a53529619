"""Downloads, for real, from a small hub that runs in the test."""

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
    """One dataset, ``me/tiny``; can break off after some bytes, lie, or ignore ranges."""

    def __init__(self, files: dict[str, bytes]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.files = files
        self.listed = dict(files)
        self.break_after: int | None = None
        self.ranges = True
        self.requests: list[tuple[str, str | None]] = []

    def describe(self) -> dict[str, Any]:
        siblings = [
            {
                "rfilename": path,
                "size": len(content),
                "blobId": "0" * 40,
                "lfs": {
                    "sha256": hashlib.sha256(content).hexdigest(),
                    "size": len(content),
                    "pointerSize": 130,
                },
            }
            for path, content in self.listed.items()
        ]
        siblings.append({"rfilename": "README.md", "size": 3, "blobId": "1" * 40})
        return {"id": "me/tiny", "sha": COMMIT, "siblings": siblings}


class Handler(BaseHTTPRequestHandler):
    server: Hub

    def do_GET(self) -> None:
        path = self.path.split("?")[0]
        prefix = f"/datasets/me/tiny/resolve/{COMMIT}/"
        if path == "/api/datasets/me/tiny":
            self.answer(200, json.dumps(self.server.describe()).encode(), "application/json")
        elif path.startswith(prefix):
            self.send_file(path.removeprefix(prefix))
        else:
            self.answer(404, b"{}", "application/json")

    def send_file(self, name: str) -> None:
        if name not in self.server.files:
            self.answer(404, b"", "text/plain")
            return
        content, wanted = self.server.files[name], self.headers["Range"]
        self.server.requests.append((name, wanted))
        start = 0
        if wanted and self.server.ranges:
            start = int(wanted.removeprefix("bytes=").removesuffix("-"))
        self.answer(206 if start else 200, content[start:], "application/octet-stream")

    def answer(self, status: int, content: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        cut = self.server.break_after if kind.endswith("stream") else None
        self.wfile.write(content[:cut])

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


def test_a_dataset_of_which_one_file_arrived_is_not_taken_for_whole(hub: Hub) -> None:
    del hub.files["data/test-00000-of-00001.parquet"]
    with pytest.raises(ScaleError, match=r"tiny is not in .*, and the download of me/tiny was"):
        HubDataset("tiny", "me/tiny")("train", LoadOptions())
    assert find_hub_folder("me/tiny") is None


def test_what_is_there_is_not_fetched_again_unless_it_is_damaged(hub: Hub) -> None:
    folder = get_dataset("me/tiny")
    hub.requests.clear()
    get_dataset("me/tiny")
    assert hub.requests == []
    name, content = next(iter(hub.files.items()))
    (folder / name).write_bytes(b"?" * len(content))
    get_dataset("me/tiny")
    assert (folder / name).read_bytes() == content


@pytest.mark.parametrize("ranges", [True, False], ids=["with ranges", "ranges ignored"])
def test_an_interrupted_transfer_goes_on_where_it_stopped(hub: Hub, ranges: bool) -> None:
    hub.break_after = 1000
    with pytest.raises(ScaleError, match=r"interrupted.*run again"):
        get_dataset("me/tiny")
    with pytest.raises(InputError):
        load_dataset("me/tiny")
    hub.break_after, hub.ranges = None, ranges
    hub.requests.clear()
    folder = get_dataset("me/tiny")
    assert hub.requests[0][1] == "bytes=1000-"
    for name, content in hub.files.items():
        assert (folder / name).read_bytes() == content
    assert not list(folder.rglob("*.part"))


def test_altered_content_is_refused_and_thrown_away(hub: Hub, own_cache: Path) -> None:
    name, content = next(iter(hub.files.items()))
    hub.files[name] = content[:500] + b"?" + content[501:]
    with pytest.raises(DamagedFileError, match="checksum"):
        get_dataset("me/tiny")
    notes = (".lock", ".unfinished")
    assert not [f for f in own_cache.rglob("*") if f.is_file() and f.name not in notes]
    hub.files[name] = content
    assert (get_dataset("me/tiny") / name).read_bytes() == content


def test_a_file_outside_the_folder_is_refused(hub: Hub, own_cache: Path) -> None:
    hub.listed["../../evil.parquet"] = b"evil"
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
