"""The methods, one file each."""

from scale.methods.cassle import CaSSLe
from scale.methods.cla import CLA
from scale.methods.cla_r import CLAR
from scale.methods.climb import CLIMB
from scale.methods.co2l import Co2L
from scale.methods.core.contrastive import ContrastiveLearner
from scale.methods.core.facts import Costs, Knowledge
from scale.methods.core.learner import Learner
from scale.methods.core.loading import load, restore
from scale.methods.core.past import Past
from scale.methods.core.registry import DEFAULT_METHOD, METHODS, register_method
from scale.methods.core.replay import Replay
from scale.methods.der import DER
from scale.methods.er import ER
from scale.methods.lump import LUMP
from scale.methods.minred import MinRed
from scale.methods.osiris_r import OsirisR
from scale.methods.patches import Patches
from scale.methods.pca import PCA
from scale.methods.pixels import Pixels
from scale.methods.pnn import PNN
from scale.methods.random import Random
from scale.methods.scale import SCALE
from scale.methods.scale_plus import ScalePlus
from scale.methods.si import SI
from scale.methods.simclr import SimCLR
from scale.methods.stam import STAM
from scale.methods.supcon import SupCon

__all__ = [
    "CLA",
    "CLAR",
    "CLIMB",
    "DEFAULT_METHOD",
    "DER",
    "ER",
    "LUMP",
    "METHODS",
    "PCA",
    "PNN",
    "SCALE",
    "SI",
    "STAM",
    "CaSSLe",
    "Co2L",
    "ContrastiveLearner",
    "Costs",
    "Knowledge",
    "Learner",
    "MinRed",
    "OsirisR",
    "Past",
    "Patches",
    "Pixels",
    "Random",
    "Replay",
    "ScalePlus",
    "SimCLR",
    "SupCon",
    "load",
    "register_method",
    "restore",
]
