"""Whether the HPA of a Tortoise gets its metrics."""

import pytest

from hypot.kinds.hpa import HPA
from hypot.policy.tortoise.phases import is_healthy

SINCE = {"type": "ScalingActive", "status": "False", "lastTransitionTime": "2024-01-10T12:00:00Z"}
NOW = 1_704_891_600.0


def hpa(current, reason="FailedGetContainerResourceMetric"):
    metric = {"type": "ContainerResource", "containerResource": {"current": current}}
    status = {"conditions": [{**SINCE, "reason": reason}], "currentMetrics": [metric]}
    return HPA.from_dict({"metadata": {"name": "web"}, "status": status})


@pytest.mark.parametrize(
    ("current", "expected"),
    [
        ({}, False),
        ({"averageUtilization": 0, "averageValue": "0", "value": "0"}, False),
        ({"averageUtilization": 50}, True),
        ({"averageValue": "100m"}, True),
        ({"value": "5"}, True),
        ({"value": [], "averageValue": {}}, True),
    ],
)
@pytest.mark.parametrize("reason", ["FailedGetResourceMetric", "FailedGetContainerResourceMetric"])
def test_any_number_of_the_hpa_counts(current, expected, reason):
    """Both reasons, and any of the three numbers; what is no number raises nothing."""
    assert is_healthy(hpa(current, reason), NOW, 300.0) is expected
