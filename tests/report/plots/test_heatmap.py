from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scale._errors import InputError
from scale.bench import load_experiment
from scale.report.plots import Selection, draw_heatmap
from scale.report.plots.heatmap import ink_on
from tests.report.plots.conftest import make_record

PAIRS = [(tau, kappa) for tau in (0.1, 0.5) for kappa in (0.05, 0.1, 0.2)]


def records_of(streams=("iid", "seq"), pairs=PAIRS):
    return [
        make_record(100 * tau + 10 * kappa, stream=stream, tau=tau, kappa=kappa)
        for stream in streams
        for tau, kappa in pairs
    ]


def test_each_stream_is_a_panel_with_a_number_in_each_cell_and_one_scale(check_texts):
    figure = draw_heatmap(Selection(records_of(), load_experiment("temperature"), "acc"))
    *panels, _ = figure.axes  # the last one is the scale of colours
    assert [axes.get_title(loc="left") for axes in panels] == ["cifar10, iid", "cifar10, seq"]
    for axes in panels:
        grid = axes.images[0].get_array()
        expected = [[50 * tau + 5 * kappa for tau in (0.1, 0.5)] for kappa in (0.05, 0.1, 0.2)]
        np.testing.assert_allclose(grid, expected)
        assert len(axes.texts) == 6
        assert axes.texts[0].get_text() == f"{expected[0][0]:.1f}"
        assert axes.images[0].get_clim() == (np.min(expected), np.max(expected))
    check_texts(figure)


def test_deviation_over_seeds_is_said_in_the_cell():
    records = [
        make_record(10.0 * seed, tau=tau, kappa=tau, seed=seed)
        for seed in (1, 2)
        for tau in (0.1, 0.2)
    ]
    figure = draw_heatmap(Selection(records))
    assert "15.0\n± 7.1" in {text.get_text() for text in figure.axes[0].texts}


def test_a_pair_without_a_run_says_so():
    axes = draw_heatmap(Selection(records_of(["seq"], PAIRS[:-1]))).axes[0]
    assert [text.get_text() for text in axes.texts].count("no run") == 1


def test_records_that_do_not_differ_in_two_settings_are_refused():
    with pytest.raises(InputError, match="differ in 2 settings"):
        draw_heatmap(Selection([make_record(30.0)]))


@given(st.tuples(*[st.floats(0, 1)] * 3))
def test_numbers_are_readable_on_any_colour(colour):
    def luminance(rgb):
        parts = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in rgb]
        return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), parts, strict=True))

    pair = sorted([luminance(colour), 0.0 if ink_on(colour) == "black" else 1.0])
    assert (pair[1] + 0.05) / (pair[0] + 0.05) >= 4.5  # what WCAG asks of text
