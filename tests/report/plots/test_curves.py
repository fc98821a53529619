from __future__ import annotations

import numpy as np
import pytest

from scale._errors import InputError, UnknownNameError
from scale.report.plots import Selection, draw_curves
from scale.report.plots.style import METHOD_ORDER
from tests.report.plots.conftest import make_record

LENGTHS = ([10.0, 20.0, 30.0], [12.0, 26.0, 36.0])


def curve_records(methods=("scale",), streams=("seq",)):
    return [
        make_record(curve[-1], method, stream=stream, seed=seed, curve=curve)
        for method in methods
        for stream in streams
        for seed, curve in enumerate(LENGTHS)
    ]


def named(axes, name):
    return next(line for line in axes.lines if line.get_label() == name)


def test_a_curve_is_the_mean_over_seeds_with_a_band_of_their_deviation(check_texts):
    figure = draw_curves(Selection(curve_records()))
    (axes,) = figure.axes
    line = named(axes, "scale")
    np.testing.assert_allclose(line.get_xdata(), [0, 100, 200])
    np.testing.assert_allclose(line.get_ydata(), np.mean(LENGTHS, axis=0))
    band = axes.collections[0].get_datalim(axes.transData)
    deviations = np.std(LENGTHS, axis=0, ddof=1)
    assert band.y0 == pytest.approx(np.mean(LENGTHS, axis=0)[0] - deviations[0])
    assert band.y1 == pytest.approx(np.mean(LENGTHS, axis=0)[2] + deviations[2])
    check_texts(figure)


def test_evaluations_of_streams_of_different_lengths_are_put_together_at_their_mean_position():
    records = curve_records()
    records[1]["curve"]["position"] = [0, 80, 160]
    line = named(draw_curves(Selection(records)).axes[0], "scale")
    np.testing.assert_allclose(line.get_xdata(), [0, 90, 180])
    np.testing.assert_allclose(line.get_ydata(), np.mean(LENGTHS, axis=0))


def test_a_run_that_was_evaluated_more_rarely_is_interpolated():
    records = curve_records()
    records[1]["curve"] = {"position": [0, 200], "knn": [12.0, 36.0]}
    line = named(draw_curves(Selection(records)).axes[0], "scale")
    np.testing.assert_allclose(line.get_ydata(), [11.0, 22.0, 33.0])


def test_lines_are_named_at_their_ends_and_floors_are_dashed(check_texts):
    figure = draw_curves(Selection(curve_records(("scale", "simclr"), ("seq", "iid"))))
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["cifar10, iid", "cifar10, seq"]
    for axes in figure.axes:
        names = {text.get_text() for text in axes.texts}
        assert names == {"scale", "simclr", "random", "pixels", "pca (bank)"}
    assert not figure.legends
    check_texts(figure)


def test_many_methods_get_a_legend_instead_of_names_at_the_ends(check_texts):
    methods = [name for name in METHOD_ORDER if name not in ("scale", "random", "pixels", "pca")]
    figure = draw_curves(Selection(curve_records(methods)))
    assert len(figure.legends[0].get_texts()) == len(methods)
    assert {text.get_text() for text in figure.axes[0].texts} == {"random", "pixels", "pca (bank)"}
    check_texts(figure)


def test_records_without_curves_say_what_makes_new_ones():
    with pytest.raises(InputError, match="scale table RUNS --to"):
        draw_curves(Selection([make_record(30.0)]))


def test_a_measure_that_is_not_taken_on_the_way_is_refused():
    with pytest.raises(UnknownNameError, match="known: knn"):
        draw_curves(Selection(curve_records(), None, "linear"))
