"""Compare two statuses: everything except their messages."""

from typing import Any

from hypot.core.instant import read_time
from hypot.core.quantity import Quantity

Object = dict[str, Any]
Reported = dict[str, Any]
# Times are in whole seconds, and taken a moment before they are written.
NEAR = 2.0
# An average over no pods: Go converts infinity to an integer that differs by machine; hypot reports 0.
_AVERAGES_OVER_NONE = {-(2**63) * 10**6, (2**63 - 1) * 10**6}


def differences(one: Reported, other: Reported, near: float = NEAR) -> list[str]:
    """Where two statuses differ; times may differ slightly."""
    names = [name for name in sorted({*one, *other} - {"times"}) if one.get(name) != other.get(name)]
    times, others = one.get("times", {}), other.get("times", {})
    alike = times.keys() == others.keys() and all(abs(at - others[name]) <= near for name, at in times.items())
    return names if alike else [*names, "times"]


def plain(status: Object) -> Reported:
    """A status without its messages."""
    times = {c["type"]: read_time(c["lastTransitionTime"]) for c in status.get("conditions", ())}
    if "lastScaleTime" in status:
        times["scaled"] = read_time(status["lastScaleTime"])
    return {
        "times": times,
        "conditions": {c["type"]: f"{c['status']}/{c['reason']}" for c in status.get("conditions", ())},
        "order": [c["type"] for c in status.get("conditions", ())],
        "currentReplicas": status.get("currentReplicas", 0),
        "desiredReplicas": status.get("desiredReplicas", 0),
        "currentMetrics": _amounts(status.get("currentMetrics") or []),
    }


def _amounts(value: Any) -> Any:
    """Quantities as numbers, so that their notation does not count."""
    if isinstance(value, list):
        return [_amounts(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {
        name: _amount(each) if name in {"value", "averageValue"} else _amounts(each)
        for name, each in value.items()
        if each not in (None, {}, "")
    }


def _amount(text: str) -> int:
    nanos = Quantity.parse(text).nanos
    return 0 if nanos in _AVERAGES_OVER_NONE else nanos
