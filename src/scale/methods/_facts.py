"""What a method is allowed to know and what it costs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Knowledge:
    """What a method is told beyond the images; nothing, unless it says so."""

    labels: bool = False
    """Sees the classes of stream images. The run hands them to no other method."""
    boundaries: bool = False
    """Is told where one class or task ends."""
    num_classes: bool = False
    """Is told how many classes there are."""
    many_passes: bool = False
    """Sees the stream more than once."""


@dataclass(frozen=True)
class Costs:
    """What a method spends on each image of the stream."""

    memory: str = "none"
    """What it keeps of the past."""
    views: int = 0
    """Random views of each stream image that it draws."""
    replayed_views: int = 0
    """Random views of images from memory that it draws beside them, in one batch."""
    backwards: int = 0
    """Backward passes that each stream image takes part in."""
