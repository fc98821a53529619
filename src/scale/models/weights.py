"""The record of pretrained weights: where they come from, and which input they expect."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import msgspec
from torch import Tensor

from scale._images import ImageShape

Tensors = dict[str, Tensor]
Colours = tuple[float, float, float]
IMAGENET: tuple[Colours, Colours] = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
"""Mean and standard deviation of ImageNet's pixels in [0, 1], which most weights were trained with.
"""
UNKNOWN = "unknown"


class Facts(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a source says about its weights; None where it says nothing."""

    mean: Colours | None = None
    std: Colours | None = None
    side: Annotated[int, msgspec.Meta(ge=1, le=8192)] | None = None
    """The only side at which the weights work well."""
    licence: str | None = None
    sha256: str | None = None


class Input(NamedTuple):
    """The images that a network was trained with.

    Parameters
    ----------
    mean, std
        Normalisation of pixels in [0, 1], for red, green and blue.
    least, most
        Sides in pixels at which the features are good. Smaller and larger images are resized.
    """

    mean: Colours
    std: Colours
    least: int
    most: int


@dataclass(frozen=True)
class Weights:
    """Facts about pretrained weights. Learners keep them with their state.

    Parameters
    ----------
    network
        Registered name of the network, or ``transformers`` for one of that library.
    source
        Where the weights come from: the specification that the user gave.
    sha256
        Digest of the file.
    mean, std
        Normalisation of pixels in [0, 1] before the network.
    least_side, most_side
        Sides in pixels between which images are not resized.
    licence
        The licence, as the source states it.
    features
        Dimension of the features.
    config
        Configuration of a network of the library transformers; empty for others.

    Examples
    --------
    >>> weights = Weights("resnet18", "mine", "", *IMAGENET, 96, 224, "MIT", 512)
    >>> [weights.side_for((3, side, side)) for side in (32, 100, 500)]
    [96, 100, 224]
    """

    network: str
    source: str
    sha256: str
    mean: Colours
    std: Colours
    least_side: int
    most_side: int
    licence: str
    features: int
    config: dict[str, Any] = dataclasses.field(default_factory=dict)

    def side_for(self, image_shape: ImageShape) -> int:
        """Return the side that images of this shape are resized to."""
        return min(max(min(image_shape[1:]), self.least_side), self.most_side)

    def to_json(self) -> dict[str, Any]:
        """Return the record as a dict for JSON."""
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, kept: Any) -> Weights:
        """Return the record that `to_json` described; raise `ValueError` for anything else."""
        return msgspec.convert(kept, cls)
