"""Rules for container policies, and for sizes that never reach a pod."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from hypot.core.quantity import format_milli
from hypot.kinds.autoscaler.rules import RESOURCE_POLICY
from hypot.kinds.base import count_of
from hypot.kinds.catalogue import sets_sizes
from hypot.kinds.hvpa.rules import IN_VPA
from hypot.kinds.pod_template import policy_problems
from hypot.kinds.problem import Where
from hypot.kinds.values.nested import amount
from hypot.kinds.vpa import RESIZES_IN_PLACE, VPA
from hypot.kinds.vpa.fields import (
    ANY_CONTAINER,
    AUTO,
    IN_PLACE,
    IN_PLACE_OR_RECREATE,
    OFF,
    RECREATE,
    RESOURCES,
    ContainerPolicy,
    ResourcePolicy,
)
from hypot.kinds.vpa.knobs import Knobs, for_updates, knobs_from
from hypot.lint.input.item import Item, dig, mapping, sequence, whole
from hypot.lint.input.world import AnyAutoscaler, Autoscaler, InputWorld, mode_of, writes
from hypot.lint.rule import SIZING, VPA_ONLY, Hit, RuleFamily

SIZES = RuleFamily("Sizes", "Container policies, and sizes that never reach a pod.")

# Workloads with a replica count.
_COUNTED = frozenset({"Deployment", "StatefulSet", "ReplicaSet", "ReplicationController"})
_DISRUPTING = frozenset({RECREATE, AUTO, IN_PLACE_OR_RECREATE, IN_PLACE})


def controls(policy: ContainerPolicy | None, resource: str) -> bool:
    """Whether a container with this policy, or without one, is sized by this resource."""
    if policy is None or policy.controlled_resources is None:
        return (policy is None or policy.mode != OFF) and resource in RESOURCES
    return policy.mode != OFF and resource in policy.controlled_resources


class _Policy(NamedTuple):
    """A container policy, its autoscaler and its path."""

    of: AnyAutoscaler
    where: Where
    policy: ContainerPolicy


def policies_of(world: InputWorld) -> Iterator[_Policy]:
    """Every container policy that can take effect."""
    for vpa in world.vpas:
        if mode_of(vpa) != OFF:
            yield from _written(vpa, vpa.spec.resource_policy, ("spec", "resourcePolicy"))
    for hvpa in world.hvpas:
        if writes(hvpa.item):
            yield from _written(hvpa, hvpa.spec.container_policies, (*IN_VPA, "resourcePolicy"))
    for one in world.workload_autoscalers:
        if writes(one.item) and sets_sizes(one.spec):
            yield from _written(one, one.spec.container_policies, RESOURCE_POLICY)


def _written(one: AnyAutoscaler, policies: ResourcePolicy | None, at: Where) -> Iterator[_Policy]:
    for i, policy in enumerate((policies.containers or ()) if policies is not None else ()):
        yield _Policy(one, (*at, "containerPolicies", i), policy)


def _named_containers(world: InputWorld) -> Iterator[tuple[AnyAutoscaler, Where, str | None]]:
    """Every container that a policy names."""
    for policy in policies_of(world):
        yield policy.of, policy.where, policy.policy.container_name
    for one in world.tortoises:
        yield from ((one, *place) for place in one.spec.container_places)


@SIZES.rule(
    "policy-container-missing",
    "warning",
    title="A policy for a container that the pods do not have",
    why="A policy is looked up by container name. If no pod has that container, the policy is never used and the "
    "intended container is sized without bounds. Ordinary init containers are not sized. Known sidecars, such as those "
    "that Istio, Linkerd or Dapr inject, are not reported.",
    fix="name a container of the pod template, or * for all others (a Tortoise has no *: there, write an item for each "
    "container); a container that is injected later is not visible here, so silence the rule for it",
    example="Deployment shop/web has no container api; its containers are app and proxy",
    kinds=SIZING,
)
def policy_container_missing(world: InputWorld) -> Iterator[Hit]:
    for one, where, name in _named_containers(world):
        template = world.template_of(one)
        if template is not None:
            for problem in policy_problems([(where, name)], template, one.target, ANY_CONTAINER):
                yield Hit(one.item, problem.where, problem.message)


class _Range(NamedTuple):
    """The range of one resource that a namespace allows a container, in milli-units, and which LimitRange sets it."""

    least: int = 0
    most: int | None = None
    least_by: Item | None = None
    most_by: Item | None = None


@SIZES.rule(
    "limit-range-bounds",
    "warning",
    title="Bounds of a policy that the namespace's LimitRange does not allow",
    why="Sizes are limited first by the LimitRange and then by the policy, so the policy wins. A maxAllowed above the "
    "LimitRange's max, or a minAllowed below its min, is never reached. A minAllowed above the max, or a maxAllowed "
    "below the min, leads to pods that the API server rejects.",
    fix="write bounds within the LimitRange, or widen the LimitRange",
    example="maxAllowed 4 is above the 2 of cpu that LimitRange shop/compute allows: no container ever reaches it",
    kinds=SIZING,
)
def limit_range_bounds(world: InputWorld) -> Iterator[Hit]:
    ranges = _ranges(world)
    for one, where, policy in policies_of(world) if ranges else ():
        of_namespace = ranges.get(one.item.namespace, {})
        for key, bounds in (("minAllowed", policy.min_allowed), ("maxAllowed", policy.max_allowed)):
            for resource, allowed in of_namespace.items():
                written = (bounds or {}).get(resource)
                message = _outside(key, amount(written), allowed, resource)
                if message:
                    yield Hit(one.item, (*where, key, resource), f"{key} {written} is {message}")


def _outside(key: str, held: int | None, allowed: _Range, resource: str) -> str:
    """The consequence of a bound outside the range; empty if the bound is within it."""
    if held is None:
        return ""
    binary = resource == "memory"
    if allowed.most is not None and held > allowed.most:
        outcome = "no container ever reaches it" if key == "maxAllowed" else "the API server rejects every such pod"
        most = format_milli(allowed.most, binary)
        return f"above the {most} of {resource} that {allowed.most_by} allows: {outcome}"
    if held < allowed.least:
        outcome = "no container ever reaches it" if key == "minAllowed" else "the API server rejects every such pod"
        least = format_milli(allowed.least, binary)
        return f"below the {least} of {resource} that {allowed.least_by} requires: {outcome}"
    return ""


def _ranges(world: InputWorld) -> dict[str, dict[str, _Range]]:
    """By namespace and resource: of several LimitRanges the lowest max and the highest min apply."""
    found: dict[str, dict[str, _Range]] = defaultdict(dict)
    for item in world.of_kind("", "LimitRange"):
        here = found[item.namespace]
        for entry in sequence(item.spec.get("limits")):
            if dig(entry, "type") == "Container":
                for resource in RESOURCES:
                    here[resource] = _narrowed(here.get(resource, _Range()), item, mapping(entry), resource)
    return found


def _narrowed(known: _Range, item: Item, entry: Mapping[str, object], resource: str) -> _Range:
    least, most = amount(dig(entry, "min", resource)), amount(dig(entry, "max", resource))
    if least is not None and least > known.least:
        known = known._replace(least=least, least_by=item)
    if most is not None and (known.most is None or most < known.most):
        known = known._replace(most=most, most_by=item)
    return known


@SIZES.rule(
    "too-few-replicas",
    "advice",
    title="Too few replicas to change the size of running pods",
    why="No pod is evicted or resized while fewer pods are alive than minReplicas of the updatePolicy, which is 2 by "
    "default. In such a workload only pods that start for another reason get the recommended size.",
    fix="run more replicas, or write updatePolicy.minReplicas: 1 to accept the interruption",
    example="Deployment shop/web has 1 replica, and no running pod is changed while fewer than 2 are alive",
    kinds=VPA_ONLY,
)
def too_few_replicas(world: InputWorld) -> Iterator[Hit]:
    for vpa in world.vpas:
        needed, replicas = _needed(vpa), _replicas(world, vpa)
        if needed is not None and replicas is not None and 0 < replicas < needed:
            message = (
                f"{vpa.target} has {count_of(replicas, 'replica')}, and no running pod is changed while fewer than "
            )
            yield Hit(vpa.item, ("spec", "updatePolicy", "minReplicas"), f"{message}{needed} are alive")


def _needed(vpa: Autoscaler[VPA]) -> int | None:
    """How many pods must be alive; None if nothing is disrupted, or if in-place resizes skip the disruption budget."""
    knobs = for_updates(knobs_from(vpa.spec.annotations, Knobs()), vpa.spec.update_policy)
    mode = mode_of(vpa)
    if mode not in _DISRUPTING or (knobs.in_place_skips_budget and mode in {IN_PLACE, IN_PLACE_OR_RECREATE}):
        return None
    return knobs.min_replicas


def _replicas(world: InputWorld, vpa: Autoscaler[VPA]) -> int | None:
    """The replicas of a target that nothing scales; 1 if the target sets no count."""
    workload = world.target_of(vpa)
    if workload is None or vpa.target is None or vpa.target.kind not in _COUNTED or world.claims.get(vpa.target):
        return None
    written = workload.item.spec.get("replicas")
    return 1 if written is None else whole(written)


@SIZES.rule(
    "recreates-pods",
    "advice",
    title="Pods are evicted to resize them, where they could be resized in place",
    why="From Kubernetes 1.33 on most changes of size need no restart. InPlaceOrRecreate resizes the pod in place, and "
    "evicts it only if that does not work.",
    fix="write updateMode: InPlaceOrRecreate",
    example="updateMode Recreate evicts each pod to resize it; InPlaceOrRecreate resizes it in place",
    kinds=VPA_ONLY,
)
def recreates_pods(world: InputWorld) -> Iterator[Hit]:
    if world.kubernetes < RESIZES_IN_PLACE:
        return
    for vpa in world.vpas:
        mode = mode_of(vpa)
        # Of Auto, auto-mode says what to write.
        if mode == RECREATE:
            written = dig(vpa.item.spec, "updatePolicy", "updateMode")
            said = f"updateMode {mode}" if written else f"updateMode is not set, so it is {mode}, which"
            message = f"{said} evicts each pod to resize it; {IN_PLACE_OR_RECREATE} resizes it in place"
            yield Hit(vpa.item, ("spec", "updatePolicy", "updateMode"), message)
