"""The command line. It imports only the modules of the chosen command."""

from __future__ import annotations

import logging
import os
import re
import sys
from collections.abc import Sequence
from importlib import import_module

from scale._errors import InputError
from scale._names import did_you_mean
from scale._output import plain_warnings, standard_streams
from scale.commands._ending import end
from scale.commands._signals import stopping_tidily

SIZE, COUNTS = "[1-9][0-9]{0,3}", "[1-9][0-9]{0,3}(,[1-9][0-9]{0,3})*"
NUMBERS = {"COLUMNS": SIZE, "LINES": SIZE, "OMP_NUM_THREADS": COUNTS, "MKL_NUM_THREADS": SIZE}
"""Environment variables that hold a number, and the form of it."""

LIVE = ("status", "serve", "events", "search", "name", "names")
COMMANDS = (
    "evaluate",
    "embed",
    "export",
    "push",
    "pull",
    "report",
    "table",
    "plot",
    "results",
    "methods",
    "encoders",
    "streams",
    "data",
    *LIVE,
)
"""Commands with one function, in a file of that name. The `TWO_STEP` ones parse in two steps."""
TWO_STEP = ("run", "watch", "bench")
USAGE = """\
usage: scale COMMAND [options]        (scale COMMAND --help lists a command's options)

Keep learning from an unlabelled image stream: online, single pass, no labels, no boundaries.

commands:
  run       learn from a stream, with evaluation, checkpoints and pictures; --resume continues
  watch     keep learning from a folder, a video, a stream or a camera; the same command goes on
  status    show how a live learner is doing
  serve     show the page of a live learner without learning; scale watch --serve shows it too
  events    list what was new to a live learner; --dismiss N calls it normal
  search    show the images of a live learner most similar to one
  name      name images of a live learner; similar ones get the name too
  names     list the images of a live learner with their names; --export writes them
  bench     run an experiment of the paper, or your own: many runs, several at a time
  evaluate  evaluate a run's learner again, with more or fewer labels
  embed     embed new images with a run's encoder
  export    write a run's learner as one file for onnxruntime or torch, checked against it
  push      put a run's learner, export and model card on the Hugging Face hub or in a folder
  pull      get them from there
  report    write a page about a run, or about several compared: one HTML file
  table     show finished runs: mean and standard deviation over seeds, and the floors
  plot      draw finished runs as a figure of the paper: bars, curves, lines, heat map, maps
  results   write RESULTS.md: tables and figures of all records, and the verdicts on claims
  methods   list the methods: what each knows and costs; methods NAME lists its parameters
  encoders  list the encoders, and pretrained weights that they start from
  streams   draw the streams of a dataset as one picture, class over time
  data      list the datasets and where they are; data get NAME downloads one

try it:
  scale run --dataset digits --stream seq --out runs/first
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return the exit status.

    0 done, 1 some runs of a bench failed, 2 the user's mistake, 70 a bug of ours, and 128 + the
    signal when stopped: 130 for Ctrl-C.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        with standard_streams(), stopping_tidily(), plain_warnings():
            _mend_environment()
            return dispatch(arguments)
    except SystemExit:  # --help
        raise
    except BaseException as error:
        return end(error, arguments)


def _mend_environment() -> None:
    """Forget values in the environment that libraries cannot read, and keep windows away."""
    for name, allowed in NUMBERS.items():
        if name in os.environ and re.fullmatch(allowed, os.environ[name]) is None:
            del os.environ[name]
    os.environ["MPLBACKEND"] = "agg"  # pictures go to files; another backend may not exist
    logging.getLogger("matplotlib").setLevel(logging.ERROR)  # it can do without a cache
    try:
        os.getcwd()
    except FileNotFoundError:
        raise InputError("the current folder no longer exists; change to another one") from None


def dispatch(arguments: list[str]) -> int:
    """Run the command that the first argument names."""
    match arguments:
        case [] | ["-h" | "--help" | "help", *_]:
            sys.stdout.write(USAGE)
        case ["--version", *_]:
            from scale import __version__

            sys.stdout.write(f"scale-lifelong {__version__}\n")
        case ["run", *rest]:
            from scale.commands.run import parse_run, run

            run(*parse_run(rest))
        case ["watch", *rest]:
            from scale.commands.watch import parse_watch, watch

            watch(*parse_watch(rest))
        case ["bench", *rest]:
            from scale.commands.bench import bench

            return bench(rest)
        case ["data", "get", *rest]:
            from scale.commands._parse import call
            from scale.commands.data import data_get

            call(data_get, "scale data get", rest)
        case [name, *rest] if name in COMMANDS:
            from scale.commands._parse import call

            call(getattr(import_module(f"scale.commands.{name}"), name), f"scale {name}", rest)
        case [unknown, *_]:
            near = did_you_mean(unknown, (*TWO_STEP, *COMMANDS))
            raise InputError(f"there is no command {unknown!r}{near}; scale --help lists them")
    return 0
