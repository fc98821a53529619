"""How a command ends that does not succeed: one line on standard error, and an exit status."""

from __future__ import annotations

import errno
import os
import platform
import sysconfig
import tempfile
import traceback
from pathlib import Path

from scale._errors import ScaleError
from scale._output import LostOutputError, tell
from scale._text import shell_line
from scale.commands._signals import stopped_by

MISTAKE, BUG = 2, 70
SHOW = "SCALE_TRACEBACK"
"""Environment variable: with a value, unexpected errors end in their traceback."""


def end(error: BaseException, arguments: list[str]) -> int:
    """Say why a command failed and return its exit status."""
    if isinstance(error, LostOutputError):
        return _without_output(error)
    if isinstance(error, ScaleError):
        tell(str(error))
        return error.exit_status
    number = stopped_by(error)
    if number is not None:
        tell("stopped at once; what was saved before is kept")
        return 128 + number
    if isinstance(error, OSError):  # for example a failing disk or a locked folder
        tell(_system_reason(error))
        return MISTAKE
    if _is_out_of_memory(error):
        tell(
            "there is not enough memory for this; take smaller images or batches, a smaller "
            "memory or encoder, or close other programs"
        )
        return MISTAKE
    if os.environ.get(SHOW):
        raise error
    return _unexpected(error, arguments)


def _without_output(error: LostOutputError) -> int:
    if error.errno == errno.EPIPE:  # the reader has enough, as `head` does
        return 0
    tell(f"cannot write the output: {error.strerror or error}")
    return MISTAKE


def _system_reason(error: OSError) -> str:
    reason = error.strerror or str(error) or type(error).__name__
    return reason if error.filename is None else f"{error.filename}: {reason}"


def _is_out_of_memory(error: BaseException) -> bool:
    torch_has_none = isinstance(error, RuntimeError) and "allocate memory" in str(error)
    return (
        isinstance(error, MemoryError)
        or torch_has_none
        or type(error).__name__ == "OutOfMemoryError"
    )


def _unexpected(error: BaseException, arguments: list[str]) -> int:
    """Keep the traceback in a file, and say whose code failed."""
    path = _keep_report(error, arguments)
    kept = f"the traceback is in {path}" if path else f"{SHOW}=1 shows the traceback"
    first = next((line.strip() for line in str(error).split("\n") if line.strip()), "")
    what = f"{type(error).__name__}: {first}" if first else type(error).__name__
    own = _own_code(error)
    if own is not None:
        tell(f"your code failed at {own.filename}:{own.lineno}: {what}; {kept}")
        return MISTAKE
    deep = " (is the input nested very deeply?)" if isinstance(error, RecursionError) else ""
    tell(f"this is a bug in scale, please report it: {what}{deep}; {kept}")
    return BUG


def _own_code(error: BaseException) -> traceback.FrameSummary | None:
    """Return the last frame in code of the user: neither of this package nor of its libraries."""
    ours = str(Path(__file__).parents[1])
    places = sysconfig.get_paths()
    libraries = [places[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if not frame.filename.startswith((ours, "<", *libraries)):
            return frame
        if frame.filename.startswith(ours):
            return None
    return None


def _keep_report(error: BaseException, arguments: list[str]) -> Path | None:
    """Write the traceback to a file in the folder for temporary files, or in this one."""
    from scale import __version__

    head = (
        f"{shell_line(['scale', *arguments])}\nscale {__version__}, Python "
        f"{platform.python_version()}, {platform.platform()}\n"
    )
    # A short form: a recursion has a thousand frames.
    text = head + "".join(traceback.format_exception(error, limit=-60))
    for folder in (None, os.curdir):
        try:
            handle, name = tempfile.mkstemp(prefix="scale-bug-", suffix=".txt", dir=folder)
            with open(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
                file.write(text)
        except OSError:
            continue
        return Path(name)
    return None
