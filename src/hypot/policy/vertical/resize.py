"""In-place resizes: whether a resize is possible, whether to wait for one in progress, and when to stop waiting."""

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from hypot.core.amount import CPU, MEMORY, RESOURCES, brief
from hypot.core.sizes.fate import DEFERRED_PATIENCE, IN_PROGRESS_PATIENCE
from hypot.kinds.values.version import Version, show_version
from hypot.kinds.vpa.fields import IN_PLACE
from hypot.policy.model.decision import show_seconds
from hypot.policy.model.seen import Bounds, Container, PendingResize, Pod
from hypot.policy.model.size import Size
from hypot.policy.vertical.budget import DisruptionBudget, DisruptionRefusal
from hypot.policy.vertical.fit import amounts

RESIZES: Version = (1, 33)
# Before this version a memory limit can be lowered only if the container may be restarted.
LOWERS_MEMORY: Version = (1, 34)
RESIZES_POD_LEVEL: Version = (1, 36)
STATIC_POD = "kubernetes.io/config.mirror"

Requests = Mapping[str, Mapping[str, int]]


class InPlace(StrEnum):
    APPROVED = "approved"
    DEFERRED = "deferred"
    EVICT = "evict"
    INFEASIBLE = "infeasible"
    INFEASIBLE_CACHED = "infeasible-cached"


class ResizeVerdict(NamedTuple):
    """What to do with a pod that needs a resize, and by which rule if it is not resized."""

    decision: InPlace
    rule: str = ""
    message: str = ""


def key_of(pod: Pod) -> str:
    """The key of a pod in the state; a StatefulSet reuses the name of a deleted pod."""
    return pod.uid or pod.name


def still_waiting(pods: Iterable[Pod], stuck: Mapping[str, float], now: float) -> dict[str, float]:
    """Since when each resize waits; finished resizes and deleted pods are forgotten."""
    return {key_of(pod): _since(pod.resize, stuck.get(key_of(pod), now)) for pod in pods if pod.resize is not None}


def _since(resize: PendingResize, remembered: float) -> float:
    return remembered if resize.since is None else resize.since


def still_refused(pods: Iterable[Pod], infeasible: Mapping[str, Requests]) -> dict[str, Requests]:
    """The requests that a node can never grant, of the pods that still exist."""
    found: dict[str, Requests] = {}
    for pod in pods:
        if pod.resize is not None and pod.resize.state == "infeasible":
            found[key_of(pod)] = {container.name: amounts(container.requests) for container in pod.containers}
        elif key_of(pod) in infeasible:
            found[key_of(pod)] = infeasible[key_of(pod)]
    return found


def asks_less(bounds: Iterable[Bounds], refused: Requests) -> bool:
    """Whether any amount is lower than the refused one, so that asking again makes sense."""
    return any(
        amount < refused[each.container][resource]
        for each in bounds
        for resource, amount in each.target.items()
        if resource in refused.get(each.container, {})
    )


def gives_up(resize: PendingResize, since: float, now: float) -> bool:
    """Whether waiting longer for this resize is useless."""
    if resize.state == "deferred":
        return now - since > DEFERRED_PATIENCE
    if resize.state == "in-progress":
        return now - since > IN_PROGRESS_PATIENCE
    return True


def resize_verdict(resize: PendingResize, since: float, now: float) -> ResizeVerdict:
    """A pending resize, as a reason to leave the pod alone."""
    waited = show_seconds(max(0.0, now - since))
    message = {
        "deferred": f"its node has deferred a resize for {waited}",
        "infeasible": "its node can never grant the requested resize",
        "in-progress": f"a resize has been in progress for {waited}",
        "error": "a resize fails on its node",
        "unknown": "a resize waits for an unknown reason",
    }[resize.state]
    reported = f"{message} ({resize.message})" if resize.message else message
    return ResizeVerdict(InPlace.DEFERRED, f"resize-{resize.state}", reported)


def unevictable(pod: Pod, budget: DisruptionBudget, *, since: float, now: float) -> DisruptionRefusal | None:
    """Why the pod cannot be evicted now; None if it can. A resize that may still succeed is awaited."""
    refusal = budget.unevictable(pod)
    if refusal is not None or pod.phase == "Pending" or pod.resize is None or gives_up(pod.resize, since, now):
        return refusal
    reported = resize_verdict(pod.resize, since, now)
    return DisruptionRefusal(reported.rule, reported.message)


def in_place(
    pod: Pod,
    bounds: Sequence[Bounds] | None,
    budget: DisruptionBudget,
    mode: str,
    *,
    since: float,
    now: float,
    refused: Requests | None = None,
    spares_budget: bool = False,
) -> ResizeVerdict:
    """Whether to resize this pod now; `refused` are the requests that its node could not grant before."""
    refusal = budget.uncounted(pod)
    if refusal is not None:
        return ResizeVerdict(InPlace.DEFERRED, *refusal)
    if pod.phase == "Pending":
        return ResizeVerdict(InPlace.DEFERRED, "pending", "it is not running yet")
    if bounds is None:
        return ResizeVerdict(InPlace.DEFERRED, "no-recommendation", "nothing is recommended for it")
    if mode == IN_PLACE and refused is not None and not asks_less(bounds, refused):
        message = "its node can never grant that much, and nothing less has been recommended since"
        return ResizeVerdict(InPlace.INFEASIBLE_CACHED, "resize-infeasible", message)
    if pod.resize is not None:
        return _while_resizing(pod, pod.resize, budget, mode, since, now)
    if spares_budget and not any(container.restarts_on_resize for container in pod.containers):
        return ResizeVerdict(InPlace.APPROVED)
    refusal = budget.exhausted(pod)
    return ResizeVerdict(InPlace.APPROVED) if refusal is None else ResizeVerdict(InPlace.DEFERRED, *refusal)


def _while_resizing(
    pod: Pod, resize: PendingResize, budget: DisruptionBudget, mode: str, since: float, now: float
) -> ResizeVerdict:
    reported = resize_verdict(resize, since, now)
    if mode == IN_PLACE:
        return reported._replace(decision=InPlace.INFEASIBLE) if resize.state == "infeasible" else reported
    if not gives_up(resize, since, now):
        return reported
    refusal = budget.exhausted(pod)
    if refusal is None:
        return reported._replace(decision=InPlace.EVICT)
    return ResizeVerdict(InPlace.DEFERRED, refusal.rule, f"{reported.message}, and {refusal.message}")


def resize_obstacle(pod: Pod, sizes: Iterable[Size], kubernetes: Version) -> str:
    """Why the API server would reject this resize, as a clause; empty if it would not.

    Only the kubelet knows of static cpu and memory managers and of swap: it answers Infeasible.
    """
    if kubernetes < RESIZES:
        return f"Kubernetes {show_version(kubernetes)} cannot resize pods in place"
    if STATIC_POD in pod.annotations:
        return "a static pod cannot be resized"
    if pod.pod_requests is not None and kubernetes < RESIZES_POD_LEVEL:
        return f"Kubernetes {show_version(kubernetes)} cannot resize a pod that has pod-level resources"
    asked = {size.container: size for size in sizes}
    present = {container.name: container for container in pod.containers}
    for name in sorted(asked):
        if name not in present:
            return f"it has no running container {name}"
        obstacle = _container_obstacle(present[name], asked[name], kubernetes)
        if obstacle:
            return obstacle
    return "" if pod.pod_requests is not None else _class_obstacle(pod, asked)


def _container_obstacle(container: Container, size: Size, kubernetes: Version) -> str:
    for kind, had, asked in (
        ("request", container.requests, size.requests),
        ("limit", container.limits, size.limits),
    ):
        other = sorted(set(asked) - set(RESOURCES))
        if other:
            return f"only cpu and memory can be resized, not {other[0]} of {container.name}"
        gone = [resource for resource in RESOURCES if resource in had and resource not in asked]
        if gone:
            return f"a resize cannot remove the {gone[0]} {kind} of {container.name}"
    before, after = amounts(container.limits).get(MEMORY), size.limits.get(MEMORY)
    lowers = before is not None and after is not None and after < before
    if not lowers or kubernetes >= LOWERS_MEMORY or MEMORY in container.restarts_on_resize:
        return ""
    return (
        f"Kubernetes {show_version(kubernetes)} lowers the memory limit of {container.name} "
        f"({brief(MEMORY, before or 0)} to {brief(MEMORY, after or 0)}) only if its resizePolicy is RestartContainer"
    )


def _class_obstacle(pod: Pod, asked: Mapping[str, Size]) -> str:
    every = (*pod.containers, *pod.init_containers)
    given = {c.name: Size(c.name, amounts(c.requests), amounts(c.limits)) for c in every}
    before, after = pod.qos or qos_class(given.values()), qos_class({**given, **asked}.values())
    return "" if before == after else f"a resize cannot change its class from {before} to {after}"


def qos_class(sizes: Iterable[Size]) -> str:
    """The QoS class of a pod: Guaranteed if every limit is set and equals the request."""
    parts = tuple(sizes)
    requests, limits = (
        {r: sum(of.get(r, 0) for of in each) for r in RESOURCES}
        for each in ([size.requests for size in parts], [size.limits for size in parts])
    )
    if not any(requests.values()) and not any(limits.values()):
        return "BestEffort"
    limited = all(size.limits.get(CPU, 0) and size.limits.get(MEMORY, 0) for size in parts)
    return "Guaranteed" if limited and requests == limits else "Burstable"
