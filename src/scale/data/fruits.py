"""Frames of turning fruit, from a folder in $SCALE_DATA."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from scale._errors import InputError
from scale.data._imageset import ImageSet
from scale.data.class_folder import load_class_folder
from scale.data.registry import DATASETS, LoadOptions


@dataclass(frozen=True)
class LocalFolder:
    """A dataset that is a folder with a sub-folder for each class, in $SCALE_DATA.

    Parameters
    ----------
    name
        Registered name, and that of the folder.
    about
        Where it comes from, for the error if it is not there.
    """

    name: str
    about: str

    def __call__(self, split: str, options: LoadOptions) -> ImageSet:
        folder = self.folder()
        if folder is None:
            raise InputError(
                f"{self.name} is not in $SCALE_DATA/{self.name}; put {self.about} there, in "
                f"train/ and test/ with a sub-folder for each class, and set SCALE_DATA"
            )
        return load_class_folder(folder, split, options)

    def folder(self) -> Path | None:
        """Return its folder; None if it is not there."""
        own = os.environ.get("SCALE_DATA")
        found = Path(own) / self.name if own else None
        return found if found is not None and found.is_dir() else None


DATASETS.register("fruits")(LocalFolder("fruits", "images of fruits-360 (Oltean, CC BY-SA 4.0)"))
