"""Files of records: several writers, and writers that are killed."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

from scale._errors import DamagedFileError
from scale.bench.records import append_unique, read_records

WHOLE = b'{"job": "a", "benchmark": "psa"}\n'


def append(path: Path, *jobs: str) -> int:
    return append_unique(
        [{"job": job, "benchmark": "psa"} for job in jobs], path, lambda record: record["job"]
    )


def test_a_key_is_kept_once(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "records.jsonl"
    assert append(path, "a", "b", "a") == 2
    assert append(path, "b", "c") == 1
    assert [record["job"] for record in read_records([path])] == ["a", "b", "c"]


@pytest.mark.parametrize("half", [b'{"jo', b'{"job": "b', b"\xff"])
def test_half_a_line_of_a_killed_writer_is_passed_over_and_then_replaced(
    tmp_path: Path, half: bytes
) -> None:
    path = tmp_path / "records.jsonl"
    path.write_bytes(WHOLE + half)
    assert [record["job"] for record in read_records([path])] == ["a"]
    assert append(path, "b") == 1
    assert path.read_bytes() == WHOLE + WHOLE.replace(b'"a"', b'"b"')


def test_a_last_line_without_its_end_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    path.write_bytes(WHOLE.strip())
    assert append(path, "a", "b") == 1
    assert path.read_bytes() == WHOLE + WHOLE.replace(b'"a"', b'"b"')


def test_a_damaged_line_in_the_middle_is_an_error_and_nothing_is_written(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    path.write_bytes(b'{"jo\n' + WHOLE)
    with pytest.raises(DamagedFileError, match=r"records\.jsonl"):
        append(path, "b")
    assert path.read_bytes() == b'{"jo\n' + WHOLE


def test_writers_at_once_lose_nothing_and_write_nothing_twice(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    names = [f"{i:03d}" * 400 for i in range(40)]  # lines longer than one write of a pipe
    writers = [threading.Thread(target=lambda: [append(path, n) for n in names]) for _ in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    lines = path.read_text().splitlines()
    assert sorted(json.loads(line)["job"] for line in lines) == names
