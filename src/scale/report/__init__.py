"""Pictures of runs, and tables of their records."""

from scale.bench import append_evaluation, append_records, read_records
from scale.report.curve import draw_curve
from scale.report.embedding import draw_embedding
from scale.report.encoders import (
    all_encoder_facts,
    encoder_facts,
    encoder_on_terminal,
    encoders_on_terminal,
)
from scale.report.memory import draw_memory
from scale.report.methods import all_facts, method_facts, policy_facts
from scale.report.methods_table import (
    method_on_terminal,
    methods_markdown,
    methods_on_terminal,
)
from scale.report.pages import archive_page, question_page, results_page
from scale.report.records import choose, keep_records, read_sources, runs_of
from scale.report.reproduction import reproduction_page
from scale.report.results import Section, archive_replaced, read_archive, read_sections
from scale.report.run import draw_dataset_streams, draw_run
from scale.report.stream import draw_streams
from scale.report.table import COLUMNS, IN_SHORT, ResultsTable, make_table

__all__ = [
    "COLUMNS",
    "IN_SHORT",
    "ResultsTable",
    "Section",
    "all_encoder_facts",
    "all_facts",
    "append_evaluation",
    "append_records",
    "archive_page",
    "archive_replaced",
    "choose",
    "draw_curve",
    "draw_dataset_streams",
    "draw_embedding",
    "draw_memory",
    "draw_run",
    "draw_streams",
    "encoder_facts",
    "encoder_on_terminal",
    "encoders_on_terminal",
    "keep_records",
    "make_table",
    "method_facts",
    "method_on_terminal",
    "methods_markdown",
    "methods_on_terminal",
    "policy_facts",
    "question_page",
    "read_archive",
    "read_records",
    "read_sections",
    "read_sources",
    "reproduction_page",
    "results_page",
    "runs_of",
]
