"""What a figure is made of: lines and dots in plain numbers; what to draw, not with what."""

from math import ceil, floor, log10
from typing import Literal, NamedTuple

from hypot.replay.world.record import Floats

# Along a path, in steps that hold until the next value, over a filled ground, as a shade from top to bottom wherever it
# is 1, as a broad bar that others can be seen through, or as a haze of what swings too fast.
Look = Literal["line", "step", "area", "shade", "band", "haze"]
Symbol = Literal["up", "down", "resize", "evicted", "killed", "dot", "ring", "bar"]
# Up and across, as plotly names it.
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
Kind = Literal["time", "linear", "log", "lanes"]


class Line(NamedTuple):
    """One line. `who` is the policy or reference whose switch shows and hides it; nobody's is always there."""

    name: str
    who: str
    tint: str
    xs: Floats
    ys: Floats
    look: Look = "line"
    dash: str = "solid"
    width: float = 1.6


class Dots(NamedTuple):
    """Points that say something when they are pointed at: one symbol, size and text each."""

    name: str
    who: str
    tint: str
    xs: tuple[float, ...]
    ys: tuple[float, ...]
    symbols: tuple[Symbol, ...]
    sizes: tuple[float, ...]
    # Lines of text each.
    texts: tuple[tuple[str, ...], ...]
    # Written beside the points, always, and where.
    labels: tuple[str, ...] = ()
    side: Side = "middle right"


class Note(NamedTuple):
    """A few words at a place."""

    x: float
    y: float
    label: str


class Axis(NamedTuple):
    title: str
    kind: Kind = "linear"
    # Where to write what; nothing where the drawer may choose.
    ticks: tuple[float, ...] = ()
    label: tuple[str, ...] = ()
    ends: tuple[float, float] | None = None
    # What a value is counted in, for those who point at it.
    unit: str = ""


class Chart(NamedTuple):
    key: str
    title: str
    label: str
    x: Axis
    y: Axis
    lines: tuple[Line, ...]
    dots: tuple[Dots, ...] = ()
    notes: tuple[Note, ...] = ()
    # Whether its lines are its own and must be named beside it.
    legend: bool = False

    @property
    def owners(self) -> set[str]:
        """Everybody who is drawn in it."""
        return {line.who for line in self.lines} | {dots.who for dots in self.dots}

    @property
    def empty(self) -> bool:
        return not any(len(line.xs) for line in self.lines) and not any(dots.xs for dots in self.dots)


def round_ticks(low: float, high: float) -> tuple[tuple[float, ...], tuple[str, ...]]:
    """Round numbers within the ends of a logarithmic scale, the closer ones where there are few; and how they read."""
    powers = range(floor(log10(low)), ceil(log10(high)) + 1)
    ticks: list[float] = []
    for digits in ((1,), (1, 3), (1, 2, 5), (1, 1.5, 2, 3, 4, 5, 7)):
        ticks = [float(f"{digit}e{power}") for power in powers for digit in digits]
        ticks = [tick for tick in ticks if low <= tick <= high]
        if len(ticks) >= _ENOUGH_TICKS:
            break
    return tuple(ticks), tuple([short(tick) for tick in ticks])


def short(tick: float) -> str:
    return f"{tick / 1000:g}k" if tick >= 10_000 else f"{tick:g}"
