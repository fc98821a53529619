"""Folders that receive images: unfinished, renamed, removed, hostile."""

from __future__ import annotations

import os
import struct
import threading
import zlib
from pathlib import Path

import pytest
from PIL import Image

from scale._errors import InputError
from scale.live import Store, Watcher
from tests.live.tools import LONG_AGO, TINY, make_frame, make_images, watch
from tests.waiting import until

PIXELS = 16  # of the patches learner: it needs no gradient, so these tests are about files


def named(out: Path) -> list[str]:
    with Store(out) as store:
        return [Path(row[0]).name for row in store.query("SELECT path FROM images ORDER BY id")]


def said(out: Path) -> dict[str, str]:
    with Store(out) as store:
        rows = store.query("SELECT path, said FROM files")
        return {Path(row["path"]).name: row["said"].split(":")[0] for row in rows}


@pytest.fixture
def watching(tmp_path):
    """A watcher of a folder with three images, with a running thread."""
    make_images(tmp_path / "in", 3)
    with Watcher(tmp_path / "live", [str(tmp_path / "in")], config=TINY) as watcher:
        until(lambda: len(watcher.store.waiting()) == 3)
        yield watcher


def test_what_is_there_comes_by_name_and_what_arrives_by_time(tmp_path):
    first = make_images(tmp_path / "in", 3)
    for path, when in zip(first, (3, 2, 1), strict=True):
        os.utime(path, (LONG_AGO + when, LONG_AGO + when))
    watch(tmp_path / "live", [tmp_path / "in"])
    later = make_images(tmp_path / "in" / "sub", 3, start=3)
    for path, when in zip(later, (30, 20, 10), strict=True):
        os.utime(path, (LONG_AGO + when, LONG_AGO + when))
    watch(tmp_path / "live", [tmp_path / "in"])
    assert named(tmp_path / "live") == [f"{i:03d}.png" for i in (0, 1, 2, 5, 4, 3)]


def test_a_file_that_is_being_written_is_read_when_it_is_whole(watching, tmp_path):
    Image.fromarray(make_frame(50)).save(tmp_path / "whole.png")
    content = (tmp_path / "whole.png").read_bytes()
    half = len(content) // 2
    with open(tmp_path / "in" / "slow.png", "wb", buffering=0) as file:
        file.write(content[:half])
        make_images(tmp_path / "in", 1, start=51)
        until(lambda: len(watching.store.waiting()) == 4)  # it has looked while half was there
        file.write(content[half:])
    until(lambda: len(watching.store.waiting()) == 5)
    row = watching.store.query("SELECT said FROM files WHERE path LIKE '%slow.png'")[0]
    assert row[0] == "taken"


def test_a_renamed_file_is_the_same_image(watching, tmp_path):
    (tmp_path / "in" / "001.png").rename(tmp_path / "in" / "other.png")
    sql = "SELECT said FROM files WHERE path LIKE '%other.png'"
    until(lambda: watching.store.query(sql))
    assert watching.store.query(sql)[0][0] == "renamed"
    assert len(watching.store.waiting()) == 3


def test_a_file_that_is_written_again_comes_again(watching, tmp_path):
    Image.fromarray(make_frame(99)).save(tmp_path / "in" / "001.png")
    until(lambda: len(watching.store.waiting()) == 4)


def test_a_removed_file_stays_in_the_store(watching, tmp_path):
    (tmp_path / "in" / "001.png").unlink()
    make_images(tmp_path / "in", 1, start=9, fresh=True)
    until(lambda: len(watching.store.waiting()) == 4)
    assert watching.store.pixels([2]).shape == (1, 3, 16, 16)


def test_a_folder_that_goes_away_is_read_again_when_it_is_back(tmp_path):
    told: list[str] = []
    make_images(tmp_path / "in", 2)
    source = str(tmp_path / "in")
    with Watcher(tmp_path / "live", [source], config=TINY, tell=told.append) as watcher:
        until(lambda: len(watcher.store.waiting()) == 2)
        (tmp_path / "in").rename(tmp_path / "away")
        until(lambda: told)
        assert "waiting until it is back" in told[0]
        assert watcher.status()["sources"][0]["state"] == "gone"
        make_images(tmp_path / "away", 1, start=2)
        (tmp_path / "away").rename(tmp_path / "in")
        until(lambda: len(watcher.store.waiting()) == 3)
    assert told[1] == f"{source} is back"


def test_the_folder_of_the_learner_inside_the_source_is_left_out(tmp_path):
    make_images(tmp_path, 3)
    watch(tmp_path / "live", [tmp_path])
    watch(tmp_path / "live", [tmp_path])
    assert len(named(tmp_path / "live")) == 3


def bomb() -> bytes:
    """Return a small PNG that claims 60,000 x 60,000 pixels."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        check = struct.pack(">I", zlib.crc32(kind + data))
        return struct.pack(">I", len(data)) + kind + data + check

    head = struct.pack(">IIBBBBB", 60000, 60000, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"0" * 999))


def test_hostile_files_are_counted_and_read_once(tmp_path):
    folder = tmp_path / "in"
    whole = make_images(folder, 2)[0].read_bytes()
    (tmp_path / "secret").mkdir()
    make_images(tmp_path / "secret", 1, start=7)
    hostile = {
        "bomb.png": bomb(),
        "cut.png": whole[: len(whole) // 2],
        "empty.jpg": b"",
        "page.jpg": b"<!doctype html><script>alert(1)</script>",
        "drawing.svg": b'<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>',
        "drawing.jpg": b'<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>',
        "text.png": b"PNG",
    }
    for name, content in hostile.items():
        (folder / name).write_bytes(content)
    with open(folder / "huge.jpg", "wb") as file:
        file.truncate(2_000_000_000)
    bad = {*hostile, "huge.jpg"}
    for name in bad:
        os.utime(folder / name, (LONG_AGO, LONG_AGO))
    (folder / "link.png").symlink_to(tmp_path / "secret" / "007.png")
    (folder / "links").symlink_to(tmp_path / "secret")
    (folder / ".hidden.png").write_bytes(whole)
    os.mkfifo(folder / "pipe.png")
    watch(tmp_path / "live", [folder])
    found = said(tmp_path / "live")
    assert {name for name, word in found.items() if word == "unreadable"} == bad
    assert named(tmp_path / "live") == ["000.png", "001.png"]
    with Store(tmp_path / "live") as store:
        assert store.query("SELECT SUM(count) FROM skips")[0][0] == len(bad)
        state, message = store.query("SELECT state, message FROM sources")[0]
    assert state == "ended"
    assert "bomb.png is skipped: " in message
    assert message.endswith(" (and 7 more)")
    watch(tmp_path / "live", [folder])
    with Store(tmp_path / "live") as store:
        assert store.query("SELECT SUM(count) FROM skips")[0][0] == len(bad)


@pytest.mark.parametrize(
    "name", [b"a\nb.png", b"\x1b[2J.png", b"\xff\xfe.png", "ü東.png".encode(), b"'; DROP.png"]
)
def test_a_name_may_be_anything(tmp_path, name):
    folder = tmp_path / "in"
    (path,) = make_images(folder, 1)
    os.rename(os.fsencode(path), os.fsencode(folder) + b"/" + name)
    watch(tmp_path / "live", [folder])
    watch(tmp_path / "live", [folder])
    assert len(named(tmp_path / "live")) == 1


@pytest.mark.slow
def test_thousands_of_files_at_once(tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    for i in range(3_000):
        Image.fromarray(make_frame(i, 4, 4)).save(folder / f"{i}.png", compress_level=1)
    watch(tmp_path / "live", [folder], batch_size=1000, method="patches", params={}, duplicates=0)
    assert sorted(named(tmp_path / "live")) == sorted(path.name for path in folder.iterdir())


def test_a_folder_that_cannot_be_read_is_refused_and_nothing_is_made(tmp_path):
    with pytest.raises(InputError, match=r"there is no .*nowhere; give a folder, a video file"):
        Watcher(tmp_path / "live", [str(tmp_path / "nowhere")], config=TINY)
    assert not (tmp_path / "live").exists()


def test_the_learners_own_folder_is_refused(tmp_path):
    Watcher(tmp_path / "live", config=TINY).close()
    with pytest.raises(InputError, match="itself"):
        Watcher(tmp_path / "live", [str(tmp_path / "live")], config=TINY)


def test_a_stop_during_the_first_images_goes_on_by_name(tmp_path):
    make_images(tmp_path / "in", 30)
    seen = threading.Event()
    watcher = Watcher(tmp_path / "live", [str(tmp_path / "in")], config=TINY, once=True)
    assert not watcher.run(lambda: bool(watcher.backlog.waiting) or seen.is_set())
    watcher.close()
    watch(tmp_path / "live", [tmp_path / "in"])
    assert named(tmp_path / "live") == [f"{i:03d}.png" for i in range(30)]
