"""Which pods count: the grouping of a HorizontalPodAutoscaler."""

from collections.abc import Container as Having
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from hypot.core.readiness import cpu_unready
from hypot.policy.seen import Pod
from hypot.policy.settings import Settings


class Sampled(Protocol):
    """When a sample was taken, and over how long."""

    @property
    def at(self) -> float: ...
    @property
    def window(self) -> float: ...


@dataclass(frozen=True, slots=True)
class Groups:
    """Each pod is in one group: counted, too fresh to believe, without a sample, or on its way out."""

    ready: int
    unready: frozenset[str]
    missing: frozenset[str]
    ignored: frozenset[str]


def group(
    pods: Iterable[Pod],
    sampled: Having[str],
    samples: Mapping[str, Sampled],
    resource: str,
    now: float,
    settings: Settings,
) -> Groups:
    """Sort pods by whether their sample may be believed; readiness matters for cpu alone."""
    ready, is_cpu = 0, resource == "cpu"
    unready, missing, ignored = [], [], []
    cpu_period, delay = settings.cpu_initialization_period, settings.initial_readiness_delay
    for pod in pods:
        name = pod.name
        if pod.deleted or pod.phase == "Failed":
            ignored.append(name)
        elif pod.phase == "Pending":
            unready.append(name)
        elif name not in sampled:
            missing.append(name)
        elif is_cpu and _cpu_unready(pod, samples[name], now, cpu_period, delay):
            unready.append(name)
        else:
            ready += 1
    return Groups(ready, frozenset(unready), frozenset(missing), frozenset(ignored))


def _cpu_unready(pod: Pod, sample: Sampled, now: float, cpu_period: float, delay: float) -> bool:
    if pod.ready is None or pod.started is None:
        return True
    since = pod.ready_since or 0.0
    return cpu_unready(pod.ready == "False", since, pod.started, sample.at, sample.window, now, cpu_period, delay)


def ready_and_running(pods: Iterable[Pod]) -> int:
    """Pods that serve now; one that is being deleted still does."""
    return sum(1 for pod in pods if pod.phase == "Running" and pod.ready == "True")
