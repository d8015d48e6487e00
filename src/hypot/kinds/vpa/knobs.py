"""All knobs of the size recommender and of the updater: the cluster's defaults, and what one object overrides.

A knob has one name in three spellings: `cpu_half_life` here, `cpuHalfLife` in a settings file, and
`hypot.dev/cpu-half-life` as an annotation of a VerticalPodAutoscaler or of an Hvpa's VPA template.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, replace
from math import inf
from typing import Any, Protocol, Self, cast

from hypot.core import amount
from hypot.core.amount import MIB
from hypot.core.dataclass import dataclass
from hypot.core.quantity import is_quantity
from hypot.core.similar import similar
from hypot.kinds.base import Kind
from hypot.kinds.problem import Problem, Where
from hypot.kinds.units import COUNT, CPU, MEMORY, PLAIN, SECONDS, SHARE, TRUTH, knob, value_of
from hypot.kinds.vpa.fields import ContainerPolicy, ResourcePolicy, UpdatePolicy, policy_of

PREFIX = "hypot.dev/"
DAY = 86400.0
NO_BOUND = "none"


def _percentile(default: float, which: str, resource: str) -> Any:
    flags = {"target": f"--target-{resource}-percentile"}
    flag = flags.get(which, f"--recommendation-{which}-bound-{resource}-percentile")
    message = {"lower": "the lower bound", "target": "the target", "upper": "the upper bound"}
    why = f"Which percentile of {resource} usage is {message[which]}."
    return knob(SHARE, default, why, flag, most=1, above=True)


def _span(default: float, why: str, flag: str) -> Any:
    return knob(SECONDS, default, why, flag, above=True)


@dataclass(frozen=True, slots=True)
class Knobs:
    """Frozen. Each default is that of the upstream component. Amounts are in millicores and bytes, times in seconds."""

    lower_cpu_percentile: float = _percentile(0.5, "lower", "cpu")
    target_cpu_percentile: float = _percentile(0.9, "target", "cpu")
    upper_cpu_percentile: float = _percentile(0.95, "upper", "cpu")
    lower_memory_percentile: float = _percentile(0.5, "lower", "memory")
    target_memory_percentile: float = _percentile(0.9, "target", "memory")
    upper_memory_percentile: float = _percentile(0.95, "upper", "memory")
    safety_margin: float = knob(
        PLAIN, 0.15, "How much is added to every percentile, as a fraction.", "--recommendation-margin-fraction"
    )
    pod_min_cpu: int = knob(
        CPU,
        25,
        "No pod is recommended less cpu; its containers share it.",
        "--pod-recommendation-min-cpu-millicores",
        most=amount.MOST,
    )
    pod_min_memory: int = knob(
        MEMORY,
        250 * MIB,
        "No pod is recommended less memory; its containers share it.",
        "--pod-recommendation-min-memory-mb",
        most=amount.MOST,
    )
    confidence_interval_cpu: float = _span(
        DAY, "How much history the cpu bounds need to be trusted.", "--confidence-interval-cpu"
    )
    confidence_interval_memory: float = _span(
        DAY, "How much history the memory bounds need to be trusted.", "--confidence-interval-memory"
    )
    cpu_half_life: float = _span(
        DAY, "The time in which a cpu sample loses half its weight.", "--cpu-histogram-decay-half-life"
    )
    memory_half_life: float = _span(
        DAY, "The time in which a memory peak loses half its weight.", "--memory-histogram-decay-half-life"
    )
    memory_interval: float = _span(
        DAY, "Memory usage is reduced to one peak in each such interval.", "--memory-aggregation-interval"
    )
    memory_interval_count: int = knob(
        COUNT, 8, "Usage is dropped after this many memory intervals.", "--memory-aggregation-interval-count", least=1
    )
    oom_bump_up_ratio: float = knob(
        PLAIN, 1.2, "Memory is multiplied by this after an OOM kill.", "--oom-bump-up-ratio", least=1
    )
    oom_min_bump_up: int = knob(
        MEMORY,
        100 * MIB,
        "Memory is raised by at least this after an OOM kill.",
        "--oom-min-bump-up-bytes",
        most=amount.MOST,
    )
    round_cpu: int = knob(
        CPU,
        1,
        "Recommended cpu is rounded up to a multiple of this.",
        "--round-cpu-millicores",
        least=1,
        most=amount.MOST,
    )
    round_memory: int = knob(
        MEMORY,
        1,
        "Recommended memory is rounded up to a multiple of this.",
        "--round-memory-bytes",
        least=1,
        most=amount.MOST,
    )
    max_allowed_cpu: int | None = knob(
        CPU,
        None,
        "No container is recommended more cpu, unless its policy sets a bound; no bound if absent.",
        "--container-recommendation-max-allowed-cpu",
        least=1,
        most=amount.MOST,
    )
    max_allowed_memory: int | None = knob(
        MEMORY,
        None,
        "No container is recommended more memory, unless its policy sets a bound; no bound if absent.",
        "--container-recommendation-max-allowed-memory",
        least=1,
        most=amount.MOST,
    )
    min_replicas: int = knob(
        COUNT,
        2,
        "No pod is disrupted while fewer are alive, unless the object sets its own number.",
        "--min-replicas",
        least=1,
    )
    eviction_tolerance: float = knob(
        SHARE, 0.5, "Which share of the replicas may be disrupted at once.", "--eviction-tolerance", most=1
    )
    update_threshold: float = knob(
        PLAIN,
        0.1,
        "A pod within its bounds is left alone if the change is smaller than this fraction.",
        "--pod-update-threshold",
    )
    lifetime_threshold: float = knob(
        SECONDS,
        12 * 3600.0,
        "A pod within its bounds is left alone until it is this old.",
        "--in-recommendation-bounds-eviction-lifetime-threshold",
    )
    evict_after_oom: float = knob(
        SECONDS,
        600.0,
        "An OOM kill within this time of the start is a reason to act at once.",
        "--evict-after-oom-threshold",
    )
    in_place_skips_budget: bool = knob(
        TRUTH,
        False,  # noqa: FBT003  a default, not a flag of the call
        "A resize that restarts nothing ignores the disruption budget.",
        "--in-place-skip-disruption-budget",
    )

    @classmethod
    def from_mapping(cls, data: Mapping[str, Any]) -> Self:
        """Knobs by their names in a settings file, with defaults for the rest. Raises with the name of a wrong knob."""
        by_name = {_camel(f.name): f for f in fields(cls)}
        changes: dict[str, Any] = {}
        for name, written in data.items():
            if name not in by_name:
                near = similar(str(name), by_name, 1, 0.7)
                raise ValueError(f"{name}: unknown knob; " + (f"did you mean {near[0]}?" if near else _names(by_name)))
            try:
                changes[by_name[name].name] = _from_file(by_name[name], written)
            except ValueError as error:
                raise ValueError(f"{name}: {error}") from error
        return cls(**changes)

    def to_mapping(self) -> dict[str, Any]:
        """The knobs by name, for a settings file. Absent bounds are left out."""
        held = [(f, getattr(self, f.name)) for f in fields(self)]
        return {_camel(f.name): f.metadata["as"].show(value) for f, value in held if value is not None}


_FIELDS = {f.name: f for f in fields(Knobs)}
# Annotation -> knob.
ANNOTATIONS = {PREFIX + name.replace("_", "-"): name for name in _FIELDS}
_ORDER = [
    tuple(f"{which}_{resource}_percentile" for which in ("lower", "target", "upper")) for resource in amount.RESOURCES
]


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def _names(known: Iterable[str]) -> str:
    return f"known are {', '.join(known)}"


def _from_file(f: Any, written: Any) -> Any:
    kinds = f.metadata["as"].schema["type"]
    if written is None and f.default is None:
        return None
    is_wrong_word = isinstance(written, str) and "string" not in kinds
    if is_wrong_word or (isinstance(written, bool) and kinds != "boolean"):
        raise ValueError(f"{written!r} is not {f.metadata['as'].example}")
    try:
        return value_of(f, written)
    except ValueError as error:
        raise ValueError(f"{written!r} {error}") from error


def _from_annotation(f: Any, text: str) -> Any:
    return None if f.default is None and text == NO_BOUND else value_of(f, text)


def knobs_from(annotations: Mapping[Any, Any], base: Knobs) -> Knobs:
    """The base with the values of the annotations. Invalid values are ignored."""
    changes: dict[str, Any] = {}
    for key, text in annotations.items():
        name = ANNOTATIONS.get(key)
        if name is None or not isinstance(text, str):
            continue
        try:
            changes[name] = _from_annotation(_FIELDS[name], text)
        except ValueError:
            continue
    return replace(base, **changes) if changes else base


def knob_problems(annotations: Mapping[Any, Any], where: Where) -> Iterator[Problem]:
    """The problems of the knobs among these annotations. Other annotations are ignored."""
    for key, text in annotations.items():
        if not isinstance(key, str) or not key.startswith(PREFIX) or not isinstance(text, str):
            continue
        if key not in ANNOTATIONS:
            yield from _misspelt(key, (*where, key))
            continue
        try:
            _from_annotation(_FIELDS[ANNOTATIONS[key]], text)
        except ValueError as error:
            yield Problem("knob", "Invalid", (*where, key), str(error), text)
    yield from _order_problems(annotations, where)


def _misspelt(key: str, where: Where) -> Iterator[Problem]:
    near = similar(key.removeprefix(PREFIX), [name.removeprefix(PREFIX) for name in ANNOTATIONS], 1, 0.8)
    if near:
        hint = f"did you mean {PREFIX}{near[0]}?"
        yield Problem("knob", "NotSupported", where, "is not a knob, so it has no effect", key, hint)


def _order_problems(annotations: Mapping[Any, Any], where: Where) -> Iterator[Problem]:
    knobs = knobs_from(annotations, Knobs())
    keys = {name: key for key, name in ANNOTATIONS.items()}
    for lower, target, upper in _ORDER:
        for low, high in ((lower, target), (target, upper)):
            written = [keys[name] for name in (high, low) if keys[name] in annotations]
            if not written or getattr(knobs, low) <= getattr(knobs, high):
                continue
            message = f"{keys[low]} is above {keys[high]}, so a pod of the recommended size would be out of its bounds"
            hint = f"write both; {keys[high]} is {getattr(knobs, high)} here"
            place = (*where, written[0])
            yield Problem("knob-order", "Invalid", place, message, annotations[written[0]], hint, "warning")


def for_container(knobs: Knobs, policy: ContainerPolicy | None) -> Knobs:
    """The knobs with the values of one container's policy for OOM kills and memory."""
    names = ("oom_bump_up_ratio", "oom_min_bump_up", "memory_interval", "memory_interval_count")
    return _laid_over(knobs, policy, names)


class HasContainerPolicies(Protocol):
    """A kind that sizes containers, with its knob annotations and container policies."""

    @property
    def knob_annotations(self) -> Mapping[str, str]: ...

    @property
    def container_policies(self) -> ResourcePolicy | None: ...


def knobs_of(autoscaler: Kind, container: str, base: Knobs) -> Knobs:
    """The effective knobs for one container of an autoscaler that sizes containers."""
    written = cast("HasContainerPolicies", autoscaler)
    return for_container(knobs_from(written.knob_annotations, base), policy_of(written.container_policies, container))


def for_updates(knobs: Knobs, policy: UpdatePolicy | None) -> Knobs:
    """The knobs with the values of an update policy for replicas and OOM kills."""
    return _laid_over(knobs, policy, ("min_replicas", "evict_after_oom"))


def _laid_over(knobs: Knobs, part: ContainerPolicy | UpdatePolicy | None, names: Iterable[str]) -> Knobs:
    changes: dict[str, Any] = {}
    for name in names:
        written = getattr(part, name, None)
        if written is None or not is_quantity(written):
            continue
        try:
            changes[name] = value_of(_FIELDS[name], written)
        except ValueError:
            continue
    return replace(knobs, **changes) if changes else knobs


def schema() -> dict[str, Any]:
    """The JSON Schema of the knobs in a settings file."""
    return {
        "type": "object",
        "properties": {_camel(f.name): _schema_of(f) for f in fields(Knobs)},
        "additionalProperties": False,
    }


def _schema_of(f: Any) -> dict[str, Any]:
    described = f.metadata
    found = {"description": described["why"], **described["as"].schema}
    if described["as"] in (CPU, MEMORY, TRUTH):
        return found
    found["exclusiveMinimum" if described["above"] else "minimum"] = described["least"]
    return found if described["most"] == inf else {**found, "maximum": described["most"]}
