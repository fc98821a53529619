"""One file per method, on one base class."""

from scale.methods._base import Learner, load, restore
from scale.methods._contrastive import ContrastiveLearner
from scale.methods._registry import METHODS, register_method
from scale.methods.scale import SCALE

__all__ = [
    "METHODS",
    "SCALE",
    "ContrastiveLearner",
    "Learner",
    "load",
    "register_method",
    "restore",
]
