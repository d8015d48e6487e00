"""What the HPA controller goes by: the defaults of its flags, and what a behavior says instead."""

from collections.abc import Mapping

from hypot.core.quantity import Quantity
from hypot.kinds.hpa.fields import HPASpec
from hypot.kinds.values.version import Version, gate_open

# How often it decides, in seconds, and how far usage may be from its target before it does anything.
SYNC_PERIOD, TOLERANCE = 15.0, 0.1


def tolerances_of(
    hpa: HPASpec, by_default: float, kubernetes: Version, gates: Mapping[str, bool] | None = None
) -> tuple[float, float]:
    """The tolerances downwards and upwards; each side of a behavior may replace the cluster's."""
    down = up = by_default
    if hpa.behavior is None or not gate_open("HPAConfigurableTolerance", kubernetes, gates):
        return down, up
    if hpa.scale_down is not None and hpa.scale_down.tolerance is not None:
        down = Quantity.parse(hpa.scale_down.tolerance).nanos / 10**9
    if hpa.scale_up is not None and hpa.scale_up.tolerance is not None:
        up = Quantity.parse(hpa.scale_up.tolerance).nanos / 10**9
    return down, up
