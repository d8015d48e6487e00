"""Fits a recommendation: within the policy for all pods, and within limits and LimitRanges for one pod."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Literal, NamedTuple

from hypot.core.amount import CPU, MEMORY, RESOURCES, of_milli, to_milli
from hypot.core.sizes.fit import in_proportion, pod_split, proportional_limit, range_for_request, whole_cores, within
from hypot.kinds.vpa.fields import OFF, REQUESTS_ONLY, ContainerPolicy, ResourcePolicy, amounts_of, policy_of
from hypot.kinds.vpa.knobs import Knobs
from hypot.policy.model.seen import Bounds, Container, Failure, LimitRange, Pod
from hypot.policy.model.size import Size

INTEGER_CPU = "vpa-post-processor.kubernetes.io/{}_integerCPU"
FIELDS: tuple["Field", ...] = ("upper", "target", "lower")

Amounts = Mapping[str, int]
Field = Literal["target", "lower", "upper"]


class FittedContainer(NamedTuple):
    """One container: its recommendation, its complete new size, the part of it that is written, and what was cut."""

    bounds: Bounds
    size: Size
    patch: Size
    notes: tuple[str, ...] = ()


class Fitted(NamedTuple):
    """A recommendation for one pod, or why there is none."""

    containers: tuple[FittedContainer, ...] = ()
    error: str = ""

    @property
    def bounds(self) -> tuple[Bounds, ...]:
        return tuple(each.bounds for each in self.containers)

    @property
    def sizes(self) -> tuple[Size, ...]:
        return tuple(each.size for each in self.containers)

    @property
    def notes(self) -> dict[str, tuple[str, ...]]:
        return {each.bounds.container: each.notes for each in self.containers if each.notes}


class _Limits(NamedTuple):
    """The bounds of the containers of one pod: the autoscaler's policy and the namespace's LimitRanges."""

    policy: ResourcePolicy | None
    containers: LimitRange

    @property
    def default(self) -> Amounts:
        return amounts(self.containers.default)


class _Edge(NamedTuple):
    """Two bounds of one amount, and the name of each for notes. Zero means no bound."""

    low: int
    high: int
    raising: str
    cutting: str


NO_RANGE = LimitRange("")


def amounts(milli: Mapping[str, int]) -> dict[str, int]:
    """Observed quantities as amounts of cpu and memory."""
    return {resource: of_milli(resource, milli[resource]) for resource in RESOURCES if resource in milli}


def capped(bounds: Iterable[Bounds], policy: ResourcePolicy | None, knobs: Knobs) -> tuple[Bounds, ...]:
    """Cap to what the policy allows, or the cluster if the policy has no maximum. The uncapped target stays."""
    most = {CPU: knobs.max_allowed_cpu or 0, MEMORY: knobs.max_allowed_memory or 0}
    return tuple(_capped(each, policy_of(policy, each.container), most) for each in bounds)


def _capped(bounds: Bounds, policy: ContainerPolicy | None, most: Amounts) -> Bounds:
    low, high = _allowed(policy)
    high = {**most, **high}

    def kept(recommended: Amounts) -> Amounts:
        return {r: within(amount, low.get(r, 0), high.get(r, 0)).amount for r, amount in recommended.items()}

    return bounds._replace(target=kept(bounds.target), lower=kept(bounds.lower), upper=kept(bounds.upper))


def _allowed(policy: ContainerPolicy | None) -> tuple[Amounts, Amounts]:
    if policy is None:
        return {}, {}
    return amounts_of(policy.min_allowed), amounts_of(policy.max_allowed)


def with_integer_cpu(bounds: Iterable[Bounds], annotations: Mapping[str, str]) -> tuple[Bounds, ...]:
    """Whole cores for the containers that an annotation names, because they pin their threads to cores."""
    return tuple(
        _in_whole_cores(each) if annotations.get(INTEGER_CPU.format(each.container)) == "true" else each
        for each in bounds
    )


def _in_whole_cores(bounds: Bounds) -> Bounds:
    container, *fields = bounds
    return Bounds(container, *({r: whole_cores(a) if r == CPU else a for r, a in field.items()} for field in fields))


def merged(ranges: Iterable[LimitRange], kind: str) -> LimitRange | None:
    """All ranges of one type merged: the lowest maximum, the highest minimum and the last default."""
    low: dict[str, int] = {}
    high: dict[str, int] = {}
    default: Mapping[str, int] = {}
    found = False
    for each in ranges:
        if each.type != kind:
            continue
        found = True
        low.update({r: max(a, low.get(r, a)) for r, a in each.low.items()})
        high.update({r: min(a, high.get(r, a)) for r, a in each.high.items()})
        default = each.default or default
    return LimitRange(kind, low, high, default) if found else None


def fit(
    bounds: Iterable[Bounds],
    policy: ResourcePolicy | None,
    pod: Pod,
    limit_ranges: Iterable[LimitRange] | Failure,
) -> Fitted:
    """The recommendation for this pod. Containers with mode Off and native sidecars are left out."""
    if isinstance(limit_ranges, Failure):
        return Fitted(error=f"the LimitRanges of the namespace cannot be read: {limit_ranges.message}")
    ranges = tuple(limit_ranges)
    sized = {c.name: c for c in pod.containers if not c.sidecar and not is_off(policy, c.name)}
    advised = {each.container: each for each in reversed(tuple(bounds)) if each.container in sized}
    if not advised:
        return Fitted()
    limits = _Limits(policy, merged(ranges, "Container") or NO_RANGE)
    of_pods = merged(ranges, "Pod")
    if of_pods is not None:
        for name, container in sized.items():
            advised.setdefault(name, Bounds(name, amounts(container.current_requests)))
        advised = _share(advised, pod, of_pods, limits.default)
    return Fitted(tuple(_fitted(advised[name], sized[name], limits) for name in sized if name in advised))


def is_off(policy: ResourcePolicy | None, container: str) -> bool:
    own = policy_of(policy, container)
    return own is not None and own.mode == OFF


def _share(advised: Mapping[str, Bounds], pod: Pod, of_pods: LimitRange, default: Amounts) -> dict[str, Bounds]:
    shared = tuple(advised.values())
    for resource in RESOURCES:
        own, room = _beside_fixed(advised, pod, of_pods, resource, default.get(resource, 0))
        for field in FIELDS:
            shared = within_pod_range(shared, own, room, resource, field, default.get(resource, 0))
    return {each.container: each for each in shared}


def _beside_fixed(
    advised: Mapping[str, Bounds], pod: Pod, of_pods: LimitRange, resource: str, default: int
) -> tuple[Pod, LimitRange]:
    """The pod with only the containers that have a recommendation, and the range that the others leave them."""
    sized = {name for name, each in advised.items() if resource in each.target}
    fixed = [container for container in pod.containers if container.name not in sized]
    milli_default = to_milli(resource, default)
    requests = sum(container.current_requests.get(resource, 0) for container in fixed)
    limits = sum(container.current_limits.get(resource) or milli_default for container in fixed)
    own = replace(pod, containers=tuple(container for container in pod.containers if container.name in sized))
    low, high = of_pods.low.get(resource, 0), of_pods.high.get(resource, 0)
    return own, LimitRange("Pod", {resource: max(0, low - requests)}, {resource: max(0, high - limits)})


def within_pod_range(
    bounds: tuple[Bounds, ...], pod: Pod, of_pods: LimitRange, resource: str, field: Field, default: int = 0
) -> tuple[Bounds, ...]:
    """One field of all containers, scaled so that the sums fit. Without a recommendation the request counts."""
    advised: dict[str, Amounts] = {each.container: getattr(each, field) for each in bounds}
    total = total_limit = 0
    for container in pod.containers:
        request = _amount(container.current_requests, resource)
        wanted = advised.get(container.name, {}).get(resource, request)
        limit, _ = proportional_limit(_amount(container.current_limits, resource), request, wanted, default)
        total += wanted
        total_limit += limit or 0
    split = pod_split(total, total_limit, _amount(of_pods.low, resource), _amount(of_pods.high, resource))
    if split is None:
        return bounds
    up = split.up and resource == CPU
    present = {container.name for container in pod.containers}
    shared = {
        name: {**of, resource: in_proportion(of[resource], split.base, split.result, up).amount}
        for name, of in advised.items()
        if name in present and resource in of
    }
    return tuple(_with_field(each, field, shared.get(each.container)) for each in bounds)


def _with_field(bounds: Bounds, field: Field, changed: Amounts | None) -> Bounds:
    if changed is None:
        return bounds
    if field == "target":
        return bounds._replace(target=changed)
    return bounds._replace(lower=changed) if field == "lower" else bounds._replace(upper=changed)


def _amount(milli: Mapping[str, int], resource: str) -> int:
    return of_milli(resource, milli.get(resource, 0))


def _fitted(bounds: Bounds, container: Container, limits: _Limits) -> FittedContainer:
    policy = policy_of(limits.policy, container.name)
    edges = {resource: _edges(resource, container, policy, limits.containers) for resource in RESOURCES}
    target, notes = _moved(bounds.target, edges)
    lower, _ = _moved(bounds.lower, edges)
    upper, _ = _moved(bounds.upper, edges)
    requests, current = amounts(container.current_requests), amounts(container.current_limits)
    followed, more = _limits_for(target, requests, current, limits.default) if _controls_limits(policy) else ({}, ())
    return FittedContainer(
        bounds._replace(target=target, lower=lower, upper=upper),
        Size(container.name, {**requests, **target}, {**current, **followed}),
        Size(container.name, target, followed),
        notes + more,
    )


def _controls_limits(policy: ContainerPolicy | None) -> bool:
    return policy is None or policy.controlled_values != REQUESTS_ONLY


def _edges(
    resource: str, container: Container, policy: ContainerPolicy | None, of_containers: LimitRange
) -> tuple[_Edge, ...]:
    """The bounds in the order of application: LimitRange, policy, and a limit that does not follow the request."""
    limit = _amount(container.current_limits, resource)
    least, most = range_for_request(
        _amount(of_containers.low, resource),
        _amount(of_containers.high, resource),
        limit,
        _amount(container.current_requests, resource),
        _amount(of_containers.default, resource),
    )
    low, high = _allowed(policy)
    return (
        _Edge(least, most, "fit Min in container LimitRange", "fit Max in container LimitRange"),
        _Edge(low.get(resource, 0), high.get(resource, 0), "minAllowed", "maxAllowed"),
        _Edge(0, 0 if _controls_limits(policy) else limit, "", "container limit"),
    )


def _moved(recommended: Amounts, edges: Mapping[str, tuple[_Edge, ...]]) -> tuple[dict[str, int], tuple[str, ...]]:
    """The amounts within all edges, and notes on what changed them."""
    result: dict[str, int] = {}
    notes: list[str] = []
    for resource in RESOURCES:
        if resource not in recommended:
            continue
        amount = recommended[resource]
        for edge in edges[resource]:
            amount, raised, cut = within(amount, edge.low, edge.high)
            if raised:
                notes.append(f"{resource} capped to {edge.raising}")
            if cut:
                notes.append(f"{resource} capped to {edge.cutting}")
        result[resource] = amount
    return result, tuple(notes)


def _limits_for(
    target: Amounts, requests: Amounts, limits: Amounts, default: Amounts
) -> tuple[dict[str, int], tuple[str, ...]]:
    """The limits that follow the requests, and notes on those that could not keep their ratio."""
    followed: dict[str, int] = {}
    notes: list[str] = []
    for resource, recommended in target.items():
        own = (limits.get(resource, 0), requests.get(resource, 0), recommended, default.get(resource, 0))
        limit, cut = proportional_limit(*own)
        if limit is not None:
            followed[resource] = limit
        if cut:
            notes.append(f"{resource}: failed to keep limit to request ratio; capping limit to int64")
    return followed, tuple(notes)
