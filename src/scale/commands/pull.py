"""The command ``scale pull``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from scale.commands._terminal import say


def pull(name: Positional[Annotated[str, arg(metavar="NAME")]], *, out: Path) -> None:
    """Get a learner that `scale push` put on the Hugging Face hub or in a folder.

    Args:
        name: owner/name on the hub, or a folder.
        out: The new folder for learner, export and model card.
    """
    from scale._hub import LEARNER
    from scale.hub import pull as pull_learner

    done = pull_learner(name, out)
    say(f"{', '.join(done.files)} in {out}")
    if LEARNER in done.files:
        say(f"embed images with it: scale embed {out / LEARNER} IMAGES --out z.npy")
