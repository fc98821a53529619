"""The command line. It imports only the modules of the chosen command."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module

import tyro

from scale._errors import InputError, ScaleError

COMMANDS = ("evaluate", "embed", "table", "plot", "results", "methods", "streams", "data")
"""Commands with one function, in a file of that name. `run` and `bench` parse in two steps."""
USAGE = """\
usage: scale COMMAND [options]        (scale COMMAND --help lists a command's options)

Keep learning from an unlabelled image stream: online, single pass, no labels, no boundaries.

commands:
  run       learn from a stream, with evaluation, checkpoints and pictures; --resume continues
  bench     run an experiment of the paper, or your own: many runs, several at a time
  evaluate  evaluate a run's learner again, with more or fewer labels
  embed     embed new images with a run's encoder
  table     show finished runs: mean and standard deviation over seeds, and the floors
  plot      draw finished runs as a figure of the paper: bars, curves, lines, heat map, maps
  results   write RESULTS.md: tables and figures of all records, and the verdicts on claims
  methods   list the methods: what each knows and costs; methods NAME lists its parameters
  streams   draw the streams of a dataset as one picture, class over time
  data      list the datasets and where they are; data get NAME downloads one

try it:
  scale run --dataset digits --stream seq --out runs/first
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return the exit status: 0 done, 2 the user's mistake, 130 interrupted."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        return dispatch(arguments)
    except ScaleError as error:
        sys.stderr.write(f"scale: {error}\n")
        return 130 if type(error).__name__ == "RunInterrupted" else 2
    except KeyboardInterrupt:
        sys.stderr.write("scale: stopped at once; the last checkpoint is kept\n")
        return 130
    except BrokenPipeError:
        return 0
    except OSError as error:  # for example a failing disk or a locked folder
        sys.stderr.write(f"scale: {_system_reason(error)}\n")
        return 2


def _system_reason(error: OSError) -> str:
    reason = error.strerror or str(error) or type(error).__name__
    return reason if error.filename is None else f"{error.filename}: {reason}"


def dispatch(arguments: list[str]) -> int:
    """Run the command that the first argument names."""
    match arguments:
        case [] | ["-h" | "--help" | "help", *_]:
            sys.stdout.write(USAGE)
        case ["--version", *_]:
            from importlib.metadata import version

            sys.stdout.write(f"scale-lifelong {version('scale-lifelong')}\n")
        case ["run", *rest]:
            from scale.commands.run import parse_run, run

            run(*parse_run(rest))
        case ["bench", *rest]:
            from scale.commands.bench import bench

            return bench(rest)
        case ["data", "get", *rest]:
            from scale.commands.data import data_get

            tyro.cli(data_get, prog="scale data get", args=rest)
        case [name, *rest] if name in COMMANDS:
            command = getattr(import_module(f"scale.commands.{name}"), name)
            tyro.cli(command, prog=f"scale {name}", args=rest)
        case [unknown, *_]:
            raise InputError(f"there is no command {unknown!r}; scale --help lists them")
    return 0
