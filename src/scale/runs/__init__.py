"""One run: stream -> learner -> evaluation -> record; checkpoints; exact resume."""

from scale.runs.config import RunConfig
from scale.runs.display import Display, LiveDisplay, PlainDisplay
from scale.runs.embed import embed_images
from scale.runs.interrupt import RunInterrupted
from scale.runs.recipes import RECIPES, Recipe, recipe_for
from scale.runs.record import read_metrics
from scale.runs.run import load_learner, run
from scale.runs.setting import make_learner, prepare

__all__ = [
    "RECIPES",
    "Display",
    "LiveDisplay",
    "PlainDisplay",
    "Recipe",
    "RunConfig",
    "RunInterrupted",
    "embed_images",
    "load_learner",
    "make_learner",
    "prepare",
    "read_metrics",
    "recipe_for",
    "run",
]
