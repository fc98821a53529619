"""Images of one size with their labels: the result of every loader."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from scale._errors import InputError
from scale._images import CHANNELS
from scale._names import check_text, shown


@dataclass(frozen=True, eq=False)
class ImageSet:
    """Images of one size, with labels if there are any.

    Parameters
    ----------
    images
        uint8, N x C x H x W, C-contiguous, C = 1, 3 or 4; may be a read-only view of a file.
    labels
        int64, one in 0 .. T-1 per image, or None.
    class_names
        The T names; empty when `labels` is None.
    name, source
        The dataset's name and its origin, for the record of a run.
    skipped
        Files that could not be read and were skipped.

    Examples
    --------
    >>> blank = ImageSet(np.zeros((5, 1, 8, 8), np.uint8), None, (), "blank", "made here")
    >>> len(blank), blank.num_classes, len(blank.subset([0, 2]))
    (5, 0, 2)
    """

    images: npt.NDArray[np.uint8]
    labels: npt.NDArray[np.int64] | None
    class_names: tuple[str, ...]
    name: str
    source: str
    skipped: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        images, labels = self.images, self.labels
        for array, what in ((images, "images"), (labels, "labels")):
            allowed = array is None and what == "labels"
            if not allowed and (
                not isinstance(array, np.ndarray) or isinstance(array, np.ma.MaskedArray)
            ):
                raise InputError(f"the {what} of an ImageSet must be an array, got {shown(array)}")
        for texts, what in ((self.class_names, "class_names"), (self.skipped, "skipped")):
            if not isinstance(texts, tuple | list) or not all(isinstance(t, str) for t in texts):
                raise InputError(f"{what} must be a tuple of texts, got {shown(texts)}")
        check_text("the name of an ImageSet", self.name)
        if images.dtype != np.uint8 or images.ndim != 4 or images.shape[1] not in CHANNELS:
            raise InputError(
                f"the images of {self.name} must be uint8, N x C x H x W with C = 1, 3 or 4; "
                f"they are {images.dtype} of shape {images.shape}"
            )
        if 0 in images.shape:
            raise InputError(f"{self.name} has no images (shape {images.shape}); give at least one")
        if labels is None:
            return
        if labels.dtype != np.int64 or labels.shape != (len(images),):
            raise InputError(
                f"the labels of {self.name} must be int64, one per image ({len(images)}); "
                f"they are {labels.dtype} of shape {labels.shape}"
            )
        if labels.min() < 0 or labels.max() >= len(self.class_names):
            raise InputError(
                f"the labels of {self.name} go from {labels.min()} to {labels.max()}, but there "
                f"are {len(self.class_names)} class names; they must be 0 .. T-1"
            )

    def __len__(self) -> int:
        return len(self.images)

    @property
    def num_classes(self) -> int:
        """Number of classes, T; 0 without labels."""
        return len(self.class_names)

    def subset(self, indices: Any) -> ImageSet:
        """Return a copy of the images at `indices`: integers, a slice or a mask."""
        try:
            rows = np.atleast_1d(np.arange(len(self))[indices])
        except (IndexError, TypeError, ValueError, RuntimeError) as error:
            raise InputError(
                f"indices must be whole numbers from 0 to {len(self) - 1}, a slice or a mask of "
                f"{len(self)}, got {shown(indices)}"
            ) from error
        if rows.ndim != 1:
            raise InputError(f"indices must be a list, got shape {rows.shape}")
        labels = None if self.labels is None else self.labels[rows]
        return replace(self, images=np.ascontiguousarray(self.images[rows]), labels=labels)
