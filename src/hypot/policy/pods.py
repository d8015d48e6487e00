"""Which pods count: the grouping of a HorizontalPodAutoscaler."""

from collections.abc import Container as Having
from collections.abc import Iterable, Mapping
from typing import NamedTuple, Protocol

from hypot.core.readiness import cpu_unready
from hypot.policy.seen import Pod
from hypot.policy.settings import Settings


class Sampled(Protocol):
    """When a sample was taken, and over how long."""

    @property
    def at(self) -> float: ...
    @property
    def window(self) -> float: ...


class Groups(NamedTuple):
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
    unready: list[str] = []
    missing: list[str] = []
    ignored: list[str] = []
    cpu_period, delay = settings.cpu_initialization_period, settings.initial_readiness_delay
    for pod in pods:
        name = pod.name
        if pod.deleted or pod.phase == "Failed":
            ignored.append(name)
        elif pod.phase == "Pending":
            unready.append(name)
        elif name not in sampled:
            missing.append(name)
        elif not is_cpu:
            ready += 1
        elif pod.ready is None or pod.started is None:
            unready.append(name)
        else:
            sample, since = samples[name], pod.ready_since or 0.0
            is_false = pod.ready == "False"
            if cpu_unready(is_false, since, pod.started, sample.at, sample.window, now, cpu_period, delay):
                unready.append(name)
            else:
                ready += 1
    return Groups(ready, _names(unready), _names(missing), _names(ignored))


_NONE: frozenset[str] = frozenset()


def _names(names: list[str]) -> frozenset[str]:
    return frozenset(names) if names else _NONE


def ready_and_running(pods: Iterable[Pod]) -> int:
    """Pods that serve now; one that is being deleted still does."""
    return sum(1 for pod in pods if pod.phase == "Running" and pod.ready == "True")
