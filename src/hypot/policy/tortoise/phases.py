"""The phases of a Tortoise and of its resources."""

from collections.abc import Iterable, Mapping
from typing import Any

from hypot.core.instant import read_time
from hypot.core.learning.phases import NO_PHASE, next_phase
from hypot.core.learning.phases import overall as overall_phase
from hypot.kinds.hpa import HPA
from hypot.kinds.tortoise.fields import AUTO, EMERGENCY
from hypot.kinds.tortoise.policies import OFF
from hypot.kinds.tortoise.settings import DAILY, DAY, TortoiseSettings
from hypot.kinds.tortoise.status import GATHERING, PHASES, WORKING
from hypot.kinds.values.nested import inner, mappings

# Why an HPA is not active if it misses the usage of pods.
MISSING = frozenset({"FailedGetResourceMetric", "FailedGetContainerResourceMetric", "FailedGetExternalMetric"})
_NUMBERS = ("value", "averageValue", "averageUtilization")


def gathers_for(settings: TortoiseSettings) -> float:
    """How long a resource is observed before its replicas are changed: until each slot has occurred once."""
    return DAY if settings.slot_period == DAILY else 7 * DAY


def overall(phases: Iterable[str]) -> str:
    """The phase of the whole, from those of its resources."""
    there = set(phases) - {OFF}
    return PHASES[overall_phase(GATHERING in there, WORKING in there)]


def code_of(phase: str) -> int:
    """The phase as `core.learning.phases` counts them."""
    return PHASES.index(phase) if phase else NO_PHASE


def phase_after(before: str, usual: str, mode: str, *, scales: bool, healthy: bool, reached: bool) -> str:
    """The next phase. `usual` is that of the resources; `scales`: whether replicas follow anything.

    `healthy`: whether the HPA gets its metrics; `reached`: whether its minimum is back where it should be.
    """
    asked = mode == EMERGENCY or (mode == AUTO and not healthy)
    return PHASES[next_phase(code_of(before), code_of(usual), asked, scales, reached)]


def is_healthy(hpa: HPA | None, now: float, grace: float) -> bool:
    """Whether the HPA gets its metrics. One that was not decided on yet, or that has no metrics, is healthy."""
    since = blind_since(hpa)
    return since is None or now - since < grace


def blind_since(hpa: HPA | None) -> float | None:
    """Since when the HPA misses its metrics, by its status; None if it does not, or does not say since when."""
    status = hpa.status if hpa is not None and isinstance(hpa.status, Mapping) else {}
    conditions = {str(each.get("type")): each for each in mappings(status.get("conditions"))}
    active = conditions.get("ScalingActive")
    if active is None or active.get("status") != "False" or active.get("reason") not in MISSING:
        return None
    if any(_has_number(metric) for metric in mappings(status.get("currentMetrics"))):
        return None
    return read_time(active.get("lastTransitionTime"))


def _has_number(metric: Mapping[str, Any]) -> bool:
    source = inner(metric, "containerResource") or inner(metric, "external")
    return any(inner(source, "current").get(number) not in (None, 0, "0") for number in _NUMBERS)
