"""How far usage may be from the target of an HPA."""

from hypot.core.quantity import Quantity
from hypot.kinds.hpa import HPA
from hypot.policy.model.settings import Settings


def tolerances(hpa: HPA, settings: Settings) -> tuple[float, float]:
    """The tolerances downwards and upwards; each side of a behavior may replace the cluster's."""
    down = up = settings.tolerance
    if hpa.behavior is None or not settings.gate("HPAConfigurableTolerance"):
        return down, up
    if hpa.scale_down is not None and hpa.scale_down.tolerance is not None:
        down = Quantity.parse(hpa.scale_down.tolerance).nanos / 10**9
    if hpa.scale_up is not None and hpa.scale_up.tolerance is not None:
        up = Quantity.parse(hpa.scale_up.tolerance).nanos / 10**9
    return down, up
