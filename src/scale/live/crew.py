"""The threads that read sources: those that end one after the other, all others at once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

from scale.live.intake import Intake
from scale.live.reader import Reader, Tell

JOIN_SECONDS = 3.0  # a reader that hangs in its library is left behind; its thread is a daemon


class Crew:
    """Reads all sources, each through its intake.

    Parameters
    ----------
    readers
        The sources.
    open_intake
        Returns the intake of a source.
    tell
        Called with messages for the user.
    wake
        Called when a reader has ended.
    """

    def __init__(
        self,
        readers: Sequence[Reader],
        open_intake: Callable[[Reader], Intake],
        tell: Tell,
        wake: Callable[[], None],
    ) -> None:
        self.readers, self._open, self._tell, self._wake = readers, open_intake, tell, wake
        self.failure: BaseException | None = None
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        """Start to read."""
        ending = [reader for reader in self.readers if reader.ends]
        endless = [[reader] for reader in self.readers if not reader.ends]
        for group in ([ending] if ending else []) + endless:
            pairs = [(reader, self._open(reader)) for reader in group]
            thread = threading.Thread(target=self._read, args=(pairs,), daemon=True)
            self._threads.append(thread)
        for thread in self._threads:
            thread.start()

    def has_ended(self) -> bool:
        """Return whether all sources have come to their end."""
        return bool(self._threads) and not any(thread.is_alive() for thread in self._threads)

    def join(self) -> None:
        """Wait for the readers, which have been told to stop."""
        end = time.monotonic() + JOIN_SECONDS
        for thread in self._threads:
            thread.join(max(end - time.monotonic(), 0))

    def _read(self, pairs: list[tuple[Reader, Intake]]) -> None:
        try:
            for reader, intake in pairs:
                reader.read(intake, self._tell)
                intake.flush()
                if reader.ends and not intake.stopping():
                    intake.set_state("ended", None)
        except BaseException as error:  # the thread that learns raises it
            self.failure = error
        finally:
            self._wake()
