"""Bar charts over time as numbers for an SVG: drawn on the server, without any script."""

import math
from collections.abc import Sequence

import msgspec

#: The SVG is stretched to fit the page, so these are only proportions.
WIDTH, HEIGHT = 600.0, 160.0
#: The gap between two bars, as a fraction of the width of one.
_GAP = 0.25
#: The maximum number of steps of the axis, and the sizes of a step, times a power of ten.
_MOST_PARTS = 4
_ROUND = (1.0, 2.0, 2.5, 5.0, 10.0)
_WHOLE = (1.0, 2.0, 5.0, 10.0)


class Series(msgspec.Struct, frozen=True):
    #: The label in the legend.
    name: str
    #: A class in the stylesheet: good, warn, bad or info.
    tone: str
    values: tuple[float, ...]


class Rectangle(msgspec.Struct, frozen=True):
    x: float
    y: float
    width: float
    height: float
    tone: str


class Column(msgspec.Struct, frozen=True):
    """The bars stacked at one point in time."""

    #: The tooltip.
    words: str
    #: The full height, so that empty columns also have a tooltip.
    x: float
    width: float
    bars: tuple[Rectangle, ...]


class Plot(msgspec.Struct, frozen=True):
    columns: tuple[Column, ...]
    series: tuple[Series, ...]
    #: The round values of the axis, at equal distances from full height down to 0.
    ticks: tuple[float, ...]
    labels: tuple[str, ...]
    #: Whether the sum of a series makes sense.
    has_totals: bool = True

    @property
    def top(self) -> float:
        """The value at full height."""
        return self.ticks[0]

    @property
    def lines(self) -> tuple[float, ...]:
        """The height of the line at each tick, half a unit inside, so that no line is cut off."""
        parts = len(self.ticks) - 1
        heights = (HEIGHT * at / parts for at in range(parts + 1))
        return tuple(min(max(y, 0.5), HEIGHT - 0.5) for y in heights)

    @property
    def totals(self) -> tuple[float, ...]:
        return tuple(sum(series.values) for series in self.series)

    @property
    def is_empty(self) -> bool:
        return not any(self.totals)


def stacked_bars(
    labels: Sequence[str], series: Sequence[Series], *, has_totals: bool = True
) -> Plot:
    """Stack the values of all series at each label; the axis ends at a round number."""
    stacks = [sum(one.values[at] for one in series) for at in range(len(labels))]
    ticks = round_ticks(max(stacks, default=0), is_whole=all(map(_is_whole, stacks)))
    top = ticks[0]
    step = WIDTH / max(len(labels), 1)
    columns = tuple(
        Column(_words(label, at, series), at * step, step, _stack(at, step, top, series))
        for at, label in enumerate(labels)
    )
    return Plot(columns, tuple(series), ticks, tuple(labels), has_totals)


def round_ticks(highest: float, *, is_whole: bool) -> tuple[float, ...]:
    """Return round numbers from the first that is not below *highest* down to 0."""
    part = (highest or 1) / _MOST_PARTS
    unit = 10.0 ** math.floor(math.log10(part))
    sizes = _WHOLE if is_whole else _ROUND
    size = next(unit * size for size in sizes if unit * size >= part * (1 - 1e-9))
    size = max(size, 1.0) if is_whole else size
    parts = max(math.ceil((highest or 1) / size - 1e-9), 1)
    return tuple(round(size * at, 9) for at in range(parts, -1, -1))


def _is_whole(value: float) -> bool:
    return float(value).is_integer()


def _stack(at: int, step: float, top: float, series: Sequence[Series]) -> tuple[Rectangle, ...]:
    bars, used = [], 0.0
    for one in series:
        height = one.values[at] / top * HEIGHT
        if height:
            used += height
            x, width = (at + _GAP / 2) * step, (1 - _GAP) * step
            bars.append(Rectangle(x, HEIGHT - used, width, height, one.tone))
    return tuple(bars)


def _words(label: str, at: int, series: Sequence[Series]) -> str:
    values = ", ".join(f"{one.values[at]:g} {one.name}" for one in series if one.values[at])
    return f"{label}: {values or 'nothing'}"
