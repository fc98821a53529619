"""The command ``scale name``."""

from __future__ import annotations

import json as json_module
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from scale.commands._terminal import put, say


def name(
    folder: Positional[Annotated[Path, arg(metavar="DIR")]],
    name: Positional[Annotated[str, arg(metavar="NAME")]],
    images: Positional[Annotated[tuple[str, ...], arg(metavar="IMAGE")]],
    *,
    remove: bool = False,
    json: bool = False,
) -> None:
    """Name images of a live learner; similar ones then get this name too.

    Args:
        folder: Folder of the live learner; it may be running.
        name: The name.
        images: Numbers of stored images, or paths of files that were watched.
        remove: Take this name away from the images instead.
        json: Print the images as JSON.
    """
    from scale._errors import InputError
    from scale.live import Store
    from scale.live.names import GivenNames, check_name
    from scale.live.resolve import resolve

    text = check_name(name)
    if not images:
        raise InputError("say which images: scale name DIR NAME IMAGE..., as numbers or paths")
    with Store(folder) as store:
        given, ids = GivenNames(store), resolve(store, images)
        if remove:
            ids = [one for one in ids if given.all().get(one) == text]
            given.take(ids)
        else:
            given.give(ids, text)
    if json:
        put(json_module.dumps({"name": text, "images": ids, "removed": remove}) + "\n")
    elif remove:
        say(f"{len(ids)} of these images were named {text}, and no longer are")
    else:
        say(f"{len(ids)} {'image is' if len(ids) == 1 else 'images are'} named {text}")
