from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from scale._errors import ScaleError, UnwritableError
from scale._files import append_line, as_path, atomic_path, check_writable, write_atomic

LIMITED = """
import resource, signal, sys
from pathlib import Path
from scale._files import write_atomic
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    write_atomic(Path(sys.argv[1]), "x" * 5000)
except Exception as error:
    sys.exit(f"{type(error).__name__}: {error}")
"""
CUT_SHORT = """
import resource, signal, sys
from pathlib import Path
import numpy as np
from scale._files import atomic_path
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    with atomic_path(Path(sys.argv[1])) as part, open(part, "wb") as file:
        np.save(file, np.zeros(5000))
except Exception as error:
    sys.exit(f"{type(error).__name__}: {error}")
"""
KILLED = """
import sys
from pathlib import Path
from scale._files import atomic_path
with atomic_path(Path(sys.argv[1])) as part, open(part, "wb") as file:
    file.write(b"half of the new")
    file.flush()
    print("written", flush=True)
    sys.stdin.read()
"""


def names(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


@pytest.fixture
def target(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    return path


@pytest.mark.parametrize("content", ["text é", b"bytes\x00", "", b""])
def test_a_file_is_written_whole(content, tmp_path):
    path = tmp_path / "new" / "folder" / "file"
    write_atomic(path, content)
    assert path.read_bytes() == (content.encode() if isinstance(content, str) else content)
    assert names(path.parent) == ["file"]


def test_an_old_file_is_replaced(target):
    write_atomic(target, b"new")
    assert target.read_bytes() == b"new"


def test_the_old_file_is_there_until_the_new_one_is_whole(target):
    with atomic_path(target) as part:
        part.write_bytes(b"new")
        assert target.read_bytes() == b"old"
        assert part.parent == target.parent  # a rename between disks would not be atomic
    assert target.read_bytes() == b"new"


@pytest.mark.parametrize("error", [ValueError, OSError, KeyboardInterrupt])
def test_the_old_file_is_kept_when_the_writer_fails(error, target):
    def write_and_fail(part: Path) -> None:
        part.write_bytes(b"half of the")
        raise error

    with pytest.raises(error), atomic_path(target) as part:
        write_and_fail(part)
    assert target.read_bytes() == b"old"
    assert names(target.parent) == ["file"]


def test_the_old_file_is_kept_when_the_process_is_killed(target):
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, str(target)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout.readline() == b"written\n"
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
    assert target.read_bytes() == b"old"
    write_atomic(target, b"new")  # what the killed process left behind is not in the way
    assert target.read_bytes() == b"new"


def test_what_a_killed_process_left_is_hidden_and_named_after_the_file(target):
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, str(target)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        process.stdout.readline()
        process.kill()
    left = [name for name in names(target.parent) if name != "file"]
    assert all(name.startswith(".file.") and name.endswith(".part") for name in left)


def test_a_full_disk_is_told_and_keeps_the_old_file(small_disk):
    disk = small_disk("64k")
    write_atomic(disk / "file", b"old")
    with pytest.raises(ScaleError, match=r"no space left on the disk of .*file is unchanged"):
        write_atomic(disk / "file", b"x" * 200_000)
    assert (disk / "file").read_bytes() == b"old"
    assert names(disk) == ["file"]


def test_an_array_that_the_disk_cannot_take_is_told(small_disk):
    disk = small_disk("64k")
    with (
        pytest.raises(UnwritableError, match="no space left on the disk of"),
        atomic_path(disk / "z.npy") as part,
        open(part, "wb") as file,
    ):
        np.save(file, np.zeros(100_000))
    assert names(disk) == []


def test_an_array_that_is_cut_short_is_told(target):
    done = subprocess.run(
        [sys.executable, "-c", CUT_SHORT, str(target)], capture_output=True, text=True, check=False
    )
    assert done.stderr.startswith("UnwritableError: no space left")
    assert target.read_bytes() == b"old"
    assert names(target.parent) == ["file"]


@pytest.mark.parametrize("write", [write_atomic, append_line])
@pytest.mark.parametrize(
    ("place", "reason"),
    [
        ("file/below/z", "cannot write .*below/z: a file is where a folder .* another place"),
        ("file/z", "cannot write .*file/z: a file is where a folder on its path should be"),
        ("folder", "cannot write .*folder: it is a folder; choose another place"),
        ("z" * 300, "cannot write .*: its name is too long"),
    ],
)
def test_a_place_that_cannot_be_written_is_told(write, place, reason, target):
    (target.parent / "folder").mkdir()
    with pytest.raises(UnwritableError, match=reason):
        write(target.parent / place, "new")
    assert target.read_bytes() == b"old"
    assert names(target.parent) == ["file", "folder"]
    assert names(target.parent / "folder") == []


@pytest.mark.skipif(os.geteuid() == 0, reason="permissions do not bind root")
@pytest.mark.parametrize("write", [write_atomic, append_line])
def test_a_folder_without_permission_is_told(write, tmp_path):
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(UnwritableError, match="permission denied; choose another place"):
            write(tmp_path / "file", "new")
    finally:
        tmp_path.chmod(0o700)


def test_lines_are_added_whole_or_not_at_all(target):
    append_line(target.parent / "new" / "lines", "first")
    append_line(target.parent / "new" / "lines", "second")
    assert (target.parent / "new" / "lines").read_text() == "first\nsecond\n"
    done = subprocess.run(
        [sys.executable, "-c", LIMITED.replace("write_atomic", "append_line"), str(target)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr.startswith("UnwritableError: no space left")
    assert target.read_bytes() == b"old"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="the system has no full device")
def test_a_full_device_is_told():
    with pytest.raises(UnwritableError, match="no space left"):
        append_line(Path("/dev/full"), "line")


def test_a_pipe_gets_the_data_and_stays_a_pipe(target):
    pipe = target.parent / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE) as reader:
        write_atomic(pipe, "news")
        assert reader.communicate()[0] == b"news"
    assert pipe.is_fifo()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes devices")
def test_a_full_device_is_told_and_stays_a_device(target):
    device = target.parent / "full"
    try:
        os.mknod(device, 0o666 | stat.S_IFCHR, os.makedev(1, 7))
        open(device, "rb").close()
    except OSError:
        pytest.skip("devices cannot be made or opened here")
    with pytest.raises(UnwritableError, match="no space left"):
        write_atomic(device, "news")
    assert device.is_char_device()


def test_a_link_stays_and_the_file_behind_it_is_replaced(target):
    link = target.parent / "link"
    link.symlink_to(target.name)
    write_atomic(link, "news")
    assert link.is_symlink()
    assert target.read_text() == "news"


def test_a_place_that_is_tried_stays_as_it_was(tmp_path):
    check_writable(tmp_path / "a" / "b" / "new")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "old").write_text("old")
    check_writable(tmp_path / "old")
    assert [path.name for path in tmp_path.iterdir()] == ["old"]
    with pytest.raises(UnwritableError, match="a file is where a folder on its path should be"):
        check_writable(tmp_path / "old" / "new")


def test_a_limit_on_file_size_is_told_and_keeps_the_old_file(target):
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(target)], capture_output=True, text=True, check=False
    )
    assert done.stderr.startswith("UnwritableError: ")
    assert target.read_bytes() == b"old"
    assert names(target.parent) == ["file"]


def test_a_new_file_has_the_permissions_of_any_new_file(tmp_path):
    (tmp_path / "plain").write_bytes(b"")
    write_atomic(tmp_path / "ours", b"")
    plain, ours = (stat.S_IMODE(os.stat(tmp_path / name).st_mode) for name in ("plain", "ours"))
    assert ours == plain


def test_no_file_handle_is_left_open(target):
    before = len(os.listdir("/dev/fd"))
    for number in range(5):
        write_atomic(target, str(number))
    assert len(os.listdir("/dev/fd")) == before


def test_what_a_killed_writer_left_is_swept_by_the_next_and_a_living_one_is_spared(
    tmp_path: Path,
) -> None:
    old, young, other = (tmp_path / name for name in (".a.x.part", ".a.y.part", ".b.x.part"))
    for left in (old, young, other):
        left.write_bytes(b"half")
    for left in (old, other):
        os.utime(left, (0, 0))
    write_atomic(tmp_path / "a", "whole")
    assert not old.exists()
    assert young.exists()
    assert other.exists()


@pytest.mark.parametrize("wrong", [None, 3, b"x", "", "a\0b", "x" * 300, "a/" + "é" * 128 + "/b"])
def test_what_cannot_be_a_path_is_refused(wrong):
    with pytest.raises(ScaleError, match=r"out must be a path"):
        as_path("out", wrong)
    assert as_path("out", "a/b") == Path("a/b")
