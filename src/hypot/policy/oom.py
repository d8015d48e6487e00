"""Containers that ran out of memory, as pods and events tell it."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from hypot.core.amount import MEMORY, of_milli
from hypot.core.quantity import QuantityError, milli
from hypot.policy.memory import read_time
from hypot.policy.seen import Container, Pod

OOM_KILLED = "OOMKilled"
OFFENDERS, OFFENDERS_USAGE, STARVED = "offending_containers", "offending_containers_usage", "starved_resource"


class OutOfMemory(NamedTuple):
    """That a container ran out of memory, which it had or used this much of, in bytes."""

    namespace: str
    pod: str
    container: str
    memory: int
    at: float


def put_out(pods: Iterable[Pod]) -> list[Pod]:
    """Those that the kubelet evicted for want of memory: they are done, and still tell what they used."""
    return [pod for pod in pods if pod.eviction is not None]


def last_oom(pod: Pod, container: Container) -> tuple[float, int] | None:
    """When a container last ran out of memory, and how much it used or had then, in bytes.

    The eviction of its pod comes after every kill; who is not to blame for it did not run out.
    """
    asked = container.current_requests.get(MEMORY, 0)
    if pod.eviction is not None:
        at, used = pod.eviction.at, pod.eviction.used.get(container.name)
        return (at, of_milli(MEMORY, asked if used is None else used)) if container.name in pod.eviction.used else None
    ended = container.ended
    if ended is None or ended.reason != OOM_KILLED or ended.finished is None:
        return None
    return ended.finished, of_milli(MEMORY, asked)


def ooms_between(old: Any, new: Any) -> tuple[OutOfMemory, ...]:
    """What an update of a pod tells, from both manifests; a container that only one of them has tells nothing."""
    before = {status["name"]: status for status in _statuses(old)}
    found = (_oom_of(old, new, before[now["name"]], now) for now in _statuses(new) if now["name"] in before)
    return tuple(oom for oom in found if oom is not None)


def _oom_of(old: Any, new: Any, was: Mapping[str, Any], now: Mapping[str, Any]) -> OutOfMemory | None:
    restarted = _restarts(now) > _restarts(was)
    ended = _state(now, "state", "terminated")
    if ended is not None:
        if restarted or _state(was, "state", "terminated") is None:
            return _told(new, new, now["name"], ended)
        return None
    # From waiting to running is left out: that end was told when the container began to wait.
    runs_again = _state(was, "state", "running") is not None and _state(now, "state", "running") is not None
    ended = _state(now, "lastState", "terminated")
    return _told(new, old, now["name"], ended) if restarted and runs_again and ended is not None else None


def _told(pod: Any, asked_of: Any, container: str, ended: Mapping[str, Any]) -> OutOfMemory | None:
    at = read_time(ended.get("finishedAt"))
    if ended.get("reason") != OOM_KILLED or at is None:
        return None
    metadata = _mapping(_mapping(pod).get("metadata"))
    return OutOfMemory(
        str(metadata.get("namespace") or ""),
        str(metadata.get("name") or ""),
        container,
        _memory_request(asked_of, container),
        at,
    )


def _memory_request(pod: Any, container: str) -> int:
    """What the container has by the kubelet's word, else what its spec asks for, else nothing."""
    for status in _statuses(pod):
        if status["name"] == container and isinstance(status.get("resources"), Mapping):
            return _memory_of(status["resources"])
    for spec in _named(_mapping(_mapping(pod).get("spec")).get("containers")):
        if spec["name"] == container:
            return _memory_of(spec.get("resources"))
    return 0


def _memory_of(resources: Any) -> int:
    return _bytes(_mapping(_mapping(resources).get("requests")).get(MEMORY)) or 0


def ooms_of_event(event: Any) -> tuple[OutOfMemory, ...]:
    """What the kubelet's eviction of a pod tells; lists that do not fit together tell nothing."""
    data = _mapping(event)
    victim = _mapping(data.get("involvedObject") or data.get("regarding"))
    if data.get("reason") != "Evicted" or victim.get("kind") != "Pod":
        return ()
    metadata = _mapping(data.get("metadata"))
    at = read_time(metadata.get("creationTimestamp"))
    notes = _mapping(metadata.get("annotations"))
    offenders, usages, starved = (_listed(notes.get(key)) for key in (OFFENDERS, OFFENDERS_USAGE, STARVED))
    if at is None or not len(offenders) == len(usages) == len(starved):
        return ()
    namespace, pod = str(victim.get("namespace") or ""), str(victim.get("name") or "")
    memory = [_bytes(usage) if resource == MEMORY else None for usage, resource in zip(usages, starved, strict=True)]
    found = zip(offenders, memory, strict=True)
    return tuple(OutOfMemory(namespace, pod, name, used, at) for name, used in found if used is not None)


def _listed(text: Any) -> list[str]:
    return text.split(",") if isinstance(text, str) else []


def _bytes(quantity: Any) -> int | None:
    try:
        return of_milli(MEMORY, milli(quantity))
    except QuantityError:
        return None


def _statuses(pod: Any) -> Iterator[Mapping[str, Any]]:
    return _named(_mapping(_mapping(pod).get("status")).get("containerStatuses"))


def _named(items: Any) -> Iterator[Mapping[str, Any]]:
    return (item for item in items if isinstance(_mapping(item).get("name"), str)) if _is_list(items) else iter(())


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple)


def _state(status: Mapping[str, Any], which: str, kind: str) -> Mapping[str, Any] | None:
    found = _mapping(status.get(which)).get(kind)
    return found if isinstance(found, Mapping) else None


def _restarts(status: Mapping[str, Any]) -> int:
    count = status.get("restartCount")
    return count if isinstance(count, int) else 0


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
