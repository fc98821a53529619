"""The contract, as checks that anybody can run on a learner, policy, stream or encoder.

Each check raises an `AssertionError` that says in one sentence which rule is broken and what to do.
They need no pytest; with it, parametrise a test over `LEARNER_CHECKS` and the like.

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
