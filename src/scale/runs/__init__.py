"""One run: stream, learner, evaluation and record, with checkpoints and exact resume."""

from scale.runs.code import code_label, code_of
from scale.runs.config import RunConfig
from scale.runs.display import Display, PlainDisplay, measures_table
from scale.runs.embed import embed_images
from scale.runs.embed_names import read_names
from scale.runs.interrupt import RunInterrupted
from scale.runs.json_lines import JsonDisplay
from scale.runs.learner import load_learner
from scale.runs.measure import measure_again
from scale.runs.metrics import read_metrics
from scale.runs.panel import LiveDisplay
from scale.runs.parameters import complete, default_parameters, parameters
from scale.runs.run import run
from scale.runs.setting import make_learner, prepare
from scale.runs.start import config_from
from scale.runs.team import team

__all__ = [
    "Display",
    "JsonDisplay",
    "LiveDisplay",
    "PlainDisplay",
    "RunConfig",
    "RunInterrupted",
    "code_label",
    "code_of",
    "complete",
    "config_from",
    "default_parameters",
    "embed_images",
    "load_learner",
    "make_learner",
    "measure_again",
    "measures_table",
    "parameters",
    "prepare",
    "read_metrics",
    "read_names",
    "run",
    "team",
]
