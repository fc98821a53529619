"""Video files and live streams, made here and real ones."""

from __future__ import annotations

import dataclasses
import functools
import http.server
import os
import struct
import threading
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from scale._errors import InputError
from scale.data.video import pixels_of
from scale.live import Store, Watcher
from scale.live.gate import Gate
from scale.live.stream import StreamReader
from tests.live.test_watcher import FAST
from tests.live.tools import TINY, make_frame, make_video, watch
from tests.waiting import until

av = pytest.importorskip("av")
VIDEOS = Path(os.environ.get("SCALE_DATA", "/nowhere")) / "video"


def counts(out: Path) -> dict[str, int]:
    with Store(out) as store:
        return {row[0]: row[1] for row in store.query("SELECT reason, count FROM skips")}


def test_every_frame_of_a_video_comes_once_and_the_end_ends_it(tmp_path):
    film = make_video(tmp_path / "film.avi", 6)
    watch(tmp_path / "live", [film], once=False, every="1f", duplicates=0)
    with Store(tmp_path / "live") as store:
        rows = store.query("SELECT path, taken, batch FROM images ORDER BY id")
        assert [row["path"] for row in rows] == [f"{film}#{i}" for i in range(1, 13)]
        assert np.allclose(np.diff([row["taken"] for row in rows]), 0.5)
        assert rows[-1]["batch"] == 2
    watch(tmp_path / "live", [film], once=False)
    with Store(tmp_path / "live") as store:
        assert len(store.query("SELECT id FROM images")) == 12


@pytest.mark.parametrize(("every", "taken"), [("1s", 6), ("3f", 4), ("100s", 1)])
def test_every_counts_seconds_or_frames(tmp_path, every, taken):
    film = make_video(tmp_path / "film.avi", 6)
    watch(tmp_path / "live", [film], every=every, method="patches", params={})
    with Store(tmp_path / "live") as store:
        assert len(store.query("SELECT id FROM images")) == taken
    assert counts(tmp_path / "live") == {"every": 12 - taken}


def test_times_that_go_back_a_little_do_not_make_frames_due():
    gate = Gate(dataclasses.replace(TINY, every="0.5s"))
    times = [0.04, 0.16, 0.24, 0.2, 0.28, 0.36, 0.32, 0.48, 0.44, 0.56, 0.52, 0.64]
    assert [one for one in times if gate.is_due(one)] == [0.04, 0.56]
    assert gate.is_due(-3600.0)  # the clock was set back
    assert not gate.is_due(-3600.1)


def test_a_portrait_that_lies_in_the_file_is_turned(tmp_path):
    path, turned = make_video(tmp_path / "film.mp4", 4), tmp_path / "turned.mp4"
    upright = struct.pack(">9i", 1 << 16, 0, 0, 0, 1 << 16, 0, 0, 0, 1 << 30)
    clockwise = struct.pack(">9i", 0, 1 << 16, 0, -(1 << 16), 0, 0, 0, 0, 1 << 30)
    head, found, tail = path.read_bytes().rpartition(upright)
    assert found
    turned.write_bytes(head + clockwise + tail)
    frames = []
    for one in (path, turned):
        with av.open(str(one)) as container:
            frames.append(pixels_of(next(container.decode(video=0))))
    assert np.array_equal(frames[1], np.rot90(frames[0], -1))
    watch(tmp_path / "live", [turned])
    with Store(tmp_path / "live") as store:
        assert {tuple(row) for row in store.query("SELECT width, height FROM images")} == {(48, 64)}


def test_videos_come_one_after_the_other(tmp_path):
    films = [make_video(tmp_path / f"{name}.avi", 3) for name in "ba"]
    watch(tmp_path / "live", films, duplicates=0, method="patches", params={})
    with Store(tmp_path / "live") as store:
        rows = store.query("SELECT path FROM images ORDER BY id")
        assert [Path(row[0]).name[0] for row in rows] == ["b"] * 6 + ["a"] * 6


def test_a_cut_video_gives_what_it_has(tmp_path):
    film = make_video(tmp_path / "film.avi", 20)
    content = film.read_bytes()
    film.write_bytes(content[: len(content) // 2])
    watch(tmp_path / "live", [film], method="patches", params={})
    with Store(tmp_path / "live") as store:
        assert 0 < len(store.query("SELECT id FROM images")) < 40


@pytest.mark.parametrize("content", [b"", b"no video", b"\x00" * 5000])
def test_a_file_that_is_no_video_is_refused_and_nothing_is_made(tmp_path, content):
    (tmp_path / "film.mp4").write_bytes(content)
    with pytest.raises(InputError, match=r"film\.mp4"):
        Watcher(tmp_path / "live", [str(tmp_path / "film.mp4")], config=TINY)
    assert not (tmp_path / "live").exists()


def test_an_address_of_another_kind_is_refused(tmp_path):
    with pytest.raises(InputError, match="give a folder, a video file, a stream"):
        Watcher(tmp_path / "live", ["gopher://door"], config=TINY)


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def serve(
    folder: Path, port: int = 0, handler: type[Quiet] = Quiet
) -> http.server.ThreadingHTTPServer:
    made = functools.partial(handler, directory=str(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", port), made)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def test_a_picture_is_asked_for_again_and_a_source_that_comes_back_is_followed(tmp_path):
    picture = tmp_path / "now.jpg"
    Image.fromarray(make_frame(1)).save(picture)
    server = serve(tmp_path)
    port = server.server_address[1]
    url = f"http://127.0.0.1:{port}/now.jpg"
    told: list[str] = []
    config = dataclasses.replace(FAST, every="0.05s")
    with Watcher(tmp_path / "live", [url], config=config, tell=told.append) as watcher:
        until(lambda: len(watcher.store.waiting()) == 1)
        Image.fromarray(make_frame(2)).save(tmp_path / "next.jpg")
        os.replace(tmp_path / "next.jpg", picture)
        until(lambda: len(watcher.store.waiting()) == 2)
        assert told == [f"{url} is there"]
        server.shutdown()
        server.server_close()
        until(lambda: watcher.status()["sources"][0]["state"] == "gone")
        server = serve(tmp_path, port)
        until(lambda: f"{url} is back" in told)
    server.shutdown()
    server.server_close()


class Plain(Quiet):
    """Says no length: the end of the connection is that of the answer, as of many cameras."""

    def end_headers(self):
        for name in (b"Content-Length", b"Last-Modified"):
            self._headers_buffer = [one for one in self._headers_buffer if name not in one]
        super().end_headers()


def test_a_picture_without_a_length_is_one_that_stays(tmp_path):
    Image.fromarray(make_frame(1)).save(tmp_path / "now.jpg")
    server = serve(tmp_path, handler=Plain)
    url = f"http://127.0.0.1:{server.server_address[1]}/now.jpg"
    told: list[str] = []
    config = dataclasses.replace(FAST, every="0.05s", duplicates=0)
    with Watcher(tmp_path / "live", [url], config=config, tell=told.append) as watcher:
        until(lambda: watcher.status()["images"] >= 3)
    assert told == [f"{url} is there"]
    server.shutdown()
    server.server_close()


def test_a_page_that_is_no_picture_is_told_once(tmp_path):
    (tmp_path / "index.html").write_text("<html>hello</html>" * 100)
    server = serve(tmp_path, handler=Plain)
    url = f"http://127.0.0.1:{server.server_address[1]}/index.html"
    told: list[str] = []
    with Watcher(tmp_path / "live", [url], config=FAST, tell=told.append):
        until(lambda: told)
    assert told == [f"{url} is gone (it sent no picture that can be decoded); trying again"]
    server.shutdown()
    server.server_close()


def test_a_recording_on_a_web_server_is_read_once(tmp_path):
    make_video(tmp_path / "film.avi", 3)
    server = serve(tmp_path)
    url = f"http://127.0.0.1:{server.server_address[1]}/film.avi"
    told: list[str] = []
    watcher = Watcher(tmp_path / "live", [url], config=FAST, tell=told.append)
    assert watcher.run()
    assert watcher.status()["sources"][0]["state"] == "ended"
    watcher.close()
    assert len(told) == 2
    assert told[1].startswith(f"{url} has ended; it was a recording; ")
    server.shutdown()
    server.server_close()


def test_a_stream_that_is_not_there_is_told_once_and_stopping_does_not_hang(tmp_path):
    server = serve(tmp_path)
    url = f"http://me:secret@127.0.0.1:{server.server_address[1]}/film.avi"
    told: list[str] = []
    with Watcher(tmp_path / "live", [url], config=FAST, tell=told.append) as watcher:
        until(lambda: told)
        status = watcher.status()
        assert status["sources"][0]["state"] == "gone"
    name = url.replace("secret", "***")
    assert told == [f"{name} is gone (Server returned 404 Not Found); trying again"]
    assert "secret" not in str(status)
    assert (tmp_path / "live" / "watch.json").stat().st_mode & 0o777 == 0o600
    server.shutdown()
    server.server_close()


def test_a_camera_is_a_live_source():
    assert (StreamReader("/dev/video0").kind, StreamReader("rtsp://x").kind) == ("camera", "stream")


@pytest.mark.skipif(not VIDEOS.is_dir(), reason="set SCALE_DATA to a folder with video/")
@pytest.mark.parametrize("name", ["bottles.mp4", "street.avi"])
def test_the_gate_is_sane_on_real_cameras(name):
    def gate(**options) -> Gate:
        return Gate(dataclasses.replace(TINY, every="1s", **options))

    plain, moving, crops = gate(), gate(motion=True), gate(crop="motion")
    said: list[tuple[str | None, str | None]] = []
    held = None
    with av.open(str(VIDEOS / name)) as container:
        for frame in container.decode(video=0):
            if not plain.is_due(frame.time):
                continue
            pixels = frame.to_ndarray(format="rgb24")
            said.append((plain.look(pixels).reason, moving.look(pixels).reason))
            for left, top, wide, high in crops.look(pixels).boxes:
                assert 0 <= left <= left + wide <= pixels.shape[1]
                assert 0 <= top <= top + high <= pixels.shape[0]
            held = pixels
            if len(said) == 20:
                break
    assert [one for one, _ in said].count(None) >= 14  # a scene that changes is taken
    assert "blank" not in {one for one, _ in said}
    assert said[0][1] == "still"
    for _ in range(3):  # a picture that stands still is a duplicate
        assert plain.look(held).reason in ("duplicate", None)
    assert plain.look(held).reason == "duplicate"
    rng = np.random.default_rng(0)
    dark = np.clip(rng.normal(8, 4, held.shape), 0, 255).astype(np.uint8)
    assert plain.look(dark).reason == "blank"  # a covered lens, with the noise of its sensor
