"""The command ``scale plot``."""

from __future__ import annotations

from pathlib import Path

from tyro.conf import Positional

from scale.commands._terminal import say


def plot(
    sources: Positional[list[Path]],
    *,
    out: Path,
    kind: str | None = None,
    measure: str | None = None,
    experiment: str | None = None,
    methods: tuple[str, ...] = (),
    datasets: tuple[str, ...] = (),
    streams: tuple[str, ...] = (),
) -> None:
    """Draw finished runs as a figure of the paper: mean and standard deviation over seeds.

    Args:
        sources: Files of records (.jsonl), folders of benches, folders of finished runs.
        out: The file to write; .png, .pdf or .svg.
        kind: bars, curves, lines, heatmap or maps. The default is that of the experiment, or bars.
        measure: What to draw: any measure that scale table shows, for example knn, ari or time.
            The default is the experiment's measure, or knn.
        experiment: Name of one experiment, when there are records of several.
        methods: Only these methods or variants.
        datasets: Only these datasets.
        streams: Only these streams.
    """
    from scale.report.plots import draw_figure

    drawn = draw_figure(
        sources,
        out,
        kind=kind,
        measure=measure,
        experiment=experiment,
        methods=methods,
        datasets=datasets,
        streams=streams,
    )
    say(f"{drawn} drawn in {out}")
