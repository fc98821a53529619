"""Pictures of one run."""

from scale.report.curve import draw_curve
from scale.report.embedding import draw_embedding
from scale.report.memory import draw_memory
from scale.report.run import draw_dataset_streams, draw_run
from scale.report.stream import draw_streams

__all__ = [
    "draw_curve",
    "draw_dataset_streams",
    "draw_embedding",
    "draw_memory",
    "draw_run",
    "draw_streams",
]
