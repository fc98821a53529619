"""From what the user gave to the reader of it."""

from __future__ import annotations

import os
import re
from pathlib import Path

from scale._errors import InputError
from scale._files import as_path
from scale._names import check_text
from scale.live.config import WatchConfig
from scale.live.folder import FolderReader
from scale.live.reader import Reader

_URL = re.compile(r"(rtsp|rtsps|rtmp|http|https|udp|tcp|srt)://\S+", re.IGNORECASE)
_DEVICE = re.compile(r"/dev/video[0-9]+")
_KINDS = "a folder, a video file, a stream (rtsp://... or http://...) or a camera (/dev/video0)"


def make_reader(source: str, config: WatchConfig, *, once: bool, out: Path) -> Reader:
    """Return the reader of a source that is there.

    Parameters
    ----------
    source
        A folder, a video file, the address of a stream, or a camera's device.
    config
        Options of the live learner.
    once
        End after what a folder holds.
    out
        Folder of the live learner.

    Raises
    ------
    InputError
        There is no such source, or it cannot be read.
    """
    check_text("source", source)
    if _URL.fullmatch(source) or _DEVICE.fullmatch(source):
        from scale.live.stream import StreamReader

        reader: Reader = StreamReader(source)
    elif "://" in source:
        raise InputError(f"cannot watch {source}; give {_KINDS}")
    else:
        reader = _of_path(Path(source).expanduser(), config, once, out)
    reader.check()
    return reader


def _of_path(path: Path, config: WatchConfig, once: bool, out: Path) -> Reader:
    whole = os.path.realpath(as_path("a source", path))
    if os.path.isdir(whole):
        if whole == os.path.realpath(out):
            raise InputError(f"{path} is the folder of the live learner itself; give another one")
        return FolderReader(whole, once=once, poll_seconds=config.poll_seconds, leave_out=Path(out))
    if os.path.isfile(whole):
        from scale.live.video import VideoReader

        return VideoReader(whole)
    raise InputError(f"there is no {path}; give {_KINDS}")
