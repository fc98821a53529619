"""Records as runs leave them, made by hand: what is in a figure can be told from them."""

from __future__ import annotations

import json

import pytest

FLOORS = {"random": 20.0, "pixels": 21.0, "pca": 30.0}


def make_record(
    knn,
    method="scale",
    *,
    dataset="cifar10",
    stream="seq",
    seed=0,
    curve=None,
    marks=None,
    **params,
):
    options = {name: params.pop(name) for name in ("stream_batch", "validation") if name in params}
    run = {"dataset": dataset, "stream": stream, "method": method, "seed": seed}
    record = {
        "run": {**run, **options, "params": params},
        "data": {"class_names": ["a", "b"]},
        "summary": {
            "knn": knn,
            "acc": knn / 2,
            "floors": {name: {"knn": value, "acc": value / 2} for name, value in FLOORS.items()},
            "timing": {"wall_seconds": 1.0},
        },
        **(marks or {}),
    }
    if curve is not None:
        record["curve"] = {"position": [100 * i for i in range(len(curve))], "knn": curve}
    return record


def make_timing(part, seconds, paper_name):
    method, _, batches = paper_name.partition(" ")
    axes = {"part": part}
    if batches:
        n, m = map(int, batches.split("+"))
        axes |= {"method": method, "n": n, "m": m}
    else:
        axes |= {"memory_policy": method, "dataset": "digits", "n": 64, "memory_size": 640}
    timing = {"seconds": seconds, "deviation": 0.001, "repeats": 5}
    marks = {"experiment": "time", "variant": part, "job": paper_name}
    return {**marks, "axes": axes, "timing": timing, "threads": 1}


@pytest.fixture
def write(tmp_path):
    """Write records to a file and return its path."""

    def write(records, name="records.jsonl"):
        path = tmp_path / name
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
        return path

    return write


@pytest.fixture
def check_texts():
    """Say whether all texts of a figure are inside it, apart from each other, and not tiny."""

    def check(figure):
        from matplotlib.text import Text

        figure.draw_without_rendering()
        page, beyond = figure.bbox, _labels_beyond(figure)
        boxes = []
        for text in figure.findobj(Text):
            if not text.get_visible() or not text.get_text().strip() or text in beyond:
                continue
            assert text.get_fontsize() >= 7, text.get_text()
            box = text.get_window_extent()
            assert page.x0 - 1 <= box.x0, text.get_text()
            assert box.x1 <= page.x1 + 1, text.get_text()
            assert page.y0 - 1 <= box.y0, text.get_text()
            assert box.y1 <= page.y1 + 1, text.get_text()
            if text.get_rotation() in (0, 90):  # the box of a slanted text says little
                boxes.append((text.get_text(), box))
        for i, (one, box) in enumerate(boxes):
            for other, beside in boxes[i + 1 :]:
                wide = min(box.x1, beside.x1) - max(box.x0, beside.x0)
                high = min(box.y1, beside.y1) - max(box.y0, beside.y0)
                assert wide <= 1 or high <= 2, f"{one!r} covers {other!r}"

    return check


def _labels_beyond(figure):
    """Return the labels of ticks that lie beyond their axis and are not drawn."""
    beyond = set()
    for axis in (axis for axes in figure.axes for axis in (axes.xaxis, axes.yaxis)):
        drawn = axis._update_ticks()
        ticks = [tick for tick in (*axis.majorTicks, *axis.minorTicks) if tick not in drawn]
        beyond |= {label for tick in ticks for label in (tick.label1, tick.label2)}
    return beyond
