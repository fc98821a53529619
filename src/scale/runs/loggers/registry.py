"""What a logger is, and loggers by name."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar, Protocol

from scale._errors import InputError
from scale._registry import Registry


class Logger(Protocol):
    """Sends a run's numbers and pictures somewhere.

    A package offers one through the entry-point group ``scale.logger``. If any function raises, the
    run goes on without the logger.

    Parameters
    ----------
    folder
        Folder of the run.
    name
        Name of the run, to show.
    run_id
        The `run_id` of the logger that a stopped run had; None for a new one.
    """

    package: ClassVar[str]
    """The package that it needs, which must be installed; a logger may leave this out."""
    run_id: str
    """Name of the logger's own run; a resumed run continues it."""

    def __init__(self, folder: Path, name: str, run_id: str | None) -> None: ...

    def config(self, values: dict[str, str]) -> None:
        """Keep the options of the run."""

    def metrics(self, values: dict[str, float], step: int) -> None:
        """Keep numbers by name, after `step` images of the stream."""

    def picture(self, name: str, path: Path) -> None:
        """Keep a PNG file."""

    def close(self) -> None:
        """Write everything to its place."""


LOGGERS: Registry[type[Logger]] = Registry("logger")
register_logger = LOGGERS.register


def check_loggers(names: list[str]) -> None:
    """Raise `InputError` for a logger that is not known, or whose package is not installed."""
    for name in names:
        package: Any = getattr(LOGGERS[name], "package", None)
        if isinstance(package, str) and find_spec(package) is None:
            ours = LOGGERS[name].__module__.startswith("scale.")
            what = f"'scale-lifelong[{name}]'" if ours else package
            raise InputError(f"--log {name} needs {package}; run: pip install {what}")
