"""Pictures of runs, and tables of their records."""

from scale.report.curve import draw_curve
from scale.report.embedding import draw_embedding
from scale.report.memory import draw_memory
from scale.report.records import append_evaluation, append_records, read_records
from scale.report.run import draw_dataset_streams, draw_run
from scale.report.stream import draw_streams
from scale.report.table import cells, header, make_rows, markdown

__all__ = [
    "append_evaluation",
    "append_records",
    "cells",
    "draw_curve",
    "draw_dataset_streams",
    "draw_embedding",
    "draw_memory",
    "draw_run",
    "draw_streams",
    "header",
    "make_rows",
    "markdown",
    "read_records",
]
