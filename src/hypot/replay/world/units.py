"""Every parameter of a world by its name in a file: its unit, and the range of its values.

The parameters are the fields of `parameters.World`; nothing is named twice. Only ranges are here, because a range is
about what users write.
"""

from dataclasses import fields, is_dataclass
from functools import lru_cache
from math import isfinite
from types import NoneType
from typing import Any, NamedTuple, get_args

from hypot.core.amount import readable
from hypot.kinds.units import COUNT, MEMORY, PLAIN, SECONDS, SHARE, TRUTH, Unit
from hypot.kinds.values.names import wire_name
from hypot.replay.world.parameters import Signal, World

SIGNALS: tuple[str, ...] = get_args(Signal)
_AMOUNT = MEMORY.schema
_LONGEST_TEXT = 100
_TEN_YEARS = 10 * 365 * 86400.0
_MILLICORE = 0.001
_MOST_CORES = 1_000_000
_MOST_BYTES = 64 * 2**40

UNITS: dict[str, Unit] = {
    "number": PLAIN,
    "share": Unit("share", SHARE.read, float, SHARE.schema, "a share such as 0.5"),
    "seconds": Unit("seconds", SECONDS.read, float, SECONDS.schema, "a duration such as 15s, 2h30m or 90"),
    "cores": Unit("cores", PLAIN.read, float, _AMOUNT, "cores such as 500m or 1.5"),
    "bytes": Unit("bytes", MEMORY.read, int, _AMOUNT, "a quantity such as 200Mi or 2Gi"),
    "bytes/second": Unit("bytes/second", PLAIN.read, float, _AMOUNT, "bytes per second such as 35k or 2Mi"),
    "dollars": Unit("dollars", PLAIN.read, float, PLAIN.schema, "dollars such as 0.04"),
    "count": COUNT,
    "truth": TRUTH,
}


class ValueRange(NamedTuple):
    """The range of a value; an open end does not belong to it."""

    least: float
    most: float
    open_low: bool = False
    open_high: bool = False

    def holds(self, value: float) -> bool:
        if not isfinite(value) or not self.least <= value <= self.most:
            return False
        return not (self.open_low and value == self.least) and not (self.open_high and value == self.most)

    def message(self, unit: str) -> str:
        high = f"{'below' if self.open_high else 'at most'} {shown_in(unit, self.most)}"
        return f"{self._low(unit)} and {high}"

    def short_text(self, unit: str) -> str:
        """The same without an upper end that all values of this unit share and that no realistic value reaches."""
        usual = self.most == _RANGES[unit].most and unit != "share"
        return self._low(unit) if usual else self.message(unit)

    def _low(self, unit: str) -> str:
        return f"{'above' if self.open_low else 'at least'} {shown_in(unit, self.least)}"


NO_RANGE = ValueRange(0, 0)
_PART = ValueRange(0, 1, open_low=True)
_RANGES = {
    "number": ValueRange(0, 1e12),
    "share": ValueRange(0, 1),
    "seconds": ValueRange(0, _TEN_YEARS),
    "cores": ValueRange(0, _MOST_CORES),
    "bytes": ValueRange(0, _MOST_BYTES),
    "bytes/second": ValueRange(0, _MOST_BYTES),
    "dollars": ValueRange(0, 1e9),
    "count": ValueRange(0, 1_000_000),
}
_SPAN = ValueRange(0, _TEN_YEARS, open_low=True)
_SOME_CPU, _SOME_MEMORY = ValueRange(_MILLICORE, _MOST_CORES), ValueRange(1, _MOST_BYTES)
_REPLICAS = ValueRange(1, 1_000_000)
# Parameters whose range is not the usual one of their unit.
_OWN_RANGES = {
    "tick": ValueRange(0, 300, open_low=True),
    "seed": ValueRange(0, 2**32 - 1),
    "demand.scale": ValueRange(0, 1e12, open_low=True),
    "demand.peak": ValueRange(0, _MOST_CORES, open_low=True),
    "demand.noise": ValueRange(0, 3),
    "demand.dropsPerDay": ValueRange(0, 1000),
    "demand.dropFactor": _PART,
    "demand.dropLength": _SPAN,
    "service.work": _SPAN,
    "service.deadline": _SPAN,
    "service.slo": ValueRange(0, 1, open_low=True, open_high=True),
    "service.timeout": _SPAN,
    "service.baseShare": ValueRange(0, 1, open_high=True),
    "service.skew": ValueRange(0, 10),
    "service.useful": _PART,
    "memory.cacheFill": _SPAN,
    "memory.rise": _SPAN,
    "memory.fall": _SPAN,
    "memory.useful": _PART,
    "pods.headroom": ValueRange(0, 100),
    "metrics.window": _SPAN,
    "nodes.cpu": _SOME_CPU,
    "nodes.memory": _SOME_MEMORY,
    "nodes.reserved": ValueRange(0, 1, open_high=True),
    "workload.replicas": _REPLICAS,
    "workload.cpu": _SOME_CPU,
    "workload.memory": _SOME_MEMORY,
    "workload.cpuLimit": _SOME_CPU,
    "workload.memoryLimit": _SOME_MEMORY,
    "shapes.minReplicas": _REPLICAS,
    "shapes.maxReplicas": _REPLICAS,
    "shapes.minCpu": _SOME_CPU,
    "shapes.maxCpu": _SOME_CPU,
    "shapes.minMemory": _SOME_MEMORY,
    "shapes.maxMemory": _SOME_MEMORY,
    "scoring.windows": ValueRange(1, 1000),
    "scoring.tune": ValueRange(0, 1, open_high=True),
}


class Parameter(NamedTuple):
    """One parameter: its name in a file and in Python, and what is known about it."""

    name: str
    attribute: str
    unit: str
    range: ValueRange
    default: Any
    why: str
    optional: bool = False
    choices: tuple[str, ...] = ()


class Section(NamedTuple):
    """Parameters that belong together; the section at the top of a file has no name."""

    name: str
    attribute: str
    made: type[Any]
    why: str
    parameters: tuple[Parameter, ...]


# The fields of an element of a list of spans or drops.
SPAN_PARTS = (
    Parameter("start", "start", "seconds", _RANGES["seconds"], None, "When it begins, from the start of the replay."),
    Parameter("end", "end", "seconds", _RANGES["seconds"], None, "When it ends."),
)
DROP_PARTS = (*SPAN_PARTS, Parameter("factor", "factor", "share", _PART, None, "The share of its work a core does."))


@lru_cache(1)
def sections() -> tuple[Section, ...]:
    """All parameters: those at the top of a file first, then those of each section."""
    top = [f for f in fields(World) if not is_dataclass(f.type)]
    parts = [f for f in fields(World) if is_dataclass(f.type)]
    found = [Section("", "", World, World.__doc__ or "", tuple([_parameter("", f) for f in top]))]
    for f in parts:
        name = wire_name(f.name)
        of_part: Any = f.type
        parameters = tuple([_parameter(f"{name}.", one) for one in fields(of_part)])
        found.append(Section(name, f.name, of_part, f.metadata["why"], parameters))
    return tuple(found)


def _parameter(prefix: str, f: Any) -> Parameter:
    name, unit = wire_name(f.name), f.metadata["unit"]
    held = _OWN_RANGES.get(prefix + name, _RANGES.get(unit, NO_RANGE))
    default = f.default_factory() if callable(f.default_factory) else f.default
    types = get_args(f.type)
    choices = types if unit == "word" else ()
    return Parameter(name, f.name, unit, held, default, f.metadata["why"], NoneType in types, choices)


def value_in(parameter: Parameter, written: Any) -> Any:
    """The value as the world stores it. Raises ValueError with a text that follows the name and the value."""
    unit = UNITS[parameter.unit]
    kinds = unit.schema["type"]
    is_wrong_word = isinstance(written, str) and ("string" not in kinds or len(written) > _LONGEST_TEXT)
    if is_wrong_word or not isinstance(written, str | int | float) or isinstance(written, bool) != (kinds == "boolean"):
        raise ValueError(f"is not {unit.example}")
    try:
        value = unit.read(written)
    except (ValueError, TypeError, OverflowError) as error:
        raise ValueError(f"is not {unit.example}") from error
    if not isinstance(value, bool) and not parameter.range.holds(value):
        raise ValueError(f"must be {parameter.range.message(parameter.unit)}")
    return value


def shown_in(unit: str, value: Any) -> str:
    """A value with its unit, as users write it."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    if unit == "bytes":
        return readable("memory", int(value))
    return _duration_text(value) if unit == "seconds" else plain_text(value)


def _duration_text(seconds: float) -> str:
    for unit, length in (("h", 3600), ("m", 60)):
        if seconds >= length and seconds % length == 0:
            return f"{int(seconds // length)}{unit}"
    return f"{plain_text(seconds)}s"


def plain_text(value: Any) -> str:
    """A number without a redundant fraction or exponent."""
    if not isinstance(value, float):
        return str(value)
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
