"""Bar charts over time as numbers for an SVG: drawn on the server, without any script."""

from collections.abc import Sequence

import msgspec

#: The SVG is stretched to its place on the page, so these are only proportions.
WIDTH, HEIGHT = 600.0, 160.0
#: The gap between two bars, as a fraction of the width of one.
_GAP = 0.25


class Series(msgspec.Struct, frozen=True):
    #: What is counted, for the legend.
    name: str
    #: A class of the stylesheet: good, warn, bad, info.
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
    #: The full height, so that empty columns have a tooltip too.
    x: float
    width: float
    bars: tuple[Rectangle, ...]


class Plot(msgspec.Struct, frozen=True):
    columns: tuple[Column, ...]
    series: tuple[Series, ...]
    #: The value at full height.
    top: float
    labels: tuple[str, ...]
    #: Whether the sum of a series makes sense.
    has_totals: bool = True

    @property
    def totals(self) -> tuple[float, ...]:
        return tuple(sum(series.values) for series in self.series)

    @property
    def is_empty(self) -> bool:
        return not any(self.totals)


def stacked_bars(
    labels: Sequence[str], series: Sequence[Series], *, has_totals: bool = True
) -> Plot:
    """Stack the values of all series at each label; the highest stack fills the height."""
    stacks = [sum(one.values[at] for one in series) for at in range(len(labels))]
    top = max(stacks, default=0) or 1
    step = WIDTH / max(len(labels), 1)
    columns = tuple(
        Column(_words(label, at, series), at * step, step, _stack(at, step, top, series))
        for at, label in enumerate(labels)
    )
    return Plot(columns, tuple(series), top, tuple(labels), has_totals)


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
    said = ", ".join(f"{one.values[at]:g} {one.name}" for one in series if one.values[at])
    return f"{label}: {said or 'nothing'}"
