"""A progress bar while images are embedded, for commands of the live learner."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from scale.commands._terminal import console


@contextlib.contextmanager
def embedding() -> Iterator[Callable[[int, int], None]]:
    """Yield the function to call with (done, total); it shows a bar on a terminal."""
    from rich.progress import MofNCompleteColumn, Progress

    screen = console()
    columns = (*Progress.get_default_columns(), MofNCompleteColumn())
    with Progress(*columns, console=screen, transient=True, disable=not screen.is_terminal) as bar:
        task = bar.add_task("embedding", total=None, visible=False)
        yield lambda done, total: bar.update(task, completed=done, total=total, visible=True)
