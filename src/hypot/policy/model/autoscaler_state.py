"""What an Autoscaler keeps from one decision to the next: columns of plain numbers, not changed in place."""

import base64
import zlib
from array import array
from collections.abc import Iterator, Mapping
from math import floor, inf, isfinite
from typing import Any, Self

from hypot.core.bank.rule import DAY_LENGTH, AutoscalerPast, nothing_learned
from hypot.core.bank.season import DAY, WEEK
from hypot.core.dataclass import dataclass
from hypot.policy.model.autoscaler_checkpoint import checkpoint, restored

CODE = "d"
# Longer columns of numbers are packed: a number in a list takes four times as much memory.
PACKED_FROM = 64


@dataclass(frozen=True, slots=True, eq=False)
class AutoscalerState:
    """What it learned. A decision works on a copy."""

    past: AutoscalerPast

    @classmethod
    def new(cls) -> Self:
        return cls(_packed(nothing_learned()))

    def copy(self) -> "AutoscalerState":
        return AutoscalerState(_copied(self.past))

    @property
    def newest(self) -> float:
        """The newest time in it."""
        past = self.past
        times = [past.learned.last[0], past.learned.first[0], past.counts.since[0], past.sizes.since[0]]
        return max([0.0, *[float(at) for at in times if isfinite(at)]])

    def until(self, now: float) -> "AutoscalerState":
        """Without times in the future."""
        new = self.copy()
        learned = new.past.learned
        for column in (learned.last, learned.first, learned.missing_since, learned.ready_at):
            column[:] = [at if at == inf else min(at, now) for at in column]
        for season, width in ((learned.day, DAY_LENGTH / DAY), (learned.week, 7.0 * DAY_LENGTH / WEEK)):
            season.slot[0] = min(season.slot[0], floor(now / width))
        for bank in (new.past.counts, new.past.sizes):
            bank.since[0] = min(bank.since[0], now)
        return new

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AutoscalerState) and self.past == other.past

    def __hash__(self) -> int:
        return hash(tuple(self.past.learned.last))

    def to_dict(self) -> dict[str, Any]:
        numbers = array(CODE, [number for column in _columns(self.past) for number in column])
        return {"columns": base64.b64encode(zlib.compress(numbers.tobytes())).decode("ascii")}

    def to_checkpoint(self) -> dict[str, Any]:
        """A compact form without the last steps: read again, nothing is released until the longest hold has passed."""
        return {"checkpoint": checkpoint(self.past)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """From either form. Raises ValueError if it cannot be read."""
        if "checkpoint" in data:
            return cls(_packed(restored(str(data["checkpoint"]))))
        past = nothing_learned()
        columns = list(_columns(past))
        size = sum(map(len, columns))
        unpacker = zlib.decompressobj()
        try:
            raw = unpacker.decompress(base64.b64decode(str(data["columns"]), validate=True), 8 * size + 1)
        except (KeyError, zlib.error) as error:
            raise ValueError("what an Autoscaler learned cannot be read") from error
        if len(raw) != 8 * size:
            raise ValueError("what an Autoscaler learned has another form")
        numbers, at = array(CODE, raw), 0
        for column in columns:
            whole = isinstance(column[0], int)
            part = numbers[at : at + len(column)]
            column[:] = [int(number) for number in part] if whole else part.tolist()
            at += len(column)
        return cls(_packed(past))


def _packed(value: Any) -> Any:
    """The same with long columns of numbers in little memory."""
    if isinstance(value, tuple):
        return type(value)(*[_packed(part) for part in value])
    return array(CODE, value) if len(value) >= PACKED_FROM and isinstance(value[0], float) else value


def _copied(value: Any) -> Any:
    return type(value)(*[_copied(part) for part in value]) if isinstance(value, tuple) else value[:]


def _columns(value: Any) -> Iterator[Any]:
    """All columns, in order."""
    for part in value:
        if isinstance(part, tuple):
            yield from _columns(part)
        else:
            yield part
