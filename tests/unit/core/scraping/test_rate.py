"""The rate of a counter: what two samples say, and when they say nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hypot.core.scraping.rate import Counter, CounterSample

AHEAD = 1_800_000_000.0


def counter(*samples, least_gap=10.0):
    found = Counter()
    for at, value in samples:
        found = found.sampled(CounterSample(at, at + AHEAD, value), least_gap)
    return found


def rate(*samples, now, **more):
    found = counter(*samples, **more).rate(now, 600.0, 90.0)
    return None if found is None else (found.milli, found.window, found.wall - AHEAD)


def test_requests_of_a_minute():
    assert rate((0, 0), (60, 27_000), now=61) == (450_000, 60, 60)


@pytest.mark.parametrize(
    ("samples", "now", "expected"),
    [
        ([], 0, None),
        ([(0, 5)], 1, None),
        # Exactly 90 s is not too old.
        ([(0, 5), (60, 5)], 150, (0, 60, 60)),
        ([(0, 5), (60, 5)], 150.1, None),
        ([(0, 5), (600, 605)], 601, (1000, 600, 600)),
        ([(0, 5), (600.1, 605)], 601, None),
        # Truncated, as the original does.
        ([(0, 10), (60, 20)], 61, (166, 60, 60)),
        # Too close to the one before.
        ([(0, 0), (60, 60), (69, 100)], 70, (1000, 60, 60)),
        # A restart: two more samples are needed.
        ([(0, 900), (60, 1000), (120, 5)], 121, None),
        ([(0, 900), (60, 1000), (120, 5), (180, 65)], 181, (1000, 60, 180)),
        ([(0, 900), (1, 5), (60, 64)], 61, (1000, 59, 60)),
    ],
)
def test_rates(samples, now, expected):
    assert rate(*samples, now=now) == expected


@given(st.lists(st.tuples(st.floats(0.1, 100), st.floats(0, 1e12)), max_size=12))
def test_a_rate_is_never_negative(steps):
    at, found = 0.0, Counter()
    for passed, value in steps:
        at += passed
        found = found.sampled(CounterSample(at, at, value), 10.0)
        made = found.rate(at, 600.0, 90.0)
        assert made is None or made.milli >= 0
