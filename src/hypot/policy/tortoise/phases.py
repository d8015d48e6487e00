"""The phases of a Tortoise and of its resources."""

from collections.abc import Iterable, Mapping
from typing import Any

from hypot.core.instant import read_time
from hypot.kinds.hpa import HPA
from hypot.kinds.nested import inner, mappings
from hypot.kinds.tortoise.fields import AUTO, EMERGENCY
from hypot.kinds.tortoise.policies import OFF
from hypot.kinds.tortoise.settings import DAILY, DAY, TortoiseSettings
from hypot.kinds.tortoise.status import (
    BACK_TO_NORMAL,
    GATHERING,
    IN_EMERGENCY,
    MAY_HAVE_EMERGENCY,
    PARTLY_WORKING,
    WORKING,
)

# Why an HPA is not active if it misses the usage of pods.
MISSING = frozenset({"FailedGetResourceMetric", "FailedGetContainerResourceMetric", "FailedGetExternalMetric"})
_NUMBERS = ("value", "averageValue", "averageUtilization")


def gathers_for(settings: TortoiseSettings) -> float:
    """How long a resource is observed before its replicas are changed: until each slot has occurred once."""
    return DAY if settings.slot_period == DAILY else 7 * DAY


def overall(phases: Iterable[str]) -> str:
    """The phase of the whole, from those of its resources."""
    there = set(phases) - {OFF}
    if GATHERING not in there:
        return WORKING
    return PARTLY_WORKING if WORKING in there else GATHERING


def stepped_back(low: int, factor: float) -> int:
    """The minimum after one more step back from an emergency: lower by at least one."""
    return min(int(low * factor), low - 1)


def phase_after(before: str, usual: str, mode: str, *, scales: bool, healthy: bool, reached: bool) -> str:
    """The next phase. `usual` is that of the resources; `scales`: whether replicas follow anything.

    `healthy`: whether the HPA gets its metrics; `reached`: whether its minimum is back where it should be.
    """
    ready = usual in MAY_HAVE_EMERGENCY or before in {IN_EMERGENCY, BACK_TO_NORMAL}
    if scales and ready and (mode == EMERGENCY or (mode == AUTO and not healthy)):
        return IN_EMERGENCY
    if scales and before in {IN_EMERGENCY, BACK_TO_NORMAL} and not reached:
        return BACK_TO_NORMAL
    return usual


def is_healthy(hpa: HPA | None, now: float, grace: float) -> bool:
    """Whether the HPA gets its metrics. One that was not decided on yet, or that has no metrics, is healthy."""
    status = hpa.status if hpa is not None and isinstance(hpa.status, Mapping) else {}
    conditions = {str(each.get("type")): each for each in mappings(status.get("conditions"))}
    active = conditions.get("ScalingActive")
    if active is None or active.get("status") != "False" or active.get("reason") not in MISSING:
        return True
    if any(_has_number(metric) for metric in mappings(status.get("currentMetrics"))):
        return True
    since = read_time(active.get("lastTransitionTime"))
    return since is None or now - since < grace


def _has_number(metric: Mapping[str, Any]) -> bool:
    source = inner(metric, "containerResource") or inner(metric, "external")
    return any(inner(source, "current").get(number) not in (None, 0, "0") for number in _NUMBERS)
