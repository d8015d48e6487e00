"""What an Autoscaler observes of the pods: sums over those that served throughout the window of their samples."""

from collections.abc import Mapping, Sequence
from math import inf
from typing import NamedTuple

from hypot.core.amount import of_milli
from hypot.core.bank.observed import observed_of
from hypot.core.bank.rule import ObservedLoad
from hypot.kinds.autoscaler.fields import AutoscalerSpec
from hypot.kinds.meta import MetricName
from hypot.policy.autoscaler.rule import CPU
from hypot.policy.model.current_size import CurrentSize
from hypot.policy.model.seen import Pod, PodSample, Seen, metric_key
from hypot.policy.model.state import Vertical

MEMORY = "memory"
UNKNOWN, UNLIMITED = -1, -1
# Times are compared as far as they are exact.
EXACT = 1e-6


class MeasuredPod(NamedTuple):
    """A pod that serves, and its sample."""

    pod: Pod
    sample: PodSample
    used: int


def observed(autoscaler: AutoscalerSpec, seen: Seen, past: Vertical, replicas: int, size: CurrentSize) -> ObservedLoad:
    """For the container of this size."""
    ready = [pod for pod in seen.pods if pod.ready == "True" and not pod.deleted]
    measured = _measured(seen, ready, size.container)
    settled = [one for one in measured if _served_throughout(one)] or measured
    requests = caps = memory = memory_limits = 0
    known = True
    for one in settled:
        container = next(each for each in one.pod.containers if each.name == size.container)
        request = of_milli(CPU, container.current_requests.get(CPU, 0))
        limit = container.current_limits.get(CPU)
        requests += request
        caps += request if limit is None else of_milli(CPU, limit)
        held, most = one.sample.usage(MEMORY, size.container), container.current_limits.get(MEMORY)
        known = known and held is not None and most is not None
        memory += of_milli(MEMORY, held or 0)
        memory_limits += of_milli(MEMORY, most or 0)
    base, limit = size.written.get(CPU, (size.requests[CPU], size.limits.get(CPU, UNLIMITED)))
    sampled = min((one.sample.at for one in settled), default=seen.now)
    return observed_of(
        len(settled),
        sum(one.used for one in settled),
        requests,
        caps,
        _total(seen, autoscaler.requests_metric, settled),
        _total(seen, autoscaler.late_metric, settled),
        sampled,
        max((one.sample.window for one in settled), default=0.0),
        replicas,
        len(ready),
        size.requests[CPU],
        base,
        limit,
        size.requests.get(MEMORY, 0),
        memory,
        memory_limits if known else 0,
        max(-inf if at is None else at for at in (past.evicted, past.restarted)),
    )


def _measured(seen: Seen, ready: Sequence[Pod], container: str) -> list[MeasuredPod]:
    if not isinstance(seen.pod_metrics, Mapping):
        return []
    found = []
    for pod in ready:
        sample = seen.pod_metrics.get(pod.name)
        used = None if sample is None else sample.usage(CPU, container)
        if sample is not None and used is not None and pod.has_container(container):
            found.append(MeasuredPod(pod, sample, used))
    return found


def _served_throughout(one: MeasuredPod) -> bool:
    since = one.pod.ready_since
    return since is not None and since <= one.sample.at - one.sample.window + EXACT


def _total(seen: Seen, metric: MetricName | None, pods: Sequence[MeasuredPod]) -> int:
    """The sum over these pods; those without a value count as the mean of the others. UNKNOWN if none has one."""
    if metric is None:
        return UNKNOWN
    found = seen.pods_metrics.get(metric_key(metric.name, metric.selector))
    if not isinstance(found, Mapping):
        return UNKNOWN
    values = [found[one.pod.name] for one in pods if one.pod.name in found]
    total = sum(value.milli for value in values)
    return UNKNOWN if not values else total * len(pods) // len(values)
