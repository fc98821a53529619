"""A bounded memory of raw images, and the policies that choose them."""

from scale.memory import fifo as fifo
from scale.memory import kmeans as kmeans
from scale.memory import label as label
from scale.memory import minred as minred
from scale.memory import psa as psa
from scale.memory import random as random
from scale.memory import reservoir as reservoir
from scale.memory._buffer import Buffer, Memory
from scale.memory._policy import POLICIES, Candidates, Policy, PolicyKnowledge, register_policy

__all__ = [
    "POLICIES",
    "Buffer",
    "Candidates",
    "Memory",
    "Policy",
    "PolicyKnowledge",
    "register_policy",
]
