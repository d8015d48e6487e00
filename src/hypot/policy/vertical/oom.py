"""Containers that ran out of memory, from the status of their pods."""

from collections.abc import Iterable

from hypot.core.amount import MEMORY, of_milli
from hypot.policy.model.seen import Container, Pod

OOM_KILLED = "OOMKilled"


def put_out(pods: Iterable[Pod]) -> list[Pod]:
    """Pods that the kubelet evicted because of memory pressure: they are over, but still show what they used."""
    return [pod for pod in pods if pod.eviction is not None]


def last_oom(pod: Pod, container: Container) -> tuple[float, int] | None:
    """When a container last ran out of memory, and how much it used or requested then, in bytes.

    The eviction of a pod comes after every kill; a container that the kubelet does not name did not run out.
    """
    asked = container.current_requests.get(MEMORY, 0)
    if pod.eviction is not None:
        at, used = pod.eviction.at, pod.eviction.used.get(container.name)
        return (at, of_milli(MEMORY, asked if used is None else used)) if container.name in pod.eviction.used else None
    ended = container.ended
    if ended is None or ended.reason != OOM_KILLED or ended.finished is None:
        return None
    return ended.finished, of_milli(MEMORY, asked)
