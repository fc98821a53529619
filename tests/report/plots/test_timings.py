from __future__ import annotations

import pytest

from scale._errors import InputError
from scale.bench import load_experiment
from scale.report.plots import Selection, draw_timings
from tests.report.plots.conftest import make_record, make_timing

TIMES = [
    make_timing("losses", 0.020, "scale 128+128"),
    make_timing("losses", 0.010, "co2l 64+128"),
    make_timing("memory update", 0.005, "psa"),
]


def test_ours_stand_beside_the_papers_in_milliseconds(check_texts):
    figure = draw_timings(Selection(TIMES, load_experiment("time")))
    losses, memory = figure.axes
    assert [bar.get_width() for bar in losses.patches] == pytest.approx([20, 10, 51, 34])
    assert [bar.get_width() for bar in memory.patches] == pytest.approx([5, 950])
    assert [label.get_text() for label in losses.get_yticklabels()] == [
        "scale 128+128",
        "co2l 64+128",
    ]
    assert {text.get_text() for text in memory.texts} == {"5", "950"}
    check_texts(figure)


def test_without_the_papers_values_ours_stand_alone():
    figure = draw_timings(Selection(TIMES))
    assert len(figure.axes[0].patches) == 2
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["ours"]


def test_records_of_runs_are_refused():
    with pytest.raises(InputError, match="scale bench time"):
        draw_timings(Selection([make_record(30.0)]))
