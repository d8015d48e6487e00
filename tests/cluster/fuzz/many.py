"""How many random examples a test takes: the same 300 each time, or as many new ones as HYPOT_FUZZ says."""

import os

from hypothesis import HealthCheck, settings

EXAMPLES = int(os.environ.get("HYPOT_FUZZ", "300"))
SAME_EACH_TIME = "HYPOT_FUZZ" not in os.environ


def fuzzing(share: float = 1) -> settings:
    """The settings of a test that takes this share of the examples."""
    return settings(
        max_examples=max(1, int(EXAMPLES * share)),
        derandomize=SAME_EACH_TIME,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
