"""Methods by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scale._registry import Registry

if TYPE_CHECKING:
    from scale.methods._base import Learner

METHODS: Registry[type[Learner]] = Registry("method")
register_method = METHODS.register
