"""The store: all or nothing, from any thread and process."""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path

import numpy as np
import pytest

from scale._errors import DamagedFileError, InputError, UnwritableError
from scale.live import Store, WatchConfig
from scale.live.events import EventLog
from scale.live.gate import Gate
from scale.live.kept import reading
from scale.live.pictures import make_picture
from scale.live.watchfulness import Watchfulness
from tests.processes import run_code


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "live", create=True) as made:
        yield made


def frame(seed: int = 0, height: int = 24, width: int = 40) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)


def fill(store: Store, n: int) -> list[int]:
    source = store.source("program", "program")
    return [store.add_image(source, make_picture(frame(i), 16), taken=float(i)) for i in range(n)]


def test_images_are_numbered_in_order_of_arrival_and_keep_their_pixels(store):
    square = frame(3, 16, 16)
    source = store.source("program", "program")
    assert fill(store, 2) == [1, 2]
    assert store.add_image(source, make_picture(square, 16), taken=5.0, path="a\nb.jpg") == 3
    assert np.array_equal(store.pixels([3])[0], square.transpose(2, 0, 1))
    row = store.row(3)
    assert (row["taken"], row["path"], row["width"], row["kept"]) == (5.0, "a\nb.jpg", 16, 1)


def test_pixels_come_in_the_order_asked_for_and_twice_if_asked_twice(store):
    ids = fill(store, 3)
    asked = [ids[2], ids[0], ids[2]]
    found = store.pixels(asked)
    assert np.array_equal(found, np.concatenate([store.pixels([i]) for i in asked]))


def test_pixels_of_many_images_come_in_one_call(store):
    with store.transaction():
        ids = fill(store, 1100)
    assert store.pixels(ids).shape == (1100, 3, 16, 16)


def test_a_crop_is_what_lies_in_its_box(store):
    whole = frame(1)
    picture = make_picture(whole, 8, (4, 2, 8, 8))
    number = store.add_image(store.source("x", "program"), picture, taken=0.0)
    assert np.array_equal(store.pixels([number])[0], whole[2:10, 4:12].transpose(2, 0, 1))
    assert store.row(number)["box"] == "[4, 2, 8, 8]"


def test_a_block_that_fails_changes_nothing(store):
    fill(store, 1)

    def fail() -> None:
        with store.transaction():
            fill(store, 2)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert store.waiting() == [1]
    assert fill(store, 1) == [2]


def test_the_journal_takes_images_once_and_in_order(store):
    ids = fill(store, 5)
    assert store.journal(ids[:2], steps=5) == 1
    assert store.waiting() == ids[2:]
    assert store.journal(ids[2:4], steps=3) == 2
    assert (store.batch_images(1), store.batch_images(2)) == (ids[:2], ids[2:4])
    assert [tuple(r) for r in store.query("SELECT id, steps FROM batches")] == [(1, 5), (2, 3)]


def test_removed_images_are_still_known(store):
    ids = fill(store, 3)
    store.thumbnail(ids[0])
    with store.transaction() as db:
        db.execute("INSERT INTO embeddings VALUES (1, 0, x'00')")
    store.remove(ids[:2])
    assert store.row(ids[0])["kept"] == 0
    assert not store.thumbnail_path(ids[0]).exists()
    assert store.query("SELECT * FROM embeddings") == []
    with pytest.raises(InputError, match="image 2 are no longer"):
        store.pixels([3, 2])


def test_a_lost_thumbnail_is_made_again(store):
    (number,) = fill(store, 1)
    store.thumbnail(number).unlink()
    assert store.thumbnail(number).stat().st_size > 0


def test_images_between_two_times_are_spread_evenly_if_there_are_many(store):
    fill(store, 10)
    assert [r["taken"] for r in store.between(2.0, 9.0)] == [2, 3, 4, 5, 6, 7, 8]
    assert [r["taken"] for r in store.between(0.0, 10.0, limit=4)] == [0, 3, 6, 9]


def test_threads_write_at_the_same_time(store):
    def work(name: str) -> None:
        source = store.source(name, "program")
        for i in range(20):
            store.add_image(source, make_picture(frame(i), 16), taken=0.0)

    threads = [threading.Thread(target=work, args=(f"p{i}",)) for i in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert store.waiting() == list(range(1, 81))
    assert {r[0] for r in store.query("SELECT COUNT(*) FROM images GROUP BY source")} == {20}


@pytest.mark.slow
def test_another_process_reads_while_one_writes(store):
    fill(store, 2)
    code = "import sys; from scale.live import Store; print(Store(sys.argv[1]).waiting())"
    with store.transaction():
        fill(store, 1)
        assert run_code(code, str(store.folder)) == ("[1, 2]\n", "")


def test_a_folder_without_a_store_is_refused(tmp_path):
    with pytest.raises(InputError, match="holds no live learner"):
        Store(tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("content", [b"not a database at all" * 100, None])
def test_another_database_is_refused(tmp_path, content):
    path = tmp_path / "store.sqlite"
    if content is None:
        sqlite3.connect(path).execute("CREATE TABLE birds (name TEXT)")
    else:
        path.write_bytes(content)
    with pytest.raises(DamagedFileError):
        Store(tmp_path)


def test_a_store_of_another_version_is_refused(store):
    store.set_meta("version", "0")
    with pytest.raises(DamagedFileError, match="'0'"):
        Store(store.folder)


@pytest.mark.parametrize("text", ['{"x', "[]", "null", '{"nearest": 3, "judged": "x"}'])
def test_texts_that_are_damaged_get_a_message(store, text):
    store.set_meta("novelty", text)
    with pytest.raises(DamagedFileError, match="what is known to novelty"):
        Watchfulness(store)
    with store.connections.transaction() as db:
        row = (1, "new", 1, 0.0, "open", 0.5, 0.4, 3, text)
        names = "id, kind, image, opened, state, score, threshold, count, why"
        db.execute(f"INSERT INTO events ({names}) VALUES ({', '.join('?' * 9)})", row)
    with pytest.raises(DamagedFileError, match="event 1"):
        EventLog(store).all()


def test_a_damaged_gate_gets_a_message(store):
    gate = Gate(WatchConfig())
    with (
        pytest.raises(DamagedFileError, match=r"store.sqlite is damaged \(the gate: 'last'\)"),
        reading(store.path, "the gate"),
    ):
        gate.load('{"frames": 1}')


def test_a_file_that_may_not_grow_gives_a_message_and_no_half_image(store, limit_files):
    source = store.source("x", "program")
    noise = make_picture(frame(0, 64, 64), 64)

    def add_many():
        for _ in range(100):
            store.add_image(source, noise, taken=0.0)

    limit_files(300_000)
    with pytest.raises(UnwritableError):
        add_many()
    ids = store.waiting()
    assert 0 < len(ids) < 100
    assert len(store.pixels(ids)) == len(ids)


def test_a_read_only_folder_gives_a_message(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot make the folder"):
        Store(Path(tmp_path / "file" / "live"), create=True)
