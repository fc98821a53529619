"""Learners on the Hugging Face hub, or in a folder that stands in for it."""

from scale.hub.card import model_card
from scale.hub.transfer import pull, push

__all__ = ["model_card", "pull", "push"]
