from __future__ import annotations

import numpy as np
import pytest

from scale._errors import InputError, UnknownNameError
from scale.bench import load_experiment
from scale.report.plots import Selection, draw_bars
from scale.report.plots.style import METHOD_ORDER, styles
from tests.report.plots.conftest import FLOORS, make_record

STREAMS = ("iid", "seq", "seq-bl", "seq-im", "seq-cc")


def heights(axes):
    return [bar.get_height() for bar in axes.patches]


def test_a_bar_is_the_mean_over_seeds_with_their_deviation_and_a_dot_for_each(check_texts):
    values = [30.0, 31.0, 35.0]
    records = [make_record(value, seed=seed) for seed, value in enumerate(values)]
    records += [make_record(10.0, "simclr", seed=seed) for seed in range(3)]
    figure = draw_bars(Selection(records))
    (axes,) = figure.axes
    assert heights(axes) == pytest.approx([32.0, 10.0])
    low, high = axes.containers[-1].lines[2][0].get_segments()[0][:, 1]
    assert (high - low) / 2 == pytest.approx(np.std(values, ddof=1))
    dots = next(c for c in axes.collections if len(c.get_offsets()) == 6)
    assert sorted(dots.get_offsets()[:, 1]) == [10.0, 10.0, 10.0, *values]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["scale", "simclr"]
    assert axes.get_ylim()[0] == 0
    check_texts(figure)


def test_streams_are_groups_in_the_papers_order_and_datasets_are_panels(check_texts):
    records = [
        make_record(30.0, method, stream=stream, dataset=dataset)
        for dataset in ("cifar10", "mnist")
        for stream in reversed(STREAMS)
        for method in ("scale", "simclr")
    ]
    figure = draw_bars(Selection(records))
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["cifar10", "mnist"]
    for axes in figure.axes:
        assert tuple(label.get_text() for label in axes.get_xticklabels()) == STREAMS
        assert len(axes.patches) == 10
    named = [text.get_text() for text in figure.legends[0].get_texts()]
    assert named == ["scale", "simclr", "paper"]
    check_texts(figure)


def test_twenty_methods_have_different_marks_and_names_that_do_not_overlap(check_texts):
    names = [*METHOD_ORDER, "mine"]
    marks = styles(names)
    assert len({(m.colour, m.hatch) for m in marks.values()}) == len(names)
    assert len({(m.colour, m.marker, str(m.dash)) for m in marks.values()}) == len(names)
    check_texts(draw_bars(Selection([make_record(30.0, name) for name in METHOD_ORDER])))


def test_long_names_of_settings_are_all_inside_the_figure(check_texts):
    settings = [
        {"memory_policy": policy, "augmentation": "tinyimagenet-paper", "lam": 0.25}
        for policy in ("psa", "random", "reservoir", "kmeans")
    ]
    records = [
        make_record(30.0, stream=stream, **setting)
        for stream in ("iid", "seq")
        for setting in [{}, *settings]
    ]
    check_texts(draw_bars(Selection(records)))


def test_a_method_that_sees_labels_is_a_line_and_floors_are_dashed_with_their_names():
    figure = draw_bars(Selection([make_record(30.0), make_record(40.0, "supcon")]))
    (axes,) = figure.axes
    assert heights(axes) == [30.0]
    named = {text.get_text() for text in axes.texts}
    assert named == {"supcon (labels)", *FLOORS}
    at = {
        round(float(c.get_segments()[0][0, 1]), 6)
        for c in axes.collections
        if hasattr(c, "get_segments")
    }
    assert {40.0, *FLOORS.values()} <= at


def test_a_variant_that_has_the_name_of_a_floor_does_not_hide_it():
    marks = {"experiment": "memory-ablation", "variant": "random", "axes": {}, "job": "0"}
    selection = Selection([make_record(30.0, marks=marks, memory_policy="random")])
    (axes,) = draw_bars(selection).axes
    assert {text.get_text() for text in axes.texts} == set(FLOORS)


def test_a_method_that_is_a_floor_is_a_bar_and_no_line():
    (axes,) = draw_bars(Selection([make_record(30.0), make_record(21.5, "pixels")])).axes
    assert len(axes.patches) == 2
    assert "pixels" not in {text.get_text() for text in axes.texts}


def test_the_papers_value_is_an_open_diamond_named_paper(check_texts):
    experiment = load_experiment("loss-ablation")
    records = [
        make_record(33.0, marks={"variant": "scale", "experiment": "loss-ablation"}),
        make_record(19.0, "simclr", marks={"variant": "simclr", "experiment": "loss-ablation"}),
    ]
    figure = draw_bars(Selection(records, experiment))
    diamonds = [line for line in figure.axes[0].lines if line.get_marker() == "D"]
    assert sorted(float(line.get_ydata()[0]) for line in diamonds) == [18.84, 32.18]
    assert {line.get_markerfacecolor() for line in diamonds} == {"white"}
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["paper"]
    check_texts(figure)
    # They are values of kNN: nothing of the paper stands beside another measure.
    other = draw_bars(Selection(records, experiment, "acc"))
    assert not [line for line in other.axes[0].lines if line.get_marker() == "D"]
    # And of whole streams: nothing of the paper stands beside a shortened one.
    short = draw_bars(Selection([make_record(33.0, samples_per_class=99)], experiment))
    assert not [line for line in short.axes[0].lines if line.get_marker() == "D"]


def test_what_is_unusual_for_all_runs_is_said_in_the_title():
    (axes,) = draw_bars(Selection([make_record(30.0, validation=True)])).axes
    assert axes.get_title(loc="left") == "cifar10, seq, validation"


def test_unknown_and_missing_measures_are_refused():
    with pytest.raises(UnknownNameError, match="no measure is called 'knnn'"):
        draw_bars(Selection([make_record(30.0)], None, "knnn"))
    with pytest.raises(InputError, match="no record has linear"):
        draw_bars(Selection([make_record(30.0)], None, "linear"))
