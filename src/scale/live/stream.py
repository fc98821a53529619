"""Live pictures: network streams and cameras, which go away and come back."""

from __future__ import annotations

import errno
import time
from functools import partial
from typing import Any, ClassVar

from scale._errors import InputError
from scale.data.video import import_av, open_video, pixels_of
from scale.live.every import Every
from scale.live.intake import Intake, Item
from scale.live.reader import Reader, Tell

OPEN_SECONDS, READ_SECONDS = 10.0, 10.0
"""Time-outs: a source that says nothing for so long is gone."""
SILENT = f"it said nothing for {READ_SECONDS:.0f} seconds"
RECORDING = "it was a recording; to watch all of its frames, download it and give the file"
PICTURE = "it is one picture"
NOTHING = "it sent no picture that can be decoded"
BROKEN = "the connection broke off"
FIRST_WAIT, LONGEST_WAIT = 0.5, 60.0  # seconds before the next try
STEADY = 10.0  # seconds after which a source is not one that comes and goes


class StreamReader(Reader):
    """Reads a network stream or a camera; when it is gone, tries again and again.

    The time between two tries doubles from half a second to a minute, until the source goes on for
    ten seconds. Frames that come while nobody can take them are lost, as they are without a camera.
    An address that answers with one picture, the snapshot of a camera, is asked again and again. A
    recording on a web server is read once.

    Parameters
    ----------
    uri
        Address of a stream, or the device of a camera.
    """

    live: ClassVar[bool] = True
    every: ClassVar[Every | None] = Every(0.5, "s")

    def __init__(self, uri: str) -> None:
        super().__init__(uri)
        self.is_device = uri.startswith("/dev/")
        self.kind = "camera" if self.is_device else "stream"

    def check(self) -> None:
        import_av()  # whether the source is there shows later; it may come back

    def read(self, intake: Intake, tell: Tell) -> None:
        wait, state = FIRST_WAIT, "new"
        while not intake.stopping():
            began = time.monotonic()
            frames, why = self._follow(intake, tell, state)
            intake.flush()
            if intake.stopping():
                return
            if why == RECORDING and self.uri.lower().startswith("http"):
                intake.set_state("ended", why)
                tell(f"{self.name} has ended; {why}")
                return
            if why == PICTURE:
                state = "ok"
                _sleep(intake, _seconds_of(intake.gate.every))
                continue
            if frames or state != "gone":
                intake.set_state("gone", f"{why}; trying again")
                tell(f"{self.name} is gone ({why}); trying again")
            steady = frames and time.monotonic() - began >= STEADY
            wait, state = FIRST_WAIT if steady else min(2 * wait, LONGEST_WAIT), "gone"
            _sleep(intake, wait)

    def _follow(self, intake: Intake, tell: Tell, state: str) -> tuple[int, str]:
        """Read until the source ends or is gone; return the number of frames, and why it is."""
        av, frames, ended = import_av(), 0, "it ended"
        heard = time.monotonic()
        try:
            with self._open() as container:
                if _is_picture(container):
                    ended = PICTURE
                elif container.duration:
                    ended = RECORDING
                for frame in container.decode(video=0):
                    if not frames and state != "ok":
                        intake.set_state("ok", "")
                        tell(f"{self.name} is {'back' if state == 'gone' else 'there'}")
                    frames, heard = frames + 1, time.monotonic()
                    if not intake.put(Item(time.time(), partial(pixels_of, frame))):
                        break
        except InputError as error:
            return frames, _reason(error.__cause__ or error, frames, heard)
        except av.error.FFmpegError as error:
            # A server that does not say how long a picture is ends it by closing the connection.
            whole = frames and ended == PICTURE
            return frames, PICTURE if whole else _reason(error, frames, heard)
        return frames, ended if frames else NOTHING

    def _open(self) -> Any:
        timeout = (OPEN_SECONDS, READ_SECONDS)
        if self.is_device:
            return open_video(self.uri, format="v4l2", timeout=timeout)
        # Over UDP, lost packets smear the picture.
        options = {"rtsp_transport": "tcp"} if self.uri.lower().startswith("rtsp") else {}
        return open_video(self.uri, timeout=timeout, options=options)


def _is_picture(container: Any) -> bool:
    """Return whether an address answers with one picture instead of a stream."""
    name = str(container.format.name)
    return name.endswith("_pipe") or name == "image2"


def _seconds_of(every: Every | None) -> float:
    """Return the time after which the next picture is asked for."""
    return every.amount if every is not None and every.unit == "s" else FIRST_WAIT


def _reason(error: BaseException, frames: int, heard: float) -> str:
    """Return why a source is gone; the address, which may hold a password, is not in it."""
    av = import_av()
    if isinstance(error, av.error.ExitError) or time.monotonic() - heard >= READ_SECONDS:
        return SILENT
    if isinstance(error, av.error.InvalidDataError):
        return NOTHING
    if getattr(error, "errno", None) == errno.EIO:  # no stream, or the end of one
        return BROKEN if frames else NOTHING
    return getattr(error, "strerror", None) or str(error)


def _sleep(intake: Intake, seconds: float) -> None:
    end = time.monotonic() + seconds
    while not intake.stopping() and time.monotonic() < end:
        time.sleep(0.05)
