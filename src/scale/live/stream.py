"""Live pictures: network streams and cameras, which go away and come back."""

from __future__ import annotations

import time
from functools import partial
from typing import Any, ClassVar

from scale._errors import InputError
from scale.live.every import Every
from scale.live.intake import Intake, Item
from scale.live.reader import Reader, Tell
from scale.live.video import import_av, open_video, pixels_of

OPEN_SECONDS, READ_SECONDS = 10.0, 10.0
"""Time-outs: a source that says nothing for so long is gone."""
FIRST_WAIT, LONGEST_WAIT = 0.5, 60.0  # seconds before the next try


class StreamReader(Reader):
    """Reads a network stream or a camera; when it is gone, tries again and again.

    The time between two tries doubles from half a second to a minute. Frames that come while
    nobody can take them are lost, as they are without a camera.

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
        wait, told = FIRST_WAIT, False
        while not intake.stopping():
            frames, why = self._follow(intake, tell, told)
            intake.flush()
            if intake.stopping():
                return
            if frames or not told:
                message = f"{hide_password(self.uri)} is gone ({why}); trying again"
                intake.set_state("gone", message)
                tell(message)
            wait, told = FIRST_WAIT if frames else min(2 * wait, LONGEST_WAIT), True
            _sleep(intake, wait)

    def _follow(self, intake: Intake, tell: Tell, was_gone: bool) -> tuple[int, str]:
        """Read until the source is gone; return the number of frames, and why it is gone."""
        av, frames = import_av(), 0
        try:
            with self._open() as container:
                for frame in container.decode(video=0):
                    if not frames:
                        intake.set_state("ok", "")
                        tell(f"{hide_password(self.uri)} is {'back' if was_gone else 'there'}")
                    frames += 1
                    if not intake.put(Item(time.time(), partial(pixels_of, frame))):
                        break
        except InputError as error:
            return frames, str(error.__cause__ or error)
        except av.error.FFmpegError as error:
            return frames, error.strerror or str(error)
        return frames, "it ended"

    def _open(self) -> Any:
        timeout = (OPEN_SECONDS, READ_SECONDS)
        if self.is_device:
            return open_video(self.uri, format="v4l2", timeout=timeout)
        # Over UDP, lost packets smear the picture.
        options = {"rtsp_transport": "tcp"} if self.uri.lower().startswith("rtsp") else {}
        return open_video(self.uri, timeout=timeout, options=options)


def hide_password(uri: str) -> str:
    """Return an address without the password in it.

    Examples
    --------
    >>> hide_password("rtsp://me:secret@door:554/live")
    'rtsp://me:***@door:554/live'
    """
    scheme, slashes, rest = uri.partition("://")
    host, slash, path = rest.partition("/")
    user, at, place = host.rpartition("@")
    name, colon, _ = user.partition(":")
    return f"{scheme}{slashes}{name}{colon}{'***' if colon else ''}{at}{place}{slash}{path}"


def _sleep(intake: Intake, seconds: float) -> None:
    end = time.monotonic() + seconds
    while not intake.stopping() and time.monotonic() < end:
        time.sleep(0.05)
