"""Signs that a workload has too little memory now: OOM-killed containers and evicted pods."""

from collections.abc import Iterable

from hypot.core.amount import of_milli
from hypot.policy.model.current_size import CurrentSize, live
from hypot.policy.model.seen import Container, Pod, Seen


def urgency(
    seen: Seen,
    current_sizes: Iterable[CurrentSize],
    switched_off: frozenset[str],
    last_up: float | None,
    last_scale: float | None,
) -> str:
    """Why more is needed at once, as text; empty if it is not. Signs before the last scale-up do not count.

    If only the last scaling is known, a kill before it does not count: the scaling may have been the response.
    """
    answered = last_scale if last_up is None else last_up
    sizes = {one.container: one for one in current_sizes if one.container not in switched_off}
    killed = [
        f"container {container.name} of pod {pod.name} was OOM-killed"
        for pod in live(seen.pods)
        for container in pod.containers
        if container.ended is not None
        and container.name in sizes
        and _killed_since(container, answered)
        and _up_to_date(container, sizes[container.name])
    ]
    evicted = [
        f"pod {pod.name} was evicted while its node was under memory pressure"
        for pod in seen.pods
        if pod.reason == "Evicted" and _evicted_since(pod, seen, last_up)
    ]
    return min(killed or evicted, default="")


def _up_to_date(container: Container, current_size: CurrentSize) -> bool:
    """Whether the container has the current size; a pod with an older, smaller size says nothing about that."""
    request = container.current_requests.get("memory")
    return (None if request is None else of_milli("memory", request)) == current_size.requests.get("memory")


def _killed_since(container: Container, then: float | None) -> bool:
    ended = container.ended
    if ended is None or ended.reason != "OOMKilled":
        return False
    return then is None or (ended.finished is not None and ended.finished > then)


def _evicted_since(pod: Pod, seen: Seen, then: float | None) -> bool:
    node = seen.nodes.get(pod.node)
    if node is None or not node.short_of_memory:
        return False
    return then is None or pod.ready_since is None or pod.ready_since > then
