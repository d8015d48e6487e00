"""Places labels next to their points, so that none overlaps another."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import log10
from typing import NamedTuple, get_args

from hypot.face.chart import Axis, Dots, Line, Side

# The size of a figure on a phone in pixels, and the size of a letter.
_WIDTH, _HEIGHT = 320.0, 250.0
_LETTER, _LINE, _POINT, _BESIDE = 6.4, 14.0, 5.0, 8.0
# The number of parts into which a line is divided, and half its width.
_PARTS, _STROKE = 40, 1.5
_SIDES: tuple[Side, ...] = get_args(Side)


class _Box(NamedTuple):
    left: float
    right: float
    bottom: float
    top: float

    def meets(self, other: "_Box") -> bool:
        apart = (
            self.right <= other.left or other.right <= self.left or self.top <= other.bottom or other.top <= self.bottom
        )
        return not apart

    @property
    def inside(self) -> bool:
        return self.left >= 0 and self.right <= _WIDTH and self.bottom >= 0 and self.top <= _HEIGHT


def labelled(points: Sequence[Dots], lines: Sequence[Line], x: Axis, y: Axis) -> list[Dots]:
    """Single points, each with its label on a free side, if possible also free of lines.

    A point without a free side has no label; its text is shown on hover.
    """
    places = [(_across(point.xs[0], x) * _WIDTH, _across(point.ys[0], y) * _HEIGHT) for point in points]
    taken = [_around(*place, _POINT) for place in places]
    crossed = [box for line in lines for box in _along(line, x, y)]
    made = []
    for point, place in zip(points, places, strict=True):
        boxes = {side: _box(place, side, point.labels[0]) for side in _SIDES}
        free = [side for side, box in boxes.items() if box.inside and not any(box.meets(one) for one in taken)]
        if not free:
            made.append(point._replace(labels=()))
            continue
        side = next((one for one in free if not any(boxes[one].meets(line) for line in crossed)), free[0])
        taken.append(boxes[side])
        made.append(point._replace(side=side))
    return made


def _around(x: float, y: float, far: float) -> _Box:
    return _Box(x - far, x + far, y - far, y + far)


def _along(line: Line, x: Axis, y: Axis) -> Iterator[_Box]:
    """Small boxes along a line, from each point to the next."""
    places = [(_across(a, x) * _WIDTH, _across(b, y) * _HEIGHT) for a, b in zip(line.xs, line.ys, strict=True)]
    for (left, low), (right, high) in pairwise(places):
        for i in range(_PARTS + 1):
            share = i / _PARTS
            yield _around(left + share * (right - left), low + share * (high - low), _STROKE)


def _across(value: float, axis: Axis) -> float:
    """The position on an axis, from 0 at one end to 1 at the other."""
    low, high = axis.ends or (0.0, 1.0)
    if axis.kind == "log":
        low, high, value = log10(low), log10(high), log10(value)
    return (value - low) / (high - low)


def _box(place: tuple[float, float], side: Side, label: str) -> _Box:
    x, y = place
    width = _LETTER * len(label)
    up, across = side.split()
    bottom = {"top": y + _BESIDE, "bottom": y - _BESIDE - _LINE, "middle": y - _LINE / 2}[up]
    beside = _BESIDE if up == "middle" else 0.0
    left = {"right": x + beside, "left": x - beside - width, "center": x - width / 2}[across]
    return _Box(left, left + width, bottom, bottom + _LINE)
