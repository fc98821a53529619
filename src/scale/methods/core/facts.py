"""What a method may know and what it costs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Knowledge:
    """What a method is given beyond the images; nothing by default."""

    labels: bool = False
    """Sees the labels of stream images. A run gives them to no other method."""
    boundaries: bool = False
    """Knows where a class or task ends."""
    num_classes: bool = False
    """Knows the number of classes."""
    many_passes: bool = False
    """Sees the stream more than once."""


@dataclass(frozen=True)
class Costs:
    """What a method spends on each image of the stream."""

    memory: str = "none"
    """What it keeps of the past."""
    views: int = 0
    """Random views drawn of each stream image."""
    replayed_views: int = 0
    """Random views drawn of memory images, for each stream batch."""
    backwards: int = 0
    """Backward passes for each stream image."""
