"""The administrator's settings for all Tortoises, and what a namespace or an object overrides by annotation.

A setting has one name in three spellings: `maximum_max_replicas` here, `maximumMaxReplicas` in a settings file, and
`hypot.dev/tortoise-maximum-max-replicas` as an annotation of a Tortoise or of its namespace. Mappings and the behavior
have no annotation: the spec has fields for them.

Each setting names the key of the original configuration; those without a counterpart say what to do instead.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field, fields, replace
from functools import lru_cache
from math import inf
from typing import Any, NamedTuple, Self, TypeVar
from zoneinfo import ZoneInfo

from hypot.core import amount
from hypot.core.amount import MIB
from hypot.core.dataclass import dataclass
from hypot.core.similar import similar
from hypot.kinds.decode import decode_problems
from hypot.kinds.hpa.fields import Behavior, Limit, ScalingRules
from hypot.kinds.hvpa.fields import MOST_REPLICAS
from hypot.kinds.problem import Problem, Where
from hypot.kinds.tortoise.behavior import behavior_problems
from hypot.kinds.units import COUNT, CPU, MEMORY, PLAIN, SECONDS, SHARE, Unit, knob, value_of

# The keys of the original configuration without a counterpart, and what to do instead.
_ELSEWHERE = {
    "TortoiseUpdateInterval": "it is syncPeriod outside of tortoise",
    "GlobalDisableMode": "write kinds: {Tortoise: observe} in the configuration of hypot run",
    "ExcludedNamespaces": "label the other namespaces (optIn of hypot run), or list them in watchNamespaces",
    "IstioSidecarProxyDefaultCPU": "leave it out: hypot observes the sidecars of pods themselves",
    "IstioSidecarProxyDefaultMemory": "leave it out: hypot observes the sidecars of pods themselves",
    "HPAExternalMetricExclusionRegex": "leave it out: metrics of other kinds stay as they are",
    "FeatureFlags": "leave it out: what they guard is always on",
}
PREFIX = "hypot.dev/tortoise-"
WEEKLY, DAILY = "weekly", "daily"
FIXED_POINT, PLAIN_FORMULA = "fixed-point", "plain"
DAY, HOURS_PER_DAY = 86400.0, 24
GIB = 1024 * MIB
# Up by 100 % in a minute, down by 2 % in 90 seconds.
DEFAULT_BEHAVIOR = Behavior(ScalingRules((Limit("Percent", 100, 60),)), ScalingRules((Limit("Percent", 2, 90),)))


def _choice(words: tuple[str, ...], why: str, original: str = "") -> Any:
    """One of these words; the first is the default."""

    def read(written: Any) -> str:
        if not isinstance(written, str) or written not in words:
            raise ValueError(f"must be {' or '.join(words)}")
        return written

    unit = Unit("", read, str, {"type": "string", "enum": list(words)}, words[0])
    return field(default=words[0], metadata={"unit": "", "why": why, "flag": original, "as": unit})


def _zone(written: Any) -> str:
    if not isinstance(written, str) or not _is_zone(written):
        raise ValueError("is not a time zone such as UTC or Europe/Berlin")
    return written


@lru_cache(256)
def _is_zone(name: str) -> bool:
    try:
        ZoneInfo(name)
    except (ValueError, OSError, LookupError):
        return False
    return True


def _amounts(unit: Unit) -> Unit:
    """A mapping of container to amount."""
    one = knob(unit, 0, "", most=amount.MOST)

    def read(written: Any) -> dict[str, int]:
        return _mapped(written, lambda value: value_of(one, value))

    def show(amounts: Mapping[str, int]) -> dict[str, Any]:
        return {container: unit.show(value) for container, value in amounts.items()}

    schema = {"type": "object", "additionalProperties": dict(unit.schema)}
    return Unit(unit.name, read, show, schema, f"a mapping of container to {unit.example}")


def _multipliers(written: Any) -> dict[str, float]:
    one = knob(PLAIN, 1.0, "", least=1)
    read = _mapped(written, lambda value: float(value_of(one, value)))
    for name in read:
        if name not in amount.RESOURCES:
            raise ValueError(f"{name} is not a resource that pods are sized by")
    return read


def _mapped(written: Any, read: Callable[[Any], Any]) -> dict[str, Any]:
    if not isinstance(written, Mapping) or not all(isinstance(name, str) for name in written):
        raise ValueError("is not a mapping")
    found = {}
    for name, value in written.items():
        if value is True or value is False:
            raise ValueError(f"{name}: {value} is not a number")
        try:
            found[name] = read(value)
        except ValueError as error:
            raise ValueError(f"{name}: {value!r} {error}") from error
    return found


def _behavior(written: Any) -> Behavior:
    if not isinstance(written, Mapping):
        raise ValueError("is not a mapping with scaleUp or scaleDown")  # noqa: TRY004  what was written is wrong
    read = Behavior.read(dict(written))
    found = [str(problem) for problem in (*decode_problems(read, ()), *behavior_problems(read.readable(), ()))]
    if found:
        raise ValueError("; ".join(found))
    return read


_ZONE = Unit("", _zone, str, {"type": "string"}, "a time zone")
_MULTIPLIERS_SCHEMA = {
    "type": "object",
    "properties": {resource: {"type": "number", "minimum": 1} for resource in amount.RESOURCES},
    "additionalProperties": False,
}
_MULTIPLIERS = Unit("", _multipliers, dict, _MULTIPLIERS_SCHEMA, "a mapping of resource to number")
_BEHAVIOR = Unit("", _behavior, Behavior.write, {"type": "object"}, "a behavior of an HPA")


def _mapping(unit: Unit, why: str, original: str) -> Any:
    described = {"unit": unit.name, "why": why, "flag": original, "as": unit}
    return field(default_factory=dict, hash=False, metadata=described)


def _replicas(default: int, why: str, original: str, least: int = 1) -> Any:
    return knob(COUNT, default, why, original, least=least, most=MOST_REPLICAS)


def _percent(default: int, why: str, original: str) -> Any:
    return knob(COUNT, default, why, original, least=1, most=100)


def _request(unit: Unit, default: int, why: str, original: str) -> Any:
    return knob(unit, default, why, original, most=amount.MOST)


@dataclass(frozen=True, slots=True)
class TortoiseSettings:
    """Frozen. Each default is that of the original, except for the time zone. Amounts are in millicores and bytes."""

    slot_hours: int = knob(
        COUNT,
        1,
        "How many hours a slot has; a divisor of 24.",
        "RangeOfMinMaxReplicasRecommendationHours",
        least=1,
        most=HOURS_PER_DAY,
    )
    slot_period: str = _choice(
        (WEEKLY, DAILY),
        "Whether each day of the week has its own slots, or all days share them.",
        "GatheringDataPeriodType",
    )
    window_weeks: int = knob(COUNT, 4, "Bounds are learned from this many weeks.", least=1, most=8)
    # The original has Asia/Tokyo. UTC is what the clocks of a cluster show.
    time_zone: str = field(
        default="UTC",
        metadata={
            "unit": "",
            "why": "The time zone in which days and hours are counted.",
            "flag": "TimeZone",
            "as": _ZONE,
        },
    )
    max_replicas_multiplier: float = knob(
        PLAIN,
        2.0,
        "The maximum is the highest count of the slot times this.",
        "MaxReplicasRecommendationMultiplier",
        least=1,
        most=100,
    )
    min_replicas_multiplier: float = knob(
        SHARE,
        0.5,
        "The minimum is the highest count of the slot times this.",
        "MinReplicasRecommendationMultiplier",
        most=1,
        above=True,
    )
    minimum_min_replicas: int = _replicas(
        3, "The HPA's minimum is never lower; at this count pods shrink.", "MinimumMinReplicas"
    )
    maximum_min_replicas: int = _replicas(10, "The HPA's minimum is never higher.", "MaximumMinReplicas")
    # The preferred count is between the least and the most: there must be one.
    preferred_max_replicas: int = _replicas(
        30, "At this count pods grow before their number does.", "PreferredMaxReplicas", 2
    )
    maximum_max_replicas: int = _replicas(100, "The HPA's maximum is never higher.", "MaximumMaxReplicas", 3)
    target_rule: str = _choice(
        (FIXED_POINT, PLAIN_FORMULA),
        "How a target utilization is computed: its fixed point at once, or the published formula, which may oscillate.",
    )
    minimum_target_utilization: int = _percent(
        65, "No target utilization is lower, in percent.", "MinimumTargetResourceUtilization"
    )
    maximum_target_utilization: int = _percent(
        90, "No target utilization is higher, in percent.", "MaximumTargetResourceUtilization"
    )
    target_max_increase: int = _percent(
        5, "By how many points a target utilization may rise at once.", "HPATargetUtilizationMaxIncrease"
    )
    target_update_interval: float = knob(
        SECONDS, DAY, "How often a target utilization may change.", "HPATargetUtilizationUpdateInterval", above=True
    )
    minimum_cpu_request: int = _request(CPU, 50, "No container gets less cpu.", "MinimumCPURequest")
    minimum_memory_request: int = _request(MEMORY, 50 * MIB, "No container gets less memory.", "MinimumMemoryRequest")
    maximum_cpu_request: int = _request(
        CPU, 10_000, "No container gets more cpu; pods grow up to this.", "MaximumCPURequest"
    )
    maximum_memory_request: int = _request(
        MEMORY, 10 * GIB, "No container gets more memory; pods grow up to this.", "MaximumMemoryRequest"
    )
    minimum_cpu_request_per_container: Mapping[str, int] = _mapping(
        _amounts(CPU),
        "The least cpu of containers by name, instead of minimumCpuRequest.",
        "MinimumCPURequestPerContainer",
    )
    minimum_memory_request_per_container: Mapping[str, int] = _mapping(
        _amounts(MEMORY),
        "The least memory of containers by name, instead of minimumMemoryRequest.",
        "MinimumMemoryRequestPerContainer",
    )
    minimum_cpu_limit: int = _request(CPU, 0, "No limit of cpu is lower.", "MinimumCPULimit")
    resource_limit_multiplier: Mapping[str, float] = _mapping(
        _MULTIPLIERS, "How many times its request a limit is at least, by resource.", "ResourceLimitMultiplier"
    )
    vertical_buffer: float = knob(
        PLAIN,
        0.1,
        "How much is added to the usage of a Vertical resource, as a fraction; twice if it grows.",
        "BufferRatioOnVerticalResource",
        most=10,
    )
    max_scaling_down_ratio: float = knob(
        SHARE,
        0.8,
        "One change leaves at least this share of a request.",
        "MaxAllowedScalingDownRatio",
        most=1,
    )
    shrinks_per_day: int = knob(
        COUNT, 1, "How often a day the pods of a workload may shrink; 0 for never.", most=HOURS_PER_DAY
    )
    replica_reduction_factor: float = knob(
        SHARE,
        0.95,
        "After an emergency, each step multiplies the minimum by this.",
        "ReplicaReductionFactor",
        most=1,
        above=True,
    )
    emergency_grace_period: float = knob(
        SECONDS,
        300.0,
        "For how long an HPA may miss its metrics before that is an emergency.",
        "EmergencyModeGracePeriod",
    )
    default_hpa_behavior: Behavior = field(
        default=DEFAULT_BEHAVIOR,
        metadata={
            "unit": "",
            "why": "The behavior of an HPA whose Tortoise has none.",
            "flag": "DefaultHPABehavior",
            "as": _BEHAVIOR,
        },
    )

    @classmethod
    def from_mapping(cls, data: Mapping[str, Any]) -> Self:
        """Settings by their names in a file, with defaults for the rest. Raises one exception with all problems."""
        by_name = {_camel(name): name for name in _FIELDS}
        changes: dict[str, Any] = {}
        found: list[str] = []
        for name, written in data.items():
            if name not in by_name:
                found.append(f"{name}: {_unknown(str(name), by_name)}")
                continue
            try:
                changes[by_name[name]] = _from_file(_FIELDS[by_name[name]], written)
            except ValueError as error:
                found.append(f"{name}: {error}")
        made = cls(**changes)
        found += [f"{_camel(broken.names[0])}: {broken.message(_camel)}" for broken in _broken(made)]
        if found:
            raise InvalidTortoiseSettings(tuple(found))
        return made

    def to_mapping(self) -> dict[str, Any]:
        """The settings by name, for a settings file."""
        return {_camel(name): f.metadata["as"].show(getattr(self, name)) for name, f in _FIELDS.items()}

    def overridden(self, *layers: Mapping[Any, Any]) -> tuple[Self, tuple[Problem, ...]]:
        """The settings with the annotations of a namespace, then of its object, and what is wrong with them.

        An invalid value is ignored, and so is one that contradicts another setting. Only the minimum, the largest
        minimum and the preferred maximum give way, if they are not written: a low maximum alone is valid.
        """
        made, found = self, list[Problem]()
        for annotations in layers:
            changes, problems = _read_annotations(annotations)
            found += problems
            made, problems = _overridden(made, changes, annotations)
            found += problems
        return made, tuple(found)


S = TypeVar("S", bound=TortoiseSettings)


def _overridden(base: S, changes: dict[str, Any], annotations: Mapping[Any, Any]) -> tuple[S, list[Problem]]:
    found: list[Problem] = []
    while changes:
        made = _settled(replace(base, **changes), changes)
        broken = next((one for one in _broken(made) if any(name in changes for name in one.names)), None)
        if broken is None:
            return made, found
        wrong = [name for name in broken.names if name in changes]
        found.append(_contradiction(broken, wrong[0], annotations))
        for name in wrong:
            del changes[name]
    return base, found


def _settled(made: S, written: Mapping[str, Any]) -> S:
    least, most = made.minimum_min_replicas, made.maximum_max_replicas
    if "minimum_min_replicas" not in written:
        least = min(least, most - 2)
    wanted: dict[str, Any] = {
        "minimum_min_replicas": least,
        "preferred_max_replicas": max(least + 1, min(made.preferred_max_replicas, most - 1)),
        "maximum_min_replicas": max(least + 1, min(made.maximum_min_replicas, most)),
    }
    moved = {name: count for name, count in wanted.items() if name not in written and count != getattr(made, name)}
    return replace(made, **moved) if moved else made


class InvalidTortoiseSettings(ValueError):  # noqa: N818  the name says what was written, not what went wrong
    """Settings with problems, one sentence each."""

    def __init__(self, problems: tuple[str, ...]) -> None:
        self.problems = problems
        super().__init__("; ".join(problems))


class _Broken(NamedTuple):
    """Settings that contradict each other; the first should be changed."""

    names: tuple[str, ...]
    # `{other}` stands for the last name.
    text: str

    def message(self, spelling: Callable[[str], str]) -> str:
        return self.text.replace("{other}", spelling(self.names[-1]))


# (lower, higher, whether they may be equal)
_ORDER = (
    ("minimum_min_replicas", "maximum_min_replicas", False),
    ("maximum_min_replicas", "maximum_max_replicas", True),
    ("minimum_min_replicas", "preferred_max_replicas", False),
    ("preferred_max_replicas", "maximum_max_replicas", False),
    ("minimum_target_utilization", "maximum_target_utilization", True),
    ("minimum_cpu_request", "maximum_cpu_request", True),
    ("minimum_memory_request", "maximum_memory_request", True),
)


def _broken(settings: TortoiseSettings) -> Iterator[_Broken]:
    """The rules between settings, and for values that a range does not express."""
    if HOURS_PER_DAY % settings.slot_hours:
        yield _Broken(("slot_hours",), f"{settings.slot_hours} does not divide the {HOURS_PER_DAY} hours of a day")
    room = settings.maximum_max_replicas - settings.minimum_min_replicas
    if room < 2:
        text = f"{settings.minimum_min_replicas} leaves no count between it and {{other}}, for the preferred maximum"
        yield _Broken(("minimum_min_replicas", "maximum_max_replicas"), text)
    for low, high, equal in _ORDER:
        least, most = getattr(settings, low), getattr(settings, high)
        if least > most or (least == most and not equal):
            show = _FIELDS[low].metadata["as"].show
            must = "must not be above" if equal else "must be below"
            yield _Broken((low, high), f"{show(least)} {must} {{other}}, which is {show(most)}")
    for resource in amount.RESOURCES:
        name, high = f"minimum_{resource}_request_per_container", f"maximum_{resource}_request"
        most = getattr(settings, high)
        for container, least in getattr(settings, name).items():
            if least > most:
                text = f"{container} must not get more than {{other}}, which is {amount.show(resource, most)}"
                yield _Broken((name, high), text)


_FIELDS = {f.name: f for f in fields(TortoiseSettings)}
# Annotation -> setting.
ANNOTATIONS = {
    PREFIX + name.replace("_", "-"): name
    for name, f in _FIELDS.items()
    if f.metadata["as"].schema.get("type") != "object"
}
_KEYS = {name: key for key, name in ANNOTATIONS.items()}


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def _unknown(name: str, known: Mapping[str, str]) -> str:
    by_original = {f.metadata["flag"]: _camel(key) for key, f in _FIELDS.items() if f.metadata["flag"]}
    if name in by_original:
        return f"unknown setting; it is {by_original[name]} here"
    if name in _ELSEWHERE:
        return f"unknown setting; {_ELSEWHERE[name]}"
    near = similar(name, known, 1, 0.7)
    return "unknown setting; " + (f"did you mean {near[0]}?" if near else "docs/settings.md lists those of tortoise")


def _from_file(f: Any, written: Any) -> Any:
    unit: Unit = f.metadata["as"]
    kinds = unit.schema["type"]
    is_number = "least" in f.metadata
    if is_number and (isinstance(written, bool) or (isinstance(written, str) and "string" not in kinds)):
        raise ValueError(f"{written!r} is not {unit.example}")
    try:
        return value_of(f, written) if is_number else unit.read(written)
    except ValueError as error:
        raise ValueError(f"{_shown(written)} {error}") from error


def _shown(written: Any) -> str:
    text = repr(written)
    return text if len(text) <= 80 else f"{text[:77]}..."


def _read_annotations(annotations: Mapping[Any, Any]) -> tuple[dict[str, Any], list[Problem]]:
    """The valid settings among annotations, and the problems of the others. Other annotations are ignored."""
    read: dict[str, Any] = {}
    found: list[Problem] = []
    for key, text in annotations.items():
        if not isinstance(key, str) or not key.startswith(PREFIX) or not isinstance(text, str):
            continue
        where: Where = ("metadata", "annotations", key)
        name = ANNOTATIONS.get(key)
        if name is None:
            near = similar(key, ANNOTATIONS, 1, 0.7)
            hint = f"did you mean {near[0]}?" if near else ""
            found.append(Problem("tortoise-setting", "NotSupported", where, "is not a setting", key, hint))
            continue
        f = _FIELDS[name]
        try:
            value = value_of(f, text) if "least" in f.metadata else f.metadata["as"].read(text)
        except ValueError as error:
            found.append(Problem("tortoise-setting", "Invalid", where, str(error), text))
            continue
        read[name] = value
    return read, found


def _contradiction(broken: _Broken, name: str, annotations: Mapping[Any, Any]) -> Problem:
    key = _KEYS[name]
    message = f"{broken.names[0].replace('_', '-')} {broken.message(lambda one: one.replace('_', '-'))}"
    where: Where = ("metadata", "annotations", key)
    return Problem("tortoise-setting", "Invalid", where, message, annotations[key])


def annotation_problems(annotations: Mapping[Any, Any]) -> Iterator[Problem]:
    """What is wrong with the settings of one object. The administrator's settings may allow what is a warning."""
    read, found = _read_annotations(annotations)
    yield from found
    certain = [
        broken for broken in _broken(replace(TortoiseSettings(), **read)) if all(name in read for name in broken.names)
    ]
    for broken in certain:
        yield _contradiction(broken, broken.names[0], annotations)
    for problem in () if certain else _overridden(TortoiseSettings(), read, annotations)[1]:
        message = f"is ignored unless the administrator has other settings: {problem.message} by default"
        yield replace(problem, message=message, severity="warning")


def schema() -> dict[str, Any]:
    """The JSON Schema of the settings in a settings file."""
    return {
        "type": "object",
        "properties": {_camel(name): _schema_of(f) for name, f in _FIELDS.items()},
        "additionalProperties": False,
    }


def _schema_of(f: Any) -> dict[str, Any]:
    described = f.metadata
    unit: Unit = described["as"]
    found: dict[str, Any] = {"description": described["why"], **json.loads(json.dumps(dict(unit.schema)))}
    if "least" not in described or unit in (CPU, MEMORY):
        return found
    found["exclusiveMinimum" if described["above"] else "minimum"] = described["least"]
    return found if described["most"] == inf else {**found, "maximum": described["most"]}
