"""The command ``scale push``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from scale.commands._terminal import say


def push(
    run: Positional[Annotated[Path, arg(metavar="RUN")]],
    name: Positional[Annotated[str, arg(metavar="NAME")]],
    *,
    learner: bool = True,
    licence: str | None = None,
    private: bool = False,
) -> None:
    """Put a run's learner, its ONNX export and a model card on the Hugging Face hub.

    Args:
        run: Folder of a run, finished or not, or of a live learner, or a saved learner.
        name: owner/name on the hub, or a folder: an existing one, or a path that begins with
            /, ./ or ~.
        learner: Also push the learner itself. It holds the images in its memory, so others can see
            them.
        licence: Licence of the model for its card, for example mit.
        private: Make a new model on the hub private.
    """
    from scale.hub import push as push_learner

    done = push_learner(
        run,
        name,
        learner=learner,
        licence=licence,
        private=private,
        warn=lambda text: say(f"warning: {text}"),
    )
    say(f"{', '.join(done.files)} in {done.place}")
    if done.images:
        say(
            f"the learner holds {done.images} images of the stream, which others can now see; "
            "--no-learner pushes the export alone"
        )
