"""The command ``scale evaluate``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from scale.commands._terminal import say, table_console


def evaluate(
    run: Positional[Annotated[Path, arg(metavar="RUN")]],
    *,
    bank_size: int | None = None,
    to: Path | None = None,
) -> None:
    """Evaluate a run's learner and the floors again, with more or fewer labels.

    Args:
        run: Folder of a run, finished or not.
        bank_size: Labelled images for the kNN and the linear probe. Default: the dataset's.
        to: Also append the measures to this file, as one JSON line.
    """
    from scale._files import check_writable
    from scale.report import append_evaluation
    from scale.runs import measure_again, measures_table

    if to is not None:
        check_writable(to)

    warnings: list[str] = []

    def warn(text: str) -> None:
        warnings.append(text)
        say(f"warning: {text}")

    measures = measure_again(run, bank_size, warn)
    if to is not None:
        append_evaluation(run, bank_size, measures, to, warnings)
    labels = "the default bank" if bank_size is None else f"a bank of {bank_size} labelled images"
    table_console().print(measures_table(measures, f"{run} with {labels}"))
