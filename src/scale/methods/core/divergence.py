"""What is known when a loss or features are no longer finite."""

from __future__ import annotations

import dataclasses
from numbers import Real
from typing import Any

from scale._errors import NonFiniteFeaturesError

FAR = 10  # factor between a setting and its default


def advice(learner: Any) -> str:
    """Return which settings are far from their defaults, or what to try if none is.

    Examples
    --------
    >>> from scale.methods import SimCLR
    >>> advice(SimCLR(tau=1e-6))
    'far from its default: tau = 1e-06 (default 0.1)'
    """
    far = [
        f"{field.name} = {value} (default {field.default})"
        for field in dataclasses.fields(learner)
        if _is_far(value := getattr(learner, field.name), field.default)
    ]
    if far:
        return f"far from {'its default' if len(far) == 1 else 'their defaults'}: {', '.join(far)}"
    lr = getattr(learner, "lr", None)
    tried = "" if lr is None else f"; try an lr below {lr}, or look for unusual images"
    return f"all settings are near their defaults{tried}"


def diverged(learner: Any) -> NonFiniteFeaturesError:
    """Return the error of features that are not finite."""
    return NonFiniteFeaturesError(
        f"the features of {learner.name!r} are NaN or infinite; {advice(learner)}; go on from an "
        "earlier checkpoint, or start again with other settings"
    )


def _is_far(value: object, default: object) -> bool:
    """Return whether a fractional number is a factor of 10 or more above or below its default."""
    if not isinstance(default, float) or not isinstance(value, Real):
        return False
    low, high = sorted((abs(float(value)), abs(default)))
    return low > 0 and low * FAR <= high  # 0 turns something off
