"""The thresholds of a metric are the nearest values that change its proposal: every value in between is tried."""

from dataclasses import replace

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from builders import busy, decided, hpa
from hypot.core.quantity import milli
from hypot.core.replicas.watermark import STAY, TO_HIGH, TO_LOW
from hypot.kinds.hpa.fields import ScalingRules, cpu
from hypot.policy.model.seen import Scale
from hypot.policy.model.threshold import MarkedBand, Slope, WatermarkRule

most = settings(max_examples=300, deadline=None)
counts = st.integers(1, 12)
# Amounts in milli-units: few, so that each can be tried.
LAST = 400


@st.composite
def slopes(draw):
    low, spread = draw(st.integers(1, 8)), draw(st.integers(0, 8))
    target, amount = draw(st.integers(1, 80)), draw(st.integers(0, 200))
    down, up = draw(st.sampled_from([0.0, 0.1, 0.5, 2.0])), draw(st.sampled_from([0.0, 0.1, 0.5]))
    return Slope("queue", amount, target, draw(counts), draw(counts), down, up, low, low + spread)


@st.composite
def bands(draw):
    low, spread = draw(st.integers(1, 6)), draw(st.integers(0, 8))
    high = draw(st.integers(1, 80))
    single = draw(st.booleans())
    rule = WatermarkRule(
        draw(counts),
        draw(st.booleans()),
        high,
        high if single else draw(st.integers(0, high)),
        single,
        draw(st.sampled_from([0, 10, 300])),
        draw(st.integers(1, 4)),
        draw(st.sampled_from([STAY, TO_HIGH, TO_LOW])),
        low,
        low + spread,
        draw(counts),
    )
    return MarkedBand("queue", draw(st.integers(0, 200)), rule)


@most
@given(st.one_of(slopes(), bands()))
def test_the_nearest_values_that_change_the_proposal_are_found(band):
    """Above for more and below for fewer, each within the bounds; none where no value does."""
    now = band.count(band.amount)
    rising = [amount for amount in range(band.amount + 1, LAST) if band.count(amount) > now]
    falling = [amount for amount in range(band.amount) if band.count(amount) < now]
    found = {one.direction: one for one in band.thresholds()}
    assert {one.replicas for one in found.values()} <= {now}
    firsts = {way: milli(one.first) for way, one in found.items()}
    if rising or "up" in found:
        assume(firsts.get("up", 0) < LAST)
        assert firsts["up"] == rising[0]
    if falling or "down" in found:
        assert firsts["down"] == falling[-1]


@most
@given(st.lists(st.integers(1, 200), min_size=1, max_size=5), st.integers(10, 100), st.integers(1, 8))
def test_what_an_hpa_asks_for_beyond_its_thresholds(percents, target, current):
    """At the first value beyond each threshold, the same pods ask for more or fewer than it says."""
    spec = hpa(cpu(utilization=target), min_replicas=1, max_replicas=20, scale_down=ScalingRules(window=0))

    def reading_of(*usages):
        return decided(spec, replace(busy(*usages), scale=Scale(current, current, "app=web"))).readings[0]

    reading = reading_of(*[percent * 10 for percent in percents])
    for one in reading.band.thresholds():
        percent = int(one.first.removesuffix(" %"))
        bounded = min(max(reading_of(*[percent * 10] * len(percents)).proposal, 1), 20)
        assert bounded > one.replicas if one.direction == "up" else bounded < one.replicas
