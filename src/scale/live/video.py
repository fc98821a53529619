"""Frames of a video file, of which none is lost and none comes twice."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from scale._errors import InputError
from scale._files import check_file
from scale.data.video import import_av, open_video, pixels_of
from scale.live.every import Every
from scale.live.intake import UNREADABLE, Intake, Item
from scale.live.reader import Reader, Tell

USUAL_RATE = 25.0  # frames per second of a video that does not say it


class VideoReader(Reader):
    """Reads a video file once, frame by frame.

    After a stop it goes on at the frame after the last one; all frames before it are decoded
    again, because seeking is not exact in all formats. A file that was replaced is read from its
    start.

    Parameters
    ----------
    uri
        The file.
    """

    kind = "video"
    every: ClassVar[Every | None] = Every(0.5, "s")

    @property
    def ends(self) -> bool:
        return True

    def check(self) -> None:
        check_file_is_video(self.uri)

    def read(self, intake: Intake, tell: Tell) -> None:
        about = os.stat(self.uri)
        stamp = f"{about.st_size}:{about.st_mtime_ns}"
        if intake.position.get("stamp") not in (None, stamp):
            tell(f"{self.uri} is another video than before; reading it from its start")
            intake.position = {}
        if intake.position.get("ended"):
            tell(f"{self.uri} was read to its end before")
            return
        intake.set_state("ok", "")
        done, number = intake.position.get("frame", 0), 0
        with open_video(self.uri) as container:
            start = about.st_mtime - length_of(container)
            for number, frame in enumerate(self._frames(container, intake, start), start=1):
                if number <= done:
                    if intake.stopping():
                        return
                    continue
                position = {"stamp": stamp, "frame": number}
                taken = start + seconds_of(frame, number)
                path = f"{self.uri}#{number}"
                if not intake.put(Item(taken, partial(pixels_of, frame), path, position=position)):
                    return
        intake.move_to({"stamp": stamp, "frame": number, "ended": True})

    def _frames(self, container: Any, intake: Intake, start: float) -> Iterator[Any]:
        """Yield all frames; damaged parts are counted and passed over."""
        av = import_av()
        for packet in container.demux(container.streams.video[0]):
            try:
                yield from packet.decode()
            except av.error.FFmpegError:
                intake.count(UNREADABLE, start)


def check_file_is_video(path: str) -> None:
    """Raise `InputError` unless a file is a video with a frame that can be decoded."""
    check_file(Path(path))
    av = import_av()
    with open_video(path) as container:
        try:
            found = next(iter(container.decode(video=0)), None)
        except av.error.FFmpegError:  # a damaged start; there may be more
            return
    if found is None:
        raise InputError(f"{path} has no frame that can be decoded; give a video")


def seconds_of(frame: Any, number: int) -> float:
    """Return when a frame is shown, in seconds since the start; `number` counts from 1."""
    return (number - 1) / USUAL_RATE if frame.time is None else float(frame.time)


def length_of(container: Any) -> float:
    """Return the length of a video in seconds; 0 if it does not say it."""
    return 0.0 if container.duration is None else container.duration / 1e6
