"""A history teaches what watching it would have taught."""

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hypot.policy.model.learned import Learned, SlotLayout
from hypot.policy.tortoise import history
from hypot.policy.tortoise.history import UsageSeries, learned_from
from unit.policy.sizes_world import DAY, HOUR, MI

often = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
# A Sunday, three weeks before clocks change in Berlin and one week before they change in New York.
MARCH = 1_772_323_200.0
OCTOBER = 1_759_622_400.0
ZONES = ["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu"]
layouts = st.builds(
    SlotLayout,
    st.sampled_from([1, 2, 6, 12, 24]),
    st.booleans(),
    st.sampled_from(ZONES),
    st.sampled_from([1, 2, 4]),
)
steps = st.sampled_from([600.0, 900.0, HOUR, 5400.0, 6 * HOUR])


@st.composite
def gapped_series(draw):
    """A series with gaps, on a regular grid; the time and the amount of each point, None in a gap."""
    step = draw(steps)
    start = draw(st.sampled_from([MARCH, OCTOBER])) + draw(st.integers(0, 40)) * step + draw(st.sampled_from([0, 77]))
    count = draw(st.integers(2, int(draw(st.sampled_from([1, 9, 40])) * DAY / step) + 2))
    seed = draw(st.integers(0, 2**32 - 1))
    drawn = np.random.default_rng(seed)
    amounts = np.rint(drawn.lognormal(8, 2, count))
    for _ in range(draw(st.integers(0, 5))):
        first = int(drawn.integers(0, count))
        amounts[first : first + int(drawn.integers(1, max(count // 3, 2)))] = np.nan
    # Both ends are known, and the usual step is that of the grid.
    amounts[0], amounts[-1] = 1000.0, 2000.0
    times = start + step * np.arange(count)
    known = ~np.isnan(amounts)
    place = draw(st.sampled_from([("app", "cpu"), ("app", "memory")]))
    scale = MI if place[1] == "memory" else 1
    one = UsageSeries(place, draw(st.integers(1, 100)), times[known], amounts[known] * scale, draw(layouts))
    if len(one.times) > 1 and np.median(np.diff(one.times)) != step:
        amounts = np.where(known, amounts, 500.0)
        one = one._replace(times=times, amounts=amounts * scale)
    return one, times, amounts


def watched(one, times, amounts):
    """The same, observed point by point."""
    found = Learned.begun(one.layout, "/".join(one.place), float(times[0]))
    for at, amount in zip(times.tolist(), amounts.tolist(), strict=True):
        missing = amount != amount  # noqa: PLR0124  only NaN differs from itself
        found = found.observed(at, *((None, "unmeasured") if missing else (round(amount * 100 / one.target), None)))
    return found


@often
@given(st.lists(gapped_series(), min_size=1, max_size=4), st.sampled_from([1, 1000, 1_000_000]))
def test_a_history_is_learned_as_if_it_were_watched(drawn, batch):
    """The same codes, the same slot in progress, and the same occurrences left out, however many are read at once."""
    before, history._BATCH = history._BATCH, batch
    try:
        found = list(learned_from([one for one, _, _ in drawn]))
    finally:
        history._BATCH = before
    for one, series in zip(found, drawn, strict=True):
        expected = watched(*series)
        assert one.learned == expected
        assert one.left_out >= len(expected.left_out)


@often
@given(gapped_series(), st.floats(0.0, 1.0))
def test_what_was_learned_before_is_added_as_if_it_were_watched(drawn, share):
    """A history up to some slot, and what was watched from then on for at most a week, are the same as both watched."""
    one, times, amounts = drawn
    first = int(share * (len(times) - 1))
    most = one.layout.seconds - (one.layout.hours + 1) * HOUR
    last = first + int(np.searchsorted(times[first:], times[first] + most)) + 1
    times, amounts = times[:last], amounts[:last]
    while first and one.layout.place(float(times[first])) == one.layout.place(float(times[first - 1])):
        first -= 1
    later = watched(one, times[first:], amounts[first:])
    assert later.after(Learned.begun(one.layout, "/".join(one.place), float(times[0]))) == later
    if first:
        earlier = watched(one, times[:first], amounts[:first])
        assert later.after(earlier) == watched(one, times, amounts)
        assert later.after(later) == later
