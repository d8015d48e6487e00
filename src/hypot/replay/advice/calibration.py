"""What is known about a workload, and from where: the world that its history is replayed in."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple

from hypot.replay.engine.demand import ticks_of
from hypot.replay.engine.used_numbers import UsedNumber, numbers_used
from hypot.replay.policies.policy import Policy
from hypot.replay.score.columns import DAY
from hypot.replay.traces.trace import Trace
from hypot.replay.world.file import WorldFile
from hypot.replay.world.parameters import Signal, World
from hypot.replay.world.units import sections, shown_in

Origin = Literal["measured", "manifest", "world", "prices", "assumed"]
# A history is cut in two: on the first part settings are chosen, and on the second everything is judged.
TUNE = 0.5
# A window is a day where there are so many of them, and at most so many windows are made.
FEWEST_WINDOWS, MOST_WINDOWS = 3, 28
# The numbers that say what a workload is; those of a cluster are the same for all workloads.
_OF_WORKLOADS = (
    "demand.unit",
    "service.work",
    "service.baseCpu",
    "memory.base",
    "memory.perRequest",
    "pods.start",
    "workload.replicas",
    "workload.cpu",
    "workload.cpuLimit",
    "workload.memory",
    "workload.memoryLimit",
    "prices.cpu",
    "prices.memory",
)
_ORIGINS: Mapping[str, Origin] = {"default": "assumed", "manifest": "manifest", "trace": "measured"}


class Price(NamedTuple):
    """What an hour costs: a core, and a gigabyte (10^9 bytes)."""

    cpu: float
    memory: float
    # Where it is written.
    source: str


class Calibrated(NamedTuple):
    """A number of the world that a workload is replayed in, and where it comes from."""

    key: str
    value: Any
    text: str
    origin: Origin
    source: str


def world_for(trace: Trace, given: WorldFile, names: Mapping[str, Signal], price: Price | None) -> WorldFile:
    """The world of one workload: scored in windows, with its own price, and with the metrics that are tried."""
    world, known = given.world, set(given.given)
    scoring = world.scoring
    if "scoring.tune" not in known:
        scoring = replace(scoring, tune=TUNE)
    judged = ticks_of(trace, world.tick) * world.tick
    judged -= max(scoring.skip, scoring.tune * judged)
    if "scoring.windows" not in known:
        days = int(judged // DAY)
        scoring = replace(scoring, windows=min(days, MOST_WINDOWS) if days >= FEWEST_WINDOWS else 1)
    metrics = replace(world.metrics, names={**names, **world.metrics.names})
    world = replace(world, scoring=scoring, metrics=metrics)
    if price is not None:
        world = replace(world, prices=replace(world.prices, cpu=price.cpu, memory=price.memory))
        known |= {"prices.cpu", "prices.memory"}
    return WorldFile(world, frozenset(known), given.file)


def numbers_of(trace: Trace, given: WorldFile, policies: Sequence[Policy]) -> list[UsedNumber]:
    """What the world file does not give, as for `hypot replay`; the shapes of lower bounds decide nothing here."""
    return [one for one in numbers_used(given, policies, [trace.unit], trace.assumed) if one.section != "shapes"]


def calibration(numbers: Iterable[UsedNumber], given: WorldFile, price: Price | None) -> tuple[Calibrated, ...]:
    """What is known of the workload itself, in the order of the world's documentation."""
    found = {one.key: _used(one) for one in numbers}
    for section in sections():
        for one in section.parameters:
            key = f"{section.name}.{one.name}"
            if key not in found and key in given.given:
                value = getattr(getattr(given.world, section.attribute), one.attribute)
                priced = price is not None and section.name == "prices"
                source = price.source if priced and price is not None else given.file
                origin: Origin = "prices" if priced else "world"
                found[key] = Calibrated(key, value, shown_in(one.unit, value), origin, source)
    return tuple([found[key] for key in _OF_WORKLOADS if key in found])


def _used(one: UsedNumber) -> Calibrated:
    return Calibrated(one.key, one.value, one.text, _ORIGINS[one.origin], one.source)


def demand_is_requests(trace: Trace, world: World) -> bool:
    """Whether the history counts requests, not cores."""
    return (trace.unit or world.demand.unit) == "rps"
