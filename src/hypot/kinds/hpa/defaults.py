"""The API server's defaults, applied only on request."""

from collections.abc import Mapping
from typing import TypeVar

from hypot.kinds.base import as_stored
from hypot.kinds.hpa.fields import Behavior, HPASpec, Limit, Metric, ResourceSource, ScalingRules, Target
from hypot.kinds.node import replaced
from hypot.kinds.values.version import NEWEST, Version, gate_open

H = TypeVar("H", bound=HPASpec)

DEFAULT_METRICS = (Metric("Resource", resource=ResourceSource("cpu", Target("Utilization", utilization=80))),)
DEFAULT_UP = ScalingRules((Limit("Pods", 4, 15), Limit("Percent", 100, 15)), 0, "Max")
# A controller flag sets the scale-down window.
DEFAULT_DOWN = ScalingRules((Limit("Percent", 100, 15),), None, "Max")


def with_defaults(hpa: H, kubernetes: Version = NEWEST, gates: Mapping[str, bool] | None = None) -> H:
    """The object with the API server's defaults; the same object if nothing is missing."""
    changes: dict[str, object] = {}
    if hpa.min_replicas is None:
        changes["min_replicas"] = 1
    if not hpa.metrics:
        changes["metrics"] = DEFAULT_METRICS
    behavior = default_behavior(hpa.behavior)
    if behavior is not None and not gate_open("HPAConfigurableTolerance", kubernetes, gates):
        behavior = without_tolerance(behavior)
    if behavior is not hpa.behavior:
        changes["behavior"] = behavior
    return replaced(hpa, **changes) if changes else hpa


def stored(hpa: H, kubernetes: Version = NEWEST, gates: Mapping[str, bool] | None = None) -> H:
    """The object as `kubectl get` shows it after creation: with defaults, printed quantities and no status."""
    made: H = as_stored(with_defaults(hpa, kubernetes, gates))
    return replaced(made, status=None)


def default_behavior(behavior: Behavior | None) -> Behavior | None:
    """An absent behavior stays absent, which is another algorithm. A present one, even empty, gets both defaults."""
    if behavior is None:
        return None
    up, down = default_pace(behavior.scale_up, DEFAULT_UP), default_pace(behavior.scale_down, DEFAULT_DOWN)
    if up is behavior.scale_up and down is behavior.scale_down:
        return behavior
    return replaced(behavior, scale_up=up, scale_down=down)


def default_pace(pace: ScalingRules | None, default: ScalingRules) -> ScalingRules:
    if pace is None:
        return default
    if pace.limits is not None and pace.select is not None and (pace.window is not None or default.window is None):
        return pace
    missing = [name for name in ("limits", "window", "select") if getattr(pace, name) is None]
    changes = {name: value for name in missing if (value := getattr(default, name)) is not None}
    return replaced(pace, **changes) if changes else pace


def without_tolerance(behavior: Behavior) -> Behavior:
    """The behavior without tolerances. A server whose gate is closed drops the field silently."""
    up, down = behavior.scale_up, behavior.scale_down
    if (up is None or up.tolerance is None) and (down is None or down.tolerance is None):
        return behavior
    return replaced(
        behavior,
        scale_up=up and replaced(up, tolerance=None),
        scale_down=down and replaced(down, tolerance=None),
    )


def keeps_tolerance(old: HPASpec | None, kubernetes: Version, gates: Mapping[str, bool] | None = None) -> bool:
    """Whether a tolerance in a new object survives: the gate is open, or the stored object used one already."""
    if gate_open("HPAConfigurableTolerance", kubernetes, gates):
        return True
    paces = (old.scale_up, old.scale_down) if old is not None else ()
    return any(pace is not None and pace.tolerance is not None for pace in paces)
