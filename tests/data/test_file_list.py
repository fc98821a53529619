"""A list of files on disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from scale._errors import DamagedFileError
from scale.data.file_list import STRIDE, FileList
from scale.data.listing import walk


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("a/b/2.png", "a/b/10.png", "a-b.png", "a/z.png", "c.png", "line\nbreak.png"):
        path = tmp_path / "photos" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    return tmp_path / "photos"


def test_any_part_of_the_list_can_be_read(tmp_path: Path) -> None:
    paths = [Path(f"folder/{i}.png") for i in range(2 * STRIDE + 3)]
    files = FileList.write(iter(paths), tmp_path / "list")
    assert len(files) == len(paths)
    assert list(files) == paths
    for part in (slice(0, 3), slice(STRIDE - 1, STRIDE + 2), slice(-2, None), slice(9999, None)):
        assert files[part] == paths[part]
    assert (files[0], files[STRIDE], files[-1]) == (paths[0], paths[STRIDE], paths[-1])


def test_names_of_any_bytes_are_kept(tmp_path: Path) -> None:
    paths = [Path("a\nb.png"), Path('"q".png'), Path(b"\xff.png".decode(errors="surrogateescape"))]
    assert list(FileList.write(paths, tmp_path / "list")) == paths


def test_new_changed_and_missing_files_are_counted(folder: Path, tmp_path: Path) -> None:
    files = FileList.write(walk(folder), tmp_path / "list")
    assert files.changes(walk(folder)) == (0, 0)
    (folder / "0.png").write_text("new, before all others")
    (folder / "a" / "b" / "11.png").write_text("new, in the middle")
    (folder / "z.png").write_text("new, after all others")
    assert files.changes(walk(folder)) == (3, 0)
    (folder / "c.png").unlink()
    (folder / "a" / "z.png").write_text("longer than before")
    assert files.changes(walk(folder)) == (3, 2)


def test_a_damaged_list_is_told(tmp_path: Path) -> None:
    files = FileList.write([Path("a.png")], tmp_path / "list")
    files.path.write_text("no JSON\n")
    with pytest.raises(DamagedFileError, match="--restart"):
        list(FileList(files.path))
