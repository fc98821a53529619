"""Records for figures, and a check of the texts of a figure."""

from __future__ import annotations

import json

import pytest

from tests.report.records import record

FLOORS = {"random": 20.0, "pixels": 21.0, "pca (bank)": 30.0}
OPTIONS = ("stream_batch", "validation", "samples_per_class")


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
    options = {name: params.pop(name) for name in OPTIONS if name in params}
    place = {"dataset": dataset, "stream": stream, **options}
    floors = {name.removesuffix(" (bank)"): value for name, value in FLOORS.items()}
    marks = dict(marks or {})
    if curve is not None:
        marks["curve"] = {"position": [100 * i for i in range(len(curve))], "knn": curve}
    return record(method, seed, knn, **place, params=params, floors=floors, marks=marks)


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
