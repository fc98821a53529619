"""The methods, one file each."""

from scale._numbers import Range
from scale.methods.cassle import CaSSLe
from scale.methods.ccsl import CCSL
from scale.methods.cla import CLA
from scale.methods.cla_r import CLAR
from scale.methods.climb import CLIMB
from scale.methods.cmp import CMP
from scale.methods.co2l import Co2L
from scale.methods.coherence import Coherence
from scale.methods.core.contrastive import ContrastiveLearner
from scale.methods.core.facts import Costs, Knowledge
from scale.methods.core.learner import Learner
from scale.methods.core.loading import load, restore
from scale.methods.core.past import Past
from scale.methods.core.registry import DEFAULT_METHOD, METHODS, register_method
from scale.methods.core.replay import Replay
from scale.methods.curl import CURL
from scale.methods.der import DER
from scale.methods.er import ER
from scale.methods.frozen import Frozen
from scale.methods.kiera import KIERA
from scale.methods.lump import LUMP
from scale.methods.lvaegan import LVAEGAN
from scale.methods.minred import MinRed
from scale.methods.osiris_r import OsirisR
from scale.methods.patches import Patches
from scale.methods.pca import PCA
from scale.methods.pixels import Pixels
from scale.methods.pnn import PNN
from scale.methods.pseudo_labels import PseudoLabels
from scale.methods.random import Random
from scale.methods.randum import RanDumb
from scale.methods.scale import SCALE
from scale.methods.scale_plus import ScalePlus
from scale.methods.si import SI
from scale.methods.simclr import SimCLR
from scale.methods.solar import SOLAR
from scale.methods.stam import STAM
from scale.methods.storyboard import Storyboard
from scale.methods.supcon import SupCon
from scale.methods.vae import VAE
from scale.methods.vase import VASE

__all__ = [
    "CCSL",
    "CLA",
    "CLAR",
    "CLIMB",
    "CMP",
    "CURL",
    "DEFAULT_METHOD",
    "DER",
    "ER",
    "KIERA",
    "LUMP",
    "LVAEGAN",
    "METHODS",
    "PCA",
    "PNN",
    "SCALE",
    "SI",
    "SOLAR",
    "STAM",
    "VAE",
    "VASE",
    "CaSSLe",
    "Co2L",
    "Coherence",
    "ContrastiveLearner",
    "Costs",
    "Frozen",
    "Knowledge",
    "Learner",
    "MinRed",
    "OsirisR",
    "Past",
    "Patches",
    "Pixels",
    "PseudoLabels",
    "RanDumb",
    "Random",
    "Range",
    "Replay",
    "ScalePlus",
    "SimCLR",
    "Storyboard",
    "SupCon",
    "load",
    "register_method",
    "restore",
]
