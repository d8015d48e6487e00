"""What a workload has now: the actual size of each container in its pods, and the total over all replicas."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from hypot.core.amount import RESOURCES, of_milli
from hypot.policy.model.seen import Container, Pod, Seen
from hypot.policy.model.size import Size

# A container in a crash loop waits for at most 5 minutes between restarts, and then runs for a while.
LONGEST_WAIT = 600.0


class CurrentSize(NamedTuple):
    """One container: the largest requests of any pod and their limits, the totals, and the smallest requests.

    `written` has the request and limit of the pod template, if it has both. Their ratio is what people wrote; that of
    pods was rounded with every resize.
    """

    container: str
    requests: Mapping[str, int]
    limits: Mapping[str, int]
    totals: Mapping[str, int]
    least: Mapping[str, int] = {}
    written: Mapping[str, tuple[int, int]] = {}

    @property
    def size(self) -> Size:
        return Size(self.container, self.requests, self.limits)


def live(pods: Iterable[Pod]) -> list[Pod]:
    """Pods that run or will run: neither finished nor being deleted."""
    return [pod for pod in pods if not pod.deleted and pod.phase not in {"Succeeded", "Failed"}]


def has_crashed(pod: Pod, now: float) -> bool:
    """Whether the pod is not ready and a container terminated recently: it uses nothing while it waits to restart."""
    return pod.ready != "True" and ended_lately(pod, now)


def ended_lately(pod: Pod, now: float) -> bool:
    """Whether a container terminated recently, so that samples may show less than it needs."""
    ends = [c.ended.finished for c in pod.containers if c.ended is not None and c.ended.finished is not None]
    return any(now - finished < LONGEST_WAIT for finished in ends)


def current_size(seen: Seen, replicas: int) -> tuple[CurrentSize, ...]:
    """Every container, by name; from the pod template if there are no pods. Native sidecars are left out."""
    found: dict[str, list[Container]] = {}
    for pod in live(seen.pods):
        for container in pod.containers:
            if not container.sidecar:
                found.setdefault(container.name, []).append(container)
    if not found:
        found = {container.name: [container] for container in seen.template if not container.sidecar}
    template = {container.name: container for container in seen.template}
    return tuple([_current_size(name, found[name], replicas, template.get(name)) for name in sorted(found)])


def _current_size(name: str, containers: list[Container], replicas: int, template: Container | None) -> CurrentSize:
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
        # While pods start or stop, the existing ones represent all replicas.
        totals[resource] = of_milli(resource, -(-together * replicas // count))
    return CurrentSize(name, requests, limits, totals, least, {} if template is None else _written(template))


def _written(template: Container) -> dict[str, tuple[int, int]]:
    requests, limits = template.requests, template.limits
    return {
        resource: (of_milli(resource, requests[resource]), of_milli(resource, limits[resource]))
        for resource in RESOURCES
        if requests.get(resource) and resource in limits
    }
