"""Facts about a method: what it sees beyond the images, and its costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Knowledge:
    """Information that a method gets beyond the images; none by default."""

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
    """Costs of a method on a stream."""

    memory: str = "none"
    """Things that it stores, in words."""
    views: int = 0
    """Random views drawn of each stream image."""
    replayed_views: int = 0
    """Random views drawn of memory images, for each stream batch."""
    backwards: int = 0
    """Backward passes for each stream image."""


def sklearn_tags(needs_labels: bool) -> Any:
    """Return what scikit-learn asks of a transformer of images."""
    from sklearn.utils import InputTags, Tags, TargetTags, TransformerTags

    return Tags(
        estimator_type="transformer",
        target_tags=TargetTags(required=needs_labels),
        transformer_tags=TransformerTags(),
        input_tags=InputTags(two_d_array=False, three_d_array=False),
        no_validation=True,
    )
