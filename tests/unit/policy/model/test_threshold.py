"""Thresholds in words: what a metric asks for, and beyond which value it asks for something else."""

import pytest

from hypot.core.replicas.watermark import STAY, TO_HIGH
from hypot.policy.model.threshold import MarkedBand, Slope, WatermarkRule, described

BAND = WatermarkRule(2, averaged=True, high=660_000, low=270_000, single=False, tolerance_milli=0, modulo=1,
                     towards=STAY, min_count=1, max_count=12, current=2)  # fmt: skip


MEMORY = "at 4 replicas: above 110Mi memory per pod asks for more than 4, at most 75Mi for fewer"


def cpu(percent, current=3, low=2, high=10, **given):
    return Slope("cpu", percent, 70, current, current, 0.1, 0.1, low, high, "percent", **given)


def queue(amount, **given):
    return MarkedBand("queue per pod", amount, BAND._replace(**given))


@pytest.mark.parametrize(
    ("band", "message"),
    [
        (cpu(94), "at 3 replicas: above 116 % cpu asks for more than 5, below 94 % for fewer"),
        (cpu(70, current=1, low=1), "at 1 replica: above 77 % cpu asks for more than the minimum of 1"),
        (cpu(20), "at 3 replicas: above 46 % cpu asks for more than the minimum of 2"),
        (cpu(500), "at 3 replicas: below 211 % cpu asks for fewer than the maximum of 10"),
        (cpu(70, only_down=True), "at 3 replicas: below 47 % cpu asks for fewer than 3"),
        (cpu(0, current=3, low=0), "at 3 replicas: above 0 % cpu asks for more than 0"),
        (Slope("memory per pod", 100 << 20, 100 << 20, 4, 4, 0.1, 0.1, 1, 9, "bytes"), MEMORY),
        (queue(461_000), "at 2 replicas: above 660 queue per pod asks for more than 2, below 270 for fewer"),
        (queue(900_000), "at 2 replicas: above 990 queue per pod asks for more than 3, at most 660 for fewer"),
        (queue(461_000, max_count=2), "at 2 replicas: below 270 queue per pod asks for fewer than the maximum of 2"),
        (
            queue(100_000, current=1, ready=1),
            "at 1 replica: above 660 queue per pod asks for more than the minimum of 1",
        ),
        (
            queue(461_000, towards=TO_HIGH),
            "at 2 replicas: above 660 queue per pod asks for more than 2, at most 330 for fewer",
        ),
    ],
)
def test_a_line_for_each_metric(band, message):
    """One side is left out where no value asks for another count within the bounds."""
    current = band.current if isinstance(band, Slope) else band.rule.current
    assert described(current, band.thresholds()) == message


def test_no_value_changes_a_count_between_equal_bounds():
    assert cpu(70, low=3, high=3).thresholds() == ()
