"""Which pods count as ready for a WatermarkPodAutoscaler."""

from collections.abc import Container as Having
from collections.abc import Iterable
from typing import NamedTuple

from hypot.policy.seen import Owner, Pod


def owned_by(owners: Iterable[Owner], target: str) -> bool:
    """Whether the target owns a pod; a ReplicaSet stands for the Deployment before its last dash."""
    for owner in owners:
        name = owner.name.rpartition("-")[0] if owner.kind == "ReplicaSet" else owner.name
        if name == target:
            return True
    return False


class Ready(NamedTuple):
    """How many count, and how many were not of this target or are over."""

    ready: int
    foreign: int


def ready_pods(
    pods: Iterable[Pod], target: str, now: float, readiness_delay: float, *, skip_owner_check: bool
) -> Ready:
    """Pods that serve, and pending ones whose readiness changed a moment ago."""
    ready = foreign = 0
    for pod in pods:
        if (not skip_owner_check and not owned_by(pod.owners, target)) or pod.phase in {"Failed", "Succeeded"}:
            foreign += 1
        elif pod.ready is not None and pod.started is not None and not pod.deleted:
            age = now - (pod.ready_since or 0.0)
            serves = pod.phase == "Running" and pod.ready == "True"
            ready += serves or (pod.phase == "Pending" and age < readiness_delay)
    return Ready(ready, foreign)


class Grouped(NamedTuple):
    ready: int
    ignored: frozenset[str]


def group_by_sample(
    pods: Iterable[Pod],
    target: str,
    sampled: Having[str],
    resource: str,
    readiness_delay: float,
    *,
    skip_owner_check: bool,
) -> Grouped:
    """Pods whose sample counts; cpu of a pod that is not ready, or was not for long enough, does not."""
    ready, ignored = 0, []
    for pod in pods:
        if not skip_owner_check and not owned_by(pod.owners, target):
            continue
        if pod.phase in {"Failed", "Pending"}:
            ignored.append(pod.name)
        elif pod.name not in sampled:
            continue
        elif resource == "cpu" and _cpu_too_fresh(pod, readiness_delay):
            ignored.append(pod.name)
        else:
            ready += 1
    return Grouped(ready, frozenset(ignored))


def _cpu_too_fresh(pod: Pod, readiness_delay: float) -> bool:
    if pod.ready is None or pod.started is None or pod.ready == "False":
        return True
    return (pod.ready_since or 0.0) < pod.started + readiness_delay
