"""Which numbers of the world a replay depends on that the world file does not give, and where they come from."""

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, Literal, NamedTuple

from hypot.kinds.catalogue import sizes_pods
from hypot.replay.engine.engine import may_decide_by_memory
from hypot.replay.policies.policy import Policy
from hypot.replay.traces.reading import OPTION, Assumed
from hypot.replay.traces.trace import Unit
from hypot.replay.world.file import WorldFile
from hypot.replay.world.parameters import World
from hypot.replay.world.units import NO_RANGE, Parameter, sections, shown_in

UNIT = "demand.unit"
# The section of what is assumed of traces; its keys are those of [traces] in the configuration.
TRACES = "traces"
NOTHING_SAYS = f"nothing says what a value is; {OPTION} unit=requests if each row counts its requests, or unit=cores"
_IN_WORKLOAD = "workload."


class UsedNumber(NamedTuple):
    """A number that is not from the world file."""

    section: str
    parameter: Parameter
    value: Any
    # The default is an assumption; a manifest or a trace is evidence.
    origin: Literal["default", "manifest", "trace"]
    # The object and its place, as `Deployment/web (web.yaml:1)`; empty for a default.
    source: str
    # The policies that depend on it.
    policies: tuple[str, ...]

    @property
    def key(self) -> str:
        """Its name in a world file."""
        return f"{self.section}.{self.parameter.name}"

    @property
    def text(self) -> str:
        shown = shown_in(self.parameter.unit, self.value)
        return f"${shown}" if self.parameter.unit == "dollars" else shown


class _Rule(NamedTuple):
    """Parameters, and the policies whose results depend on them."""

    matters: Callable[[Policy, World], bool]
    keys: tuple[str, ...]


def _always(_: Policy, __: World) -> bool:
    return True


def _decides(policy: Policy, _: World) -> bool:
    return bool(policy.autoscalers)


def _sizes(policy: Policy, _: World) -> bool:
    return any(map(sizes_pods, policy.autoscalers))


def _uses_memory(policy: Policy, _: World) -> bool:
    return any(sizes_pods(one) or may_decide_by_memory(one) for one in policy.autoscalers)


def _is_unlimited(policy: Policy, _: World) -> bool:
    return policy.workload.cpu_limit is None


def _has_nodes(_: Policy, world: World) -> bool:
    return world.nodes.start is not None


# Parameters of effects that are absent by default, such as noise, drops, leaks and skew, are not among them.
_RULES = (
    _Rule(_always, ("service.work", "service.deadline", "service.slo", "service.timeout")),
    _Rule(_always, ("service.baseCpu", "service.useful")),
    _Rule(_uses_memory, ("memory.base", "memory.perRequest")),
    _Rule(_decides, ("pods.start", "metrics.window", "metrics.lag")),
    _Rule(_is_unlimited, ("pods.headroom",)),
    _Rule(_sizes, ("resize.inPlace", "prices.restart")),
    _Rule(_has_nodes, ("nodes.cpu", "nodes.memory", "nodes.provisioning")),
    _Rule(_always, ("shapes.minReplicas", "shapes.maxReplicas", "shapes.minCpu", "shapes.maxCpu")),
    _Rule(_always, ("shapes.minMemory", "shapes.maxMemory")),
    _Rule(_always, ("prices.cpu", "prices.memory", "prices.late")),
)


def numbers_used(
    given: WorldFile, policies: Sequence[Policy], units: Collection[Unit | None], assumed: Sequence[Assumed] = ()
) -> list[UsedNumber]:
    """Of these policies and of traces in these units, in the order of the world's documentation.

    What was assumed to read the traces comes first.
    """
    readings = [one for one in assumed if one.key != "unit" or UNIT not in given.given]
    stated = {unit for unit in units if not any(one[:2] == ("unit", unit) for one in readings)}
    if None in units and UNIT not in given.given:
        readings = [Assumed("unit", given.world.demand.unit, NOTHING_SAYS), *readings]
    found = [*_of_traces(policies, stated), *_of_world(given, policies), *_of_workloads(given, policies)]
    order = {key: place for place, key in enumerate(_known())}
    return [*_of_readings(readings, policies), *sorted(found, key=lambda one: order[one.key])]


def _known() -> dict[str, tuple[str, Parameter]]:
    return {f"{part.name}.{one.name}": (part.name, one) for part in sections() for one in part.parameters}


def _value(world: World, key: str) -> Any:
    section = next(one for one in sections() if one.name == key.partition(".")[0])
    return getattr(getattr(world, section.attribute), _known()[key][1].attribute)


def _names(policies: Sequence[Policy]) -> tuple[str, ...]:
    """The variants of a grid count as one."""
    return tuple(dict.fromkeys(policy.family or policy.name for policy in policies))


def _of_readings(readings: Sequence[Assumed], policies: Sequence[Policy]) -> Iterator[UsedNumber]:
    for key, value, why in readings:
        parameter = Parameter(key, key, "word", NO_RANGE, None, why)
        yield UsedNumber(TRACES, parameter, value, "default", "", _names(policies))


def _of_traces(policies: Sequence[Policy], units: Collection[Unit | None]) -> Iterator[UsedNumber]:
    """The units that traces state."""
    parameter, names = _known()[UNIT], _names(policies)
    for unit in sorted({one for one in units if one is not None}):
        yield UsedNumber(*parameter, unit, "trace", "the trace", names)


def _of_world(given: WorldFile, policies: Sequence[Policy]) -> Iterator[UsedNumber]:
    for rule in _RULES:
        concerned = _names([policy for policy in policies if rule.matters(policy, given.world)])
        for key in rule.keys if concerned else ():
            if key not in given.given:
                yield UsedNumber(*_known()[key], _value(given.world, key), "default", "", concerned)


def _of_workloads(given: WorldFile, policies: Sequence[Policy]) -> Iterator[UsedNumber]:
    """The pods of each policy: of a manifest, or of the world."""
    found: dict[tuple[str, str, Any], list[Policy]] = {}
    for policy in policies:
        start = policy.workload
        values = {
            "replicas": start.replicas,
            "cpu": start.cpu / 1000,
            "memory": start.memory,
            "cpuLimit": None if start.cpu_limit is None else start.cpu_limit / 1000,
            "memoryLimit": start.memory_limit,
        }
        for name, value in values.items():
            source = "" if name in start.of_world else f"{start} ({start.source})"
            if source or _IN_WORKLOAD + name not in given.given:
                found.setdefault((_IN_WORKLOAD + name, source, value), []).append(policy)
    for (key, source, value), concerned in found.items():
        yield UsedNumber(*_known()[key], value, "manifest" if source else "default", source, _names(concerned))
