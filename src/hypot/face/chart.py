"""The elements of a chart: lines and dots as plain numbers; what to draw, not with which library."""

from collections.abc import Collection, Sequence
from math import ceil, floor, log10
from typing import Literal, NamedTuple

# A path; steps that hold until the next value; a filled area; a filled shape whose outline is the path; a shade from
# top to bottom wherever the value is 1; a broad translucent bar; or a haze for values that change too fast.
Look = Literal["line", "step", "area", "shape", "shade", "band", "haze"]
Symbol = Literal["up", "down", "resize", "evicted", "killed", "dot", "ring", "bar"]
# Vertical and horizontal, in plotly's names.
Side = Literal[
    "middle right",
    "middle left",
    "top center",
    "bottom center",
    "top right",
    "bottom right",
    "top left",
    "bottom left",
]
_ENOUGH_TICKS = 4
AxisKind = Literal["time", "linear", "log", "lanes"]


class Line(NamedTuple):
    """One line. `who` is the policy or reference whose switch shows and hides it; if empty, it is always shown."""

    name: str
    who: str
    tint: str
    # Arrays or tuples; NaN is a gap.
    xs: Collection[float]
    ys: Collection[float]
    look: Look = "line"
    dash: str = "solid"
    width: float = 1.6
    # Whether each point has a marker.
    marked: bool = False
    # What each point shows on hover after its value; empty: nothing.
    texts: tuple[str, ...] = ()


class Dots(NamedTuple):
    """Points with a text on hover: one symbol, size and text each."""

    name: str
    who: str
    tint: str
    xs: tuple[float, ...]
    ys: tuple[float, ...]
    symbols: tuple[Symbol, ...]
    sizes: tuple[float, ...]
    # The lines of text of each point.
    texts: tuple[tuple[str, ...], ...]
    # Labels that are always written next to the points, and on which side.
    labels: tuple[str, ...] = ()
    side: Side = "middle right"


class ChartNote(NamedTuple):
    """A short text at a position."""

    x: float
    y: float
    label: str


class TimeSpan(NamedTuple):
    """The start and end of the time axis, which all charts over time share, in seconds."""

    start: float = 0.0
    end: float = 0.0
    # Whether times are dates; otherwise they are shown as hours.
    dated: bool = False


class Axis(NamedTuple):
    title: str
    kind: AxisKind = "linear"
    # Empty: the renderer chooses.
    ticks: tuple[float, ...] = ()
    # The labels of the ticks; empty: plain numbers.
    label: tuple[str, ...] = ()
    ends: tuple[float, float] | None = None
    # The unit of a value, shown on hover.
    unit: str = ""
    # Whether only whole numbers can be ticks.
    whole: bool = False

    @property
    def tick_labels(self) -> tuple[str, ...]:
        return self.label or tuple([f"{tick:g}" for tick in self.ticks])


class Chart(NamedTuple):
    key: str
    title: str
    label: str
    x: Axis
    y: Axis
    lines: tuple[Line, ...]
    dots: tuple[Dots, ...] = ()
    notes: tuple[ChartNote, ...] = ()
    # Whether the chart needs its own legend.
    legend: bool = False

    @property
    def owners(self) -> set[str]:
        """Every policy and reference that is drawn in it."""
        return {line.who for line in self.lines} | {dots.who for dots in self.dots}

    @property
    def empty(self) -> bool:
        return not any(len(line.xs) for line in self.lines) and not any(dots.xs for dots in self.dots)


def round_ticks(low: float, high: float) -> tuple[tuple[float, ...], tuple[str, ...]]:
    """Round numbers within the ends of a logarithmic scale, denser ones if there are few; and their labels."""
    ticks: tuple[float, ...] = ()
    for digits in ((1,), (1, 3), (1, 2, 5), (1, 1.5, 2, 3, 4, 5, 7)):
        ticks = ticks_at(digits, low, high)
        if len(ticks) >= _ENOUGH_TICKS:
            break
    return ticks, tuple([short(tick) for tick in ticks])


def ticks_at(digits: Sequence[float], low: float, high: float) -> tuple[float, ...]:
    """The numbers within the ends that are one of the digits times a power of ten."""
    powers = range(floor(log10(low)), ceil(log10(high)) + 1)
    ticks = [float(f"{digit}e{power}") for power in powers for digit in digits]
    return tuple([tick for tick in ticks if low <= tick <= high])


def short(tick: float) -> str:
    return f"{tick / 1000:g}k" if tick >= 10_000 else f"{tick:g}"
