"""What the live panel of a run looks like, on a terminal of any size."""

from __future__ import annotations

import resource
from typing import Any

from rich.box import ROUNDED
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.measure import Measurement
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from scale.evaluate import FLOORS, MEASURES, Guard
from scale.runs.curve import ASCII, BLOCKS, Curve

SHOWN = {name: measure for name, measure in MEASURES.items() if measure.on_screen}
HIDDEN = ("kind", "batch", "position", "memory", "memory_before", "collapsed", "held_back")
TINY, FRAMED, WIDE = 24, 34, 64
"""Columns from which there are curves, a frame, and a note beside each curve."""
ROOMY = 20  # lines from which the parts are set apart
MOST_CURVES = 3  # of a learner's own numbers
KNN, VIEWS = "kNN %", "view retrieval %"  # titles of curves
BORDER = 4  # columns of the frame
ECHO = 2  # columns beside it: there a terminal writes ^C, and a line break would spoil the drawing
NUMBER = 5  # columns of a number in the table


class View:
    """The state of a run, drawn as one panel."""

    def __init__(self) -> None:
        self.title = ""
        self.method = ""
        self.phase = "loading the images"
        self.left = ""
        self.speed = ""
        self.position = self.total = self.batch_size = 0
        self.memory: list[int] = []
        self.curves: dict[str, Curve] = {}
        self.floors: dict[str, dict[str, Any]] = {}
        self.last: dict[str, Any] = {}
        self.closed = False
        self._held = {KNN: Curve(held=True), VIEWS: Curve(held=True)}

    def batch(self, record: dict[str, Any]) -> None:
        """Take over the record of a batch."""
        self.position = record["position"]
        self.memory = record.get("memory", [])
        for name, value in record.items():
            if name not in HIDDEN:
                curve = self.curves.get(name, Curve())
                curve.add(self.position, value)
                self.curves = {**self.curves, name: curve}  # another thread may be drawing

    def evaluation(self, record: dict[str, Any]) -> None:
        """Take over the record of an evaluation."""
        self.last = record
        guard = record.get("guard") or {}
        self._held[KNN].add(record["position"], record.get("knn"))
        self._held[VIEWS].add(record["position"], guard.get("score"))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        framed = options.max_width >= FRAMED
        width = options.max_width - ECHO * framed
        inner = options.update(width=width - BORDER * framed)
        height = options.max_height - 2 * framed - 1  # of the terminal, not of a table around it
        apart = height >= ROOMY
        kept: list[RenderableType] = []
        for section in self._sections(inner.max_width, options.ascii_only):
            gap = [Text()] if apart and kept else []
            lines = len(console.render_lines(section, inner)) + len(gap)
            if kept and not self.closed and lines > height:
                break
            height -= lines
            kept += [*gap, section]
        if not framed:
            yield Group(*kept)
            return
        title = Text(self.title, style="bold", overflow="ellipsis", no_wrap=True)
        yield Panel(
            Group(*kept),
            box=ROUNDED,
            title=title if self.title else None,
            title_align="left",
            width=width,
            border_style="cyan",
            padding=(0, 1),
        )

    def _sections(self, width: int, ascii_only: bool) -> list[RenderableType]:
        """Return the parts of the panel; the first ones stay on a low terminal."""
        sections: list[RenderableType] = [self._curves(width, ascii_only)]
        if self.floors or "knn" in self.last:
            sections.append(self._measures(width))
        if "guard" in self.last:
            told = str(Guard.from_json(self.last["guard"]))
            sections.append(Text.assemble(("without labels  ", "dim"), told))
        return sections

    def _curves(self, width: int, ascii_only: bool) -> RenderableType:
        wide, tiny = width >= WIDE, width < TINY
        grid = Table.grid(padding=(0, 2 if wide else 1, 0, 0), expand=not tiny)
        grid.add_column(style="dim", no_wrap=True)
        grid.add_column(justify="right", no_wrap=True)
        if not tiny:
            grid.add_column(ratio=1)
        if wide:
            grid.add_column(style="dim", no_wrap=True)

        def row(label: str, value: str, line: RenderableType, note: str) -> None:
            cells = [line, note][: (not tiny) + wide]
            grid.add_row(_cut(label, width // 2 if not tiny else width - NUMBER - 1), value, *cells)

        share = f"{100 * self.position // self.total} %" if self.total else ""
        bar = ProgressBar(
            total=self.total or 1,
            completed=self.position,
            complete_style="cyan",
            finished_style="green",
        )
        row("images", share, bar, self.left)
        for name, curve in self._shown_curves().items():
            style = "green" if curve.held else "blue"
            line = _Line(curve, self.total, self.position, style, ascii_only)
            row(name, _short(curve.last), line, f"{_short(curve.low)} to {_short(curve.high)}")
        if sum(self.memory):
            classes = f"{sum(count > 0 for count in self.memory)} of {len(self.memory)} classes"
            row("memory", str(sum(self.memory)), _Bars(self.memory, ascii_only), classes)
        return Group(grid, self._counts(wide))

    def _shown_curves(self) -> dict[str, Curve]:
        """Return the curves by their titles: the learner's numbers, kNN, effective rank."""
        own = {
            name.replace("_", " "): curve
            for name, curve in self.curves.items()
            if name != "effective_rank"
        }
        shown = dict(list(own.items())[:MOST_CURVES])
        labelled = self._held[KNN].last == self._held[KNN].last  # not NaN
        name = KNN if labelled else VIEWS
        shown[name] = self._held[name]
        if "effective_rank" in self.curves:
            shown["effective rank"] = self.curves["effective_rank"]
        return {name: curve for name, curve in shown.items() if curve.last == curve.last}

    def _counts(self, wide: bool) -> Text:
        parts = [self.phase] if self.phase else []
        if self.total:
            batch, batches = (-(-n // max(self.batch_size, 1)) for n in (self.position, self.total))
            parts += [f"{self.position} of {self.total} images", f"batch {batch} of {batches}"]
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        parts += [self.speed, "" if wide else self.left, f"peak {peak:.0f} MB"]
        return Text(", ".join(part for part in parts if part))

    def _measures(self, width: int) -> RenderableType:
        """Return the last evaluation beside the floors, with the columns that fit."""
        rows = {name: row for name, row in self.floors.items() if name != self.method}
        given = self.last if "knn" in self.last else next(iter(rows.values()), {})
        labels = [FLOORS.get(name, name) for name in rows]
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
        label = max(len(one) for one in [*labels, self.method])
        table.add_column("", no_wrap=True)
        names: list[str] = []
        left = width - label
        for name in (name for name in SHOWN if name in given):
            title = SHOWN[name].title
            needs = max(NUMBER, *(len(word) for word in title.split()))
            left -= needs + 2
            if names and left < 0:
                break
            names.append(name)
            table.add_column(title, justify="right", vertical="bottom", width=needs)
        room = max(width - NUMBER - 2, 1) if width < TINY else width
        for label_, row in zip(labels, rows.values(), strict=True):
            table.add_row(_cut(label_, room), *(_cell(row, name) for name in names))
        mine = [Text(_cell(self.last, name), style=self._colour(name, rows)) for name in names]
        table.add_row(Text(_cut(self.method, room), style="bold"), *mine)
        at = f"last evaluation, image {self.last['position']}" if self.last else "floors"
        return Group(Text(at, style="dim"), table)

    def _colour(self, name: str, rows: dict[str, dict[str, Any]]) -> str:
        """Return bold, and green for a measure above all floors."""
        floors = [row[name] for row in rows.values() if name in row]
        if not SHOWN[name].higher_is_better or not floors or name not in self.last:
            return "bold"
        return "bold green" if self.last[name] > max(floors) else "bold"


class _Line:
    """A curve that takes the width it gets."""

    def __init__(
        self, curve: Curve, total: int, now: int, style: str, ascii_only: bool = False
    ) -> None:
        self.curve, self.total, self.now, self.style = curve, total, now, style
        self.levels = ASCII if ascii_only else BLOCKS

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        drawn = self.curve.draw(options.max_width, self.total, self.now, self.levels)
        yield Text(drawn, style=self.style, no_wrap=True)

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement(1, options.max_width)


class _Bars(_Line):
    """The memory by class: one bar for each class, in the order of the classes."""

    def __init__(self, counts: list[int], ascii_only: bool) -> None:
        curve = Curve(least=0)
        for i, count in enumerate(counts):
            curve.add(i + 1, count)
        super().__init__(curve, len(counts), len(counts), "magenta", ascii_only)


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: max(width, 1)]


def _short(value: float) -> str:
    return f"{value:#.3g}".rstrip(".") if abs(value) < 1000 else f"{value:.0f}"


def _cell(row: dict[str, Any], name: str) -> str:
    return f"{row[name]:.1f}" if name in row else ""
