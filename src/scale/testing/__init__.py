"""Checks of the contract, for your own learner, policy, stream or encoder.

A failed check raises an `AssertionError` with the broken rule and what to do. Pytest is optional:
with it, parametrise a test over `LEARNER_CHECKS`, `POLICY_CHECKS` and so on.

Examples
--------
>>> from scale.memory import POLICIES
>>> check_policy(POLICIES["reservoir"])
"""

from scale.testing.encoders import ENCODER_CHECKS, check_encoder
from scale.testing.learners import LEARNER_CHECKS, check_learner
from scale.testing.policies import POLICY_CHECKS, check_policy
from scale.testing.streams import STREAM_CHECKS, check_stream

__all__ = [
    "ENCODER_CHECKS",
    "LEARNER_CHECKS",
    "POLICY_CHECKS",
    "STREAM_CHECKS",
    "check_encoder",
    "check_learner",
    "check_policy",
    "check_stream",
]
