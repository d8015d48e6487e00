"""What a workload has now: the size of each container as its pods really have it, and all of them together."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from hypot.core.amount import RESOURCES, of_milli
from hypot.policy.model.seen import Container, Pod, Seen
from hypot.policy.model.size import Size

# A container that crashes again and again waits for 5 minutes at most, and then runs for a while.
LONGEST_WAIT = 600.0


class CurrentSize(NamedTuple):
    """One container: the largest requests that any pod has, their limits, the total of all replicas, and the least."""

    container: str
    requests: Mapping[str, int]
    limits: Mapping[str, int]
    totals: Mapping[str, int]
    least: Mapping[str, int] = {}

    @property
    def size(self) -> Size:
        return Size(self.container, self.requests, self.limits)


def live(pods: Iterable[Pod]) -> list[Pod]:
    """Pods that run or will: neither done nor on their way out."""
    return [pod for pod in pods if not pod.deleted and pod.phase not in {"Succeeded", "Failed"}]


def has_crashed(pod: Pod, now: float) -> bool:
    """Whether it does not serve because a container of it ended, which uses nothing while it waits to start again."""
    ends = [c.ended.finished for c in pod.containers if c.ended is not None and c.ended.finished is not None]
    return pod.ready != "True" and any(now - finished < LONGEST_WAIT for finished in ends)


def current_size(seen: Seen, replicas: int) -> tuple[CurrentSize, ...]:
    """Every container, by name; of the pod template where no pod is there. Native sidecars are left alone."""
    found: dict[str, list[Container]] = {}
    for pod in live(seen.pods):
        for container in pod.containers:
            if not container.sidecar:
                found.setdefault(container.name, []).append(container)
    if not found:
        found = {container.name: [container] for container in seen.template if not container.sidecar}
    return tuple([_current_size(name, found[name], replicas) for name in sorted(found)])


def _current_size(name: str, containers: list[Container], replicas: int) -> CurrentSize:
    requests: dict[str, int] = {}
    limits: dict[str, int] = {}
    least: dict[str, int] = {}
    totals: dict[str, int] = {}
    count = len(containers)
    for resource in RESOURCES:
        largest, its_limit, smallest, together = -1, -1, -1, 0
        for container in containers:
            request = container.current_requests.get(resource, -1)
            limit = container.current_limits.get(resource, -1)
            together += max(request, 0)
            smallest = max(request, 0) if smallest < 0 else min(smallest, max(request, 0))
            largest, its_limit = max((largest, its_limit), (request, limit))
        if largest >= 0:
            requests[resource] = of_milli(resource, largest)
            least[resource] = of_milli(resource, smallest)
        if its_limit >= 0:
            limits[resource] = of_milli(resource, its_limit)
        # While pods come and go, those that are there stand for the others.
        totals[resource] = of_milli(resource, -(-together * replicas // count))
    return CurrentSize(name, requests, limits, totals, least)
