"""One file per method, on one base class."""

from scale.methods._base import Learner, load, restore
from scale.methods._contrastive import ContrastiveLearner
from scale.methods._facts import Costs, Knowledge
from scale.methods._past import PastLearner
from scale.methods._registry import METHODS, register_method
from scale.methods._replay import ReplayLearner
from scale.methods.co2l import Co2L
from scale.methods.er import ER
from scale.methods.scale import SCALE
from scale.methods.simclr import SimCLR

__all__ = [
    "ER",
    "METHODS",
    "SCALE",
    "Co2L",
    "ContrastiveLearner",
    "Costs",
    "Knowledge",
    "Learner",
    "PastLearner",
    "ReplayLearner",
    "SimCLR",
    "load",
    "register_method",
    "restore",
]
