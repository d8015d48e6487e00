"""How far usage may be from the target of an HPA."""

from hypot.kinds.hpa import HPA
from hypot.kinds.hpa.controller import tolerances_of
from hypot.policy.model.settings import Settings


def tolerances(hpa: HPA, settings: Settings) -> tuple[float, float]:
    """The tolerances downwards and upwards; each side of a behavior may replace the cluster's."""
    return tolerances_of(hpa, settings.tolerance, settings.kubernetes, settings.gates)
