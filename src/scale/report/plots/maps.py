"""t-SNE maps of the features at the start, the middle and the end of runs (Figures 10 and 11)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scale._errors import InputError
from scale.bench import Record
from scale.report._figure import class_colours, new_figure, shorten
from scale.report.embedding import draw_legend, draw_points, legend_columns, project, snapshot
from scale.report.groups import Group
from scale.report.plots.axes import drawn_groups
from scale.report.plots.style import WIDTH, note
from scale.report.records import Selection, run_id
from scale.report.run import read_snapshots

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw_maps(selection: Selection) -> Figure:
    """Draw a row of maps for each setting, from its first seed, coloured by class.

    The features come from the folders of the runs.
    """
    groups = drawn_groups(selection)
    names = _class_names(groups)
    rows = [(group, _features_of(group, selection)) for group in groups]
    columns = max(len(snapshots) for _, snapshots in rows)
    wide = legend_columns(len(names))
    side = (WIDTH - 0.9 * wide) / columns
    figure = new_figure(WIDTH, (side + 0.35) * len(rows))
    grid = figure.subplots(len(rows), columns, squeeze=False)
    colours = class_colours(len(names))
    for axes, (group, snapshots) in zip(grid, rows, strict=True):
        seed = _first(group)["run"]["seed"]
        for panel, (title, features, labels) in zip(axes, snapshots, strict=False):
            points, kept = snapshot(features, labels, len(names), seed)
            mapped, remark = project(points, seed)
            draw_points(panel, mapped, kept, colours)
            panel.set_title(f"{title}{remark}", loc="left", fontsize=8)
        for unused in axes[len(snapshots) :]:
            unused.remove()
        _name_row(axes[0], group, groups)
    if wide:
        draw_legend(figure, shorten(names, len(names), 12), colours, wide)
    note(figure, "t-SNE of features of evaluation images; one seed")
    return figure


def _class_names(groups: list[Group]) -> list[str]:
    found = {tuple(_first(group)["data"]["class_names"]) for group in groups}
    if len(found) > 1:
        datasets = sorted({group.dataset for group in groups})
        raise InputError(
            f"the classes of {' and '.join(datasets)} differ; draw maps of one dataset at a time "
            "with --datasets"
        )
    return list(found.pop())


def _features_of(group: Group, selection: Selection) -> list[tuple[str, Any, Any]]:
    folder = selection.folders.get(run_id(_first(group)))
    snapshots = read_snapshots(folder) if folder is not None else []
    if not snapshots:
        raise InputError(
            f"there are no features of {group.name} on {group.dataset} {group.stream}; give the "
            "folder of the run, or of the bench with its runs/"
        )
    return snapshots


def _name_row(axes: Axes, group: Group, groups: list[Group]) -> None:
    names = {other.name for other in groups}
    name = "" if len(names) == 1 else f"{group.name}\n"
    axes.set_ylabel(f"{name}{group.title}", fontsize=8.5)


def _first(group: Group) -> Record:
    return next(iter(group.records.values()))
