"""A curve of a run as one line of block characters."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

BLOCKS = "▁▂▃▄▅▆▇"  # without the full block: lines below each other stay apart
ASCII = "_.-=+*#"  # for terminals whose encoding has no blocks
MOST_POINTS = 1024  # an even number


class Curve:
    """Values along the stream; neighbours are averaged when there are more than 1024.

    Parameters
    ----------
    held
        Whether a value holds from its position on, as an evaluation does. Else it belongs to the
        images before it, as the loss of a batch does.
    least
        Value of the lowest character; None is the lowest value.
    """

    def __init__(self, held: bool = False, least: float | None = None) -> None:
        self.held, self.least = held, least
        self.low, self.high, self.last = math.inf, -math.inf, math.nan
        self._points: list[tuple[int, float]] = []

    def add(self, position: int, value: float | None) -> None:
        """Add a value at an image; one that is not finite leaves no mark."""
        if value is None or not math.isfinite(value):
            return
        self.low, self.high, self.last = min(self.low, value), max(self.high, value), value
        points = [*self._points, (position, value)]
        if len(points) > MOST_POINTS and not self.held:
            pairs = zip(points[:-1:2], points[1::2], strict=True)
            points = [*((end, (a + b) / 2) for (_, a), (end, b) in pairs), points[-1]]
        self._points = points  # a new list: another thread may be drawing the old one

    def draw(self, width: int, total: int, now: int, levels: str = BLOCKS) -> str:
        """Return the curve in `width` characters for `total` images, blank after image `now`."""
        points = self._points
        if self.held:
            ends = [position for position, _ in points[1:]] + [max(now, points[-1][0])]
            spans = [(a, b, v) for (a, v), b in zip(points, ends, strict=True)]
        else:
            starts = [0, *(position for position, _ in points)]
            spans = [(a, b, v) for a, (b, v) in zip(starts, points, strict=False)]
        return sparkline(self._columns(spans, width, max(total, 1)), levels, self.least)

    def _columns(
        self, spans: Iterable[tuple[int, int, float]], width: int, total: int
    ) -> list[float | None]:
        """Return the mean in each column, or its last value if values hold."""
        columns: list[list[float]] = [[] for _ in range(width)]
        for start, end, value in spans:
            first = min(start * width // total, width - 1)
            last = min(max(-(-end * width // total) - 1, first), width - 1)
            for column in columns[first : last + 1]:
                column.append(value)
        if self.held:
            return [column[-1] if column else None for column in columns]
        return [sum(column) / len(column) if column else None for column in columns]


def sparkline(
    values: Sequence[float | None], levels: str = BLOCKS, least: float | None = None
) -> str:
    """Return one character for each value; None is blank.

    The lowest character stands for `least`, by default the lowest value; the highest character
    for the highest value.

    Examples
    --------
    >>> sparkline([0, 1, None, 6])
    '▁▂ ▇'
    >>> sparkline([3, 3])
    '▄▄'
    >>> sparkline([3, 3], least=0)
    '▇▇'
    """
    known = [value for value in values if value is not None]
    if not known:
        return " " * len(values)
    low, high = min(known) if least is None else least, max(known)
    if high == low:
        return "".join(" " if value is None else levels[3] for value in values)
    top = len(levels) - 1
    return "".join(
        " " if value is None else levels[round((value - low) / (high - low) * top)]
        for value in values
    )
