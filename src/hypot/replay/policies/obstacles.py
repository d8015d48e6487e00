"""Which autoscalers can be replayed, in this world and on this workload."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from hypot.core.amount import RESOURCES
from hypot.kinds.base import Kind
from hypot.kinds.catalogue import Autoscaler, info_of
from hypot.kinds.hpa import HPA
from hypot.kinds.hpa.fields import Metric
from hypot.kinds.hvpa import Hvpa, hpa_of
from hypot.kinds.hvpa.fields import MOST_REPLICAS, OBJECTS, RECOMMENDATIONS
from hypot.kinds.hvpa.rules import IN_HPA
from hypot.kinds.problem import Problem, Where, shown
from hypot.kinds.selector import SelectorError, read_selector
from hypot.kinds.tortoise import Tortoise
from hypot.kinds.tortoise.fields import DECIDE
from hypot.kinds.tortoise.rules import HPA_NAME
from hypot.kinds.values.version import NEWEST, Version
from hypot.kinds.vpa import VPA
from hypot.kinds.vpa.fields import DEFAULT_RECOMMENDER, OFF, amounts_of, policy_of
from hypot.kinds.wpa import WPA
from hypot.policy.families import family_of
from hypot.policy.model.settings import Settings
from hypot.policy.vertical.vpa import controlled
from hypot.replay.policies.policy import Start
from hypot.replay.world.parameters import World
from hypot.replay.world.units import SIGNALS

HORIZONTAL_STEP = "hypot.dev/horizontal-step"
_STEP_PLACE: Where = ("metadata", "annotations", HORIZONTAL_STEP)
_STEP = re.compile(r"\s*([0-9]{1,9})\s*\.\.\s*([0-9]{1,9})\s*")


class Cluster(NamedTuple):
    """The Kubernetes version and feature gates whose rules a manifest must keep."""

    kubernetes: Version = NEWEST
    gates: Mapping[str, bool] | None = None


class Obstacle(NamedTuple):
    """Why an object cannot be replayed, and where in the object."""

    where: Where
    message: str


def own_obstacles(autoscaler: Autoscaler, cluster: Cluster) -> list[Obstacle]:
    """The errors in the object itself, as `hypot lint` finds them."""
    found = autoscaler.problems(cluster.kubernetes, cluster.gates)
    return [Obstacle(one.where, _message(one)) for one in found if one.severity == "error"]


def _message(problem: Problem) -> str:
    return f"{problem} ({problem.hint})" if problem.hint else str(problem)


def step_obstacles(autoscaler: Autoscaler) -> Iterator[Obstacle]:
    """A horizontal step on an object that sets replicas itself."""
    if HORIZONTAL_STEP in autoscaler.annotations and info_of(autoscaler).counts:
        yield Obstacle(_STEP_PLACE, f"{HORIZONTAL_STEP} is only for a VerticalPodAutoscaler, not a {autoscaler.KIND}")


def unknown_metrics(autoscaler: Kind, _start: Start | None, world: World) -> Iterator[Obstacle]:
    """The metrics that the object asks for and the world does not define."""
    asked = family_of(autoscaler).questions(autoscaler, Settings())
    named = [metric.name for metric in (*asked.pods, *(metric for metric, _ in asked.objects))]
    for name in dict.fromkeys([*named, *(metric.name for metric in asked.external)]):
        yield from _name_obstacles(name, ("spec",), world)


def hvpa_obstacles(hvpa: Hvpa, start: Start | None, world: World) -> Iterator[Obstacle]:
    if hvpa.recommendations == OBJECTS:
        message = f"{RECOMMENDATIONS}: {OBJECTS} reads objects of a cluster, and a replay has none; remove it"
        yield Obstacle(("metadata", "annotations", RECOMMENDATIONS), message)
    if hvpa.uses_hpa:
        yield from hpa_obstacles(hpa_of(hvpa), start, world, IN_HPA)


def naming_obstacles(
    autoscaler: Autoscaler, named: HPA | None, start: Start | None, world: World
) -> Iterator[Obstacle]:
    """What is wrong with the HPA that a Tortoise names."""
    if not isinstance(autoscaler, Tortoise) or not autoscaler.names_hpa:
        return
    if autoscaler.decides:
        message = f"a Tortoise with {DECIDE} sets the replicas itself, and an HPA would be a conflict"
        yield Obstacle(HPA_NAME, f"{message}; remove the name or the annotation")
        return
    if named is None:
        message = f"HorizontalPodAutoscaler {autoscaler.hpa_name} is not among the manifests"
        yield Obstacle(HPA_NAME, f"{message}; add it, or leave the name out, and one is made")
        return
    for _where, message in hpa_obstacles(named, start, world):
        yield Obstacle(HPA_NAME, f"{named}: {message}")


def hpa_obstacles(hpa: HPA, start: Start | None, world: World, root: Where = ("spec",)) -> Iterator[Obstacle]:
    for i, metric in enumerate(hpa.metrics or ()):
        yield from _metric_obstacles(metric, (*root, "metrics", i), start, world)


def _metric_obstacles(metric: Metric, where: Where, start: Start | None, world: World) -> Iterator[Obstacle]:
    own = metric.container_resource
    if metric.type == "Resource" and metric.resource is not None:
        yield from _resource_obstacles(metric.resource.name, (*where, "resource", "name"))
    elif metric.type == "ContainerResource" and own is not None:
        yield from _resource_obstacles(own.name, (*where, "containerResource", "name"))
        if start is not None and own.container and own.container != start.container:
            message = f"container {own.container} is not replayed, only {start.container} is"
            todo = "name the other container in hypot.dev/container of the workload, or remove this metric"
            yield Obstacle((*where, "containerResource", "container"), f"{message}; {todo}")
    named = {"Pods": metric.pods, "Object": metric.object, "External": metric.external}.get(metric.type or "")
    if named is not None and named.metric is not None:
        place = (*where, (metric.type or "").lower(), "metric", "name")
        yield from _name_obstacles(named.metric.name, place, world)


def _resource_obstacles(name: str | None, where: Where) -> Iterator[Obstacle]:
    if name and name not in RESOURCES:
        yield Obstacle(where, f"{name} is not replayed; only cpu and memory are")


def _name_obstacles(name: str | None, where: Where, world: World) -> Iterator[Obstacle]:
    if not name or name in world.metrics.names:
        return
    todo = f"write 'metrics: {{names: {{{shown(name)}: requests}}}}' in the world file"
    others = ", ".join(SIGNALS[1:])
    yield Obstacle(where, f"the world does not define the metric {name}; {todo}, or {others} instead of requests")


def wpa_obstacles(wpa: WPA, start: Start | None, world: World) -> Iterator[Obstacle]:
    if wpa.recommender is not None:
        message = "a recommender is an external service, which cannot be replayed; write metrics instead"
        yield Obstacle(("spec", "recommender"), message)
    for i, metric in enumerate(wpa.metrics or ()):
        where = ("spec", "metrics", i)
        if metric.type == "External" and metric.external is not None:
            yield from _name_obstacles(metric.external.name, (*where, "external", "metricName"), world)
        elif metric.type == "Resource" and metric.resource is not None:
            yield from _resource_obstacles(metric.resource.name, (*where, "resource", "name"))
            if start is not None:
                yield from _selector_obstacles(metric.resource.selector, (*where, "resource", "metricSelector"), start)


def _selector_obstacles(selector: Mapping[str, Any] | None, where: Where, start: Start) -> Iterator[Obstacle]:
    """A WPA's resource metrics cover all pods that their selector matches, whatever their owner."""
    try:
        selects = read_selector(selector).matches(start.labels)
    except SelectorError:
        return
    if not selects:
        labels = ", ".join(f"{key}={value}" for key, value in start.labels.items()) or "none"
        message = f"selects no pod of {start}, whose labels are {labels}, so there would be no measurement"
        yield Obstacle(where, f"{message}; correct it, or add the manifest of the workload")


def vpa_obstacles(vpa: VPA, start: Start | None, _world: World) -> Iterator[Obstacle]:
    strange = [one.name for one in vpa.recommenders or () if one.name not in {None, DEFAULT_RECOMMENDER, "hypot"}]
    if strange:
        message = f"the recommender {strange[0]} is not built in and cannot be replayed; remove it for the default"
        yield Obstacle(("spec", "recommenders"), message)
    if HORIZONTAL_STEP not in vpa.annotations:
        return
    if step_of(vpa) is None:
        message = f"{shown(vpa.annotations[HORIZONTAL_STEP])} is not a range of replicas; write it as 2..6"
        yield Obstacle(_STEP_PLACE, f"{HORIZONTAL_STEP}: {message}, from 1 to {MOST_REPLICAS}")
    if start is not None and not step_range(vpa, start.container):
        message = f"there is no range that a recommendation for container {start.container} could leave"
        yield Obstacle(_STEP_PLACE, f"{HORIZONTAL_STEP}: {message}; set minAllowed and maxAllowed of cpu or memory")


def step_of(vpa: Autoscaler) -> tuple[int, int] | None:
    """The fewest and the most replicas of a horizontal step; None if there is none, or it cannot be read."""
    written = vpa.annotations.get(HORIZONTAL_STEP)
    found = _STEP.fullmatch(written) if isinstance(written, str) else None
    if found is None:
        return None
    low, high = int(found[1]), int(found[2])
    return (low, high) if 1 <= low <= high <= MOST_REPLICAS else None


def step_range(vpa: VPA, container: str) -> dict[str, tuple[int, int]]:
    """The range of a recommendation before replicas change: minAllowed to maxAllowed, if both are set."""
    own = policy_of(vpa.resource_policy, container)
    if own is None or own.mode == OFF:
        return {}
    least, most = amounts_of(own.min_allowed), amounts_of(own.max_allowed)
    sized = controlled(vpa.resource_policy, container)
    return {name: (least[name], most[name]) for name in RESOURCES if name in sized and name in least and name in most}


def axis_obstacles(autoscalers: Iterable[Autoscaler]) -> Iterator[tuple[int, str]]:
    """Each autoscaler that controls an axis which an earlier one controls: its index, and why that fails."""
    holders: dict[str, Autoscaler] = {}
    for i, one in enumerate(autoscalers):
        for axis in _axes(one):
            holder = holders.setdefault(axis, one)
            if holder is not one:
                message = f"{one} and {holder} would both set the {axis}; put them into separate policies"
                yield i, message
                break


def _axes(autoscaler: Autoscaler) -> tuple[str, ...]:
    info = info_of(autoscaler)
    stepped = not info.counts and HORIZONTAL_STEP in autoscaler.annotations
    axes = (("replicas", info.counts), ("size", info.sizes), ("replicas", stepped))
    return tuple([axis for axis, moves in axes if moves])
