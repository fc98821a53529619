"""Experiments of many runs, on local processes or a Ray cluster, and their records."""

from scale.bench.drive import Result, drive
from scale.bench.engine import Engine, InProcess, Outcome
from scale.bench.experiment import Experiment, list_experiments, load_experiment, parse_experiment
from scale.bench.folder import BenchFolder
from scale.bench.job import Job
from scale.bench.plan import plan
from scale.bench.pool import Pool
from scale.bench.records import (
    Record,
    append_evaluation,
    append_records,
    read_records,
    read_run,
)
from scale.bench.work import HowToRun

__all__ = [
    "BenchFolder",
    "Engine",
    "Experiment",
    "HowToRun",
    "InProcess",
    "Job",
    "Outcome",
    "Pool",
    "Record",
    "Result",
    "append_evaluation",
    "append_records",
    "drive",
    "list_experiments",
    "load_experiment",
    "parse_experiment",
    "plan",
    "read_records",
    "read_run",
]
