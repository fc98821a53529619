"""The command ``scale serve``."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from scale.commands._terminal import say


def serve(
    folder: Positional[Annotated[Path, arg(metavar="DIR")]],
    *,
    address: Annotated[str, arg(metavar="[HOST:]PORT")] = "8765",
) -> None:
    """Show the page of a live learner without learning. Ctrl-C ends it.

    Args:
        folder: Folder of the live learner: the --out of scale watch.
        address: Where. Without a host, this machine only. With another host, for example
            0.0.0.0:8765, the page asks for a token.
    """
    from scale.live import Knowledge
    from scale.live.serving import parse_address, serving

    parse_address(address)
    with (
        Knowledge.open(folder, lambda text: say(f"warning: {text}")) as knowledge,
        serving(address, knowledge) as page,
    ):
        say(f"the page is at {page}")
        threading.Event().wait()
