from __future__ import annotations

import numpy as np
import pytest

from scale._errors import InputError
from scale.bench import load_experiment
from scale.report.plots import Selection, draw_lines
from tests.report.plots.conftest import make_record


def lines_of(axes):
    return {c.get_label(): c.lines[0].get_xydata().T for c in axes.containers}


def records_by(name, values, streams=("seq",)):
    return [
        make_record(20.0 + i + seed, stream=stream, seed=seed, **{name: value})
        for stream in streams
        for seed in range(2)
        for i, value in enumerate(values)
    ]


def test_a_line_for_each_stream_over_the_varied_setting_with_error_bars(check_texts):
    records = records_by("mu", [0.3, 0.05, 0.1], ("seq", "iid"))
    figure = draw_lines(Selection(records, load_experiment("mu")))
    (axes,) = figure.axes
    found = lines_of(axes)
    assert list(found) == ["iid", "seq"]
    np.testing.assert_allclose(found["seq"], ([0.05, 0.1, 0.3], [21.5, 22.5, 20.5]))
    low, high = axes.containers[0].lines[2][0].get_segments()[0][:, 1]
    assert (high - low) / 2 == pytest.approx(np.std([0, 1], ddof=1))
    assert {text.get_text() for text in axes.texts} == {"iid", "seq"}
    check_texts(figure)


@pytest.mark.parametrize(
    ("values", "scale"),
    [([64, 96, 160], "linear"), ([0.01, 0.1, 1.0], "log"), ([0.0, 0.01, 1.0], "symlog")],
)
def test_the_scale_is_logarithmic_over_more_than_a_decade_and_a_zero_has_its_place(values, scale):
    (axes,) = draw_lines(Selection(records_by("lam", values))).axes
    assert axes.get_xscale() == scale
    places = axes.transData.transform([(value, 0) for value in values])[:, 0]
    width = axes.bbox.width
    assert (np.diff(places) > 0.08 * width).all()
    assert [label.get_text() for label in axes.get_xticklabels()] == [f"{v:g}" for v in values]


def test_a_setting_of_the_stream_can_be_the_axis():
    (axes,) = draw_lines(Selection(records_by("stream_batch", [64, 128]))).axes
    assert axes.get_title(loc="left") == "cifar10"
    np.testing.assert_allclose(lines_of(axes)["scale"][0], [64, 128])


def test_names_stand_side_by_side():
    (axes,) = draw_lines(Selection(records_by("memory_policy", ["psa", "fifo"]))).axes
    assert [label.get_text() for label in axes.get_xticklabels()] == ["fifo", "psa"]


def test_records_that_differ_in_nothing_or_in_much_are_refused():
    with pytest.raises(InputError, match="differ in one setting"):
        draw_lines(Selection([make_record(30.0)]))
    with pytest.raises(InputError, match=r"differ in (lam, mu|mu, lam)"):
        draw_lines(Selection([make_record(30.0, mu=0.5), make_record(30.0, lam=0.5)]))
