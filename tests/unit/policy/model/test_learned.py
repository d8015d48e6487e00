"""What is learned about a workload over weeks."""

from base64 import b64decode
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hypot.kinds.derived import derived
from hypot.policy.model.learned import MOST_LEFT_OUT, REASONS, Learned, LeftOut, SlotLayout

HOUR, WEEK = 3600.0, 7 * 24 * 3600.0
# A Sunday at midnight.
START = 1_767_484_800.0
CPU = "app/cpu"
HOURLY = SlotLayout()


def learned(layout=HOURLY, at=START):
    return Learned.begun(layout, CPU, at)


def over(weeks, layout=HOURLY, every=HOUR / 4):
    """Observations all the time: `weeks` has what is needed in each week, or why this is unknown."""
    found = learned(layout)
    for week, needed in enumerate(weeks):
        for i in range(int(WEEK / every)):
            at = START + week * WEEK + i * every
            found = found.observed(at, *((None, needed) if isinstance(needed, str) else (needed, None)))
    return found


def test_nothing_is_known_at_first():
    """Neither of a slot, nor of its neighbours."""
    assert learned().needed(START) == (0, ())
    assert learned().peak() == 0


def test_the_slot_in_progress_counts():
    """It can raise what is known, and it is recorded when the next slot begins."""
    now = learned().observed(START, 500).observed(START + 60, 900).observed(START + 120, 400)
    assert now.needed(START + 180) == (900, ())
    assert now.codes == learned().codes
    after = now.observed(START + HOUR, 100)
    assert after.table().highest(0) == 900
    assert after.needed(START + WEEK) == (900, ())
    assert after.peak() == 900


def test_what_is_derived_from_the_slots_is_kept_while_they_last():
    """An observation within a slot keeps it, and it is made again when the slot ends."""
    made = []

    @derived
    def highest(of):
        made.append(of.codes)
        return max(of.codes)

    now = learned().observed(START, 500)
    assert highest(now) == 0
    for second in range(1, 100):
        now = now.observed(START + second, 500 + second)
        assert highest(now) == 0
    assert len(made) == 1
    for hour in (1, 2):
        now = now.observed(START + hour * HOUR, 100)
        assert highest(now) == max(now.codes) > 0
        assert made[-1] == now.codes
    assert len(made) == 3
    assert now.peak() == 599


def test_four_weeks():
    """Maxima of 8, 10, 6 and 9 give 10; in week six the 10 has left."""
    assert over([8000, 10_000, 6000, 9000]).needed(START + 4 * WEEK) == (10_000, ())
    later = over([8000, 10_000, 6000, 9000, 5000])
    assert later.needed(START + 5 * WEEK) == (10_000, ())
    assert later.observed(START + 5 * WEEK, 5000).observed(START + 5 * WEEK + HOUR, 1).needed(START + 6 * WEEK) == (
        9000,
        (),
    )


def test_an_empty_slot_takes_its_neighbours():
    """And says which."""
    now = learned().observed(START + 33 * HOUR, 7000).observed(START + 34 * HOUR, 100)
    assert now.needed(START + 57 * HOUR) == (7000, (33,))


@pytest.mark.parametrize("reason", REASONS)
def test_weeks_that_say_nothing(reason):
    """A pinned, crashing or unmeasured week lowers nothing, however long it lasts; the reason is kept."""
    for weeks in ([8000, reason], [8000, *[reason] * 6]):
        now = over(weeks)
        assert now.needed(START + len(weeks) * WEEK) == (8000, ())
        assert {each.reason for each in now.left_out} == {reason}
        assert len(now.left_out) <= MOST_LEFT_OUT


def test_half_of_a_slot_is_enough():
    """If fewer observations count, the most frequent reason is kept."""
    now, bad = learned(), ["saturated", "crash-loop", "crash-loop"]
    for i in range(6):
        now = now.observed(START + i, 100 if i % 2 else None, None if i % 2 else bad[i // 2])
    assert now.observed(START + HOUR, 1).table().highest(0) == 100
    worse = now.observed(START + 7, None, "crash-loop").observed(START + HOUR, 1)
    assert worse.table().highest(0) == 0
    assert worse.left_out == (LeftOut(*SlotLayout().place(START), "crash-loop"),)


def test_a_capped_incident_does_not_double():
    """While pinned at the maximum nothing is learned: week after week the same."""
    now, seen = over([5000]), []
    for week in range(1, 8):
        at = START + week * WEEK
        for i in range(3):
            now = now.observed(at + i * 60, None, "saturated")
        now = now.observed(at + HOUR, 5000)
        seen.append(now.needed(at + WEEK)[0])
    assert seen == [5000] * 7


def test_a_minimum_that_binds_does_not_halve():
    """What counts is the demand, not the replicas that were there; so nothing falls by itself."""
    assert [over([16_000] * weeks).needed(START + weeks * WEEK)[0] for weeks in (1, 5, 9)] == [16_000] * 3


def test_a_gap_in_the_observation():
    """Weeks without a controller are left out, and the last known need stays."""
    now = over([8000, 9000]).observed(START + 30 * WEEK, 2000)
    assert now.needed(START + 30 * WEEK + HOUR) == (9000, ())


def test_a_clock_that_was_set_back():
    """What was observed before is not observed again."""
    now = over([8000])
    assert now.observed(START + 3 * HOUR, 90_000) is now


@pytest.mark.parametrize(
    "layout", [SlotLayout(), SlotLayout(24, daily=True), SlotLayout(6, daily=False, zone="Asia/Tokyo", weeks=2)]
)
def test_it_is_stored_and_read(layout):
    """Nothing is lost."""
    now = over([8000, 9000, "crash-loop"], layout)
    assert Learned.from_dict(now.to_dict()) == now
    assert Learned.from_dict(learned(layout).to_dict()) == learned(layout)


DRAWN = {
    "any": lambda drawn, _hour: drawn.integers(500, 40_000),
    "about the same": lambda drawn, _hour: drawn.normal(9000, 500),
    # Each need is the highest since, so none is left out: the most that a real workload keeps.
    "falling": lambda drawn, hour: 40_000 * (1 - hour / 700) + drawn.integers(0, 60),
}


@pytest.mark.parametrize(("needs", "most"), [("any", 1024), ("about the same", 1024), ("falling", 1250)])
def test_what_is_stored_is_small(needs, most):
    """At most a kibibyte where a later need often exceeds an earlier one, and more if demand falls for weeks."""
    drawn, now = np.random.default_rng(1), learned()
    for hour in range(4 * 168 + 1):
        now = now.observed(START + hour * HOUR, int(DRAWN[needs](drawn, hour)))
    assert len(b64decode(now.to_dict()["codes"])) <= most


def test_the_most_that_is_stored():
    """Codes that do not compress at all: two bytes for each hour of four weeks, and a few of the compression."""
    codes = np.random.default_rng(1).integers(1, 1 << 15, 4 * 168).astype(np.uint16).tobytes()
    assert 1344 <= len(b64decode(replace(learned(), codes=codes).to_dict()["codes"])) <= 1360


@pytest.mark.parametrize(
    "change",
    [
        {"hours": 5},
        {"hours": 0},
        {"weeks": 0},
        {"weeks": 10**9},
        {"zone": "Mars/Olympus"},
        {"zone": "../../etc/passwd"},
        {"zone": ""},
        {"codes": "!"},
        {"codes": "eJwDAAAAAAE="},
        {"codes": 7},
        {"tally": [1]},
        {"tally": "x"},
        {"leftOut": [[1, 2, 99]]},
        {"leftOut": [[1]]},
        {"since": "x"},
        {"place": None, "hours": None},
    ],
)
def test_what_cannot_be_read(change):
    """It is one kind of error, whatever is wrong."""
    with pytest.raises(ValueError):  # noqa: PT011  the texts differ
        Learned.from_dict({**over([800]).to_dict(), **change})


times = st.lists(st.floats(0, 60 * 24 * HOUR), min_size=1, max_size=60).map(sorted)
needs = st.integers(1, 60_000)


@given(times, st.data())
def test_whatever_is_observed(at, data):
    """The peak is the most that was observed, within rounding, and storing changes nothing."""
    now, most = learned(), 0
    for each in at:
        needed = data.draw(st.none() | needs)
        most = max(most, needed or 0)
        now = now.observed(START + each, needed, None if needed else "unmeasured")
    assert Learned.from_dict(now.to_dict()) == now
    assert now.peak() <= most * (1 + 2**-11) + 1
    assert now.needed(START + at[-1])[0] <= now.peak()


def test_another_order_of_observations_in_a_slot_is_the_same():
    """Only the highest counts."""
    two = [learned().observed(START, first).observed(START + 1, last) for first, last in ((1, 9), (9, 1))]
    assert replace(two[0], since=0) == replace(two[1], since=0)


def test_the_last_peak():
    """The last occurrence of each slot counts, and the slot of now; one that is unknown counts with the time before."""
    found = learned()
    for week, needed in enumerate((900, 300, None)):
        for hour in range(7 * 24):
            high = needed if hour == 30 else 100
            at = START + week * WEEK + hour * HOUR
            found = found.observed(at, high, None if high is not None else "no-pods")
    now = START + 3 * WEEK
    assert found.last_peak(START + 2 * WEEK) == 300
    assert found.peak() == 900
    assert found.observed(now, 500).last_peak(now) == 900
    daily = Learned.begun(SlotLayout(daily=True), "app/cpu", START).observed(START, 700).observed(START + HOUR, 20)
    assert daily.last_peak(START + HOUR) == 700
    later = daily.observed(START + 24 * HOUR, 30).observed(START + 25 * HOUR, 30)
    assert later.last_peak(START + 25 * HOUR) == 30
