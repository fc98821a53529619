"""The paper's figures, drawn from records."""

from scale.report.plots.bars import draw_bars
from scale.report.plots.curves import draw_curves
from scale.report.plots.figure import FIGURES, draw_figure
from scale.report.plots.heatmap import draw_heatmap
from scale.report.plots.lines import draw_lines
from scale.report.plots.maps import draw_maps
from scale.report.records import Selection, select

__all__ = [
    "FIGURES",
    "Selection",
    "draw_bars",
    "draw_curves",
    "draw_figure",
    "draw_heatmap",
    "draw_lines",
    "draw_maps",
    "select",
]
