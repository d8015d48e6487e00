"""What recorded usage teaches; that it teaches the same as watching is in tests/property."""

import numpy as np
import pytest

from hypot.core.learning.slots import unpacked
from hypot.policy.model.learned import SlotLayout
from hypot.policy.tortoise.history import UsageSeries, learned_from
from unit.policy.sizes_world import DAY, HOUR, MI

# 2026-03-01, a Sunday, 0:00 UTC.
SUNDAY = 1_772_323_200.0
WEEK = 7 * DAY


def series(amounts, step=HOUR, start=SUNDAY, place=("app", "cpu"), target=70, **layout):
    """A series on a regular grid; None is a gap."""
    known = [(start + step * number, amount) for number, amount in enumerate(amounts) if amount is not None]
    times, values = np.array(known, np.float64).T
    return UsageSeries(place, target, times, values, SlotLayout(**layout))


def learn(*args, **options):
    (found,) = learned_from([series(*args, **options)])
    return found


def needs(found, slot):
    return sorted(unpacked(code) for code in found.learned.table().column(slot) if code)


@pytest.mark.parametrize(
    ("amounts", "place", "target", "expected"),
    [
        ([700.0, 1], ("app", "cpu"), 70, 1000),
        ([700.0, 1], ("app", "cpu"), 100, 700),
        ([350.0 * MI, 1], ("app", "memory"), 70, 500),
        ([0.0, 1], ("app", "cpu"), 70, 1),
    ],
)
def test_a_need_is_usage_over_its_target(amounts, place, target, expected):
    """In millicores or mebibytes; nothing used is known, so it is not 0."""
    found = learn(amounts, place=place, target=target)
    assert needs(found, 0) == [expected]
    assert found.learned.place == "/".join(place)


def test_the_highest_of_a_slot_counts():
    """A slot of an hour with samples every quarter; the slot of the last sample is in progress."""
    found = learn([100, 400, 200, 300, 70], step=900.0, target=100)
    assert needs(found, 0) == [400]
    assert needs(found, 1) == []
    assert found.learned.tally[:4] == (found.learned.layout.place(SUNDAY)[0], 1, 70, 1)
    assert found.counted == 1


@pytest.mark.parametrize(("there", "left_out"), [(4, False), (2, False), (1, True), (0, True)])
def test_a_slot_with_less_than_half_of_its_samples_is_left_out(there, left_out):
    """It is listed, with its reason."""
    hour = [500.0] * there + [None] * (4 - there)
    found = learn([100.0] * 4 + hour + [100.0] * 8, step=900.0)
    assert needs(found, 1) == ([] if left_out else [714])
    assert [(each.slot, each.reason) for each in found.learned.left_out] == [(1, "unmeasured")] * left_out
    assert (found.counted, found.left_out) == (2 if left_out else 3, int(left_out))


def test_the_window_slides():
    """Of six weeks, four count, and an older need stays only while nothing newer is known."""
    weeks = [900.0, 800.0, 100.0, 200.0, 300.0, 400.0]
    found = learn([amount for amount in weeks for _ in range(168)] + [1.0], target=100)
    assert needs(found, 5) == [400]
    gone = [900.0] * 168 + [None] * (5 * 168) + [1.0]
    stale = learn(gone, target=100)
    assert {stale.learned.table().highest(slot) for slot in range(168)} == {900}
    assert stale.left_out == 5 * 168
    assert len(stale.learned.left_out) == 168


def test_slots_are_by_the_clock_of_the_zone():
    """When clocks change in Berlin, 9:00 stays 9:00; the hour that does not occur is not left out."""
    days = 35
    wall = [10.0 + number for number in range(24 * days)]
    found = learn(wall, start=SUNDAY, target=100, zone="Europe/Berlin", weeks=1)
    layout = found.learned.layout
    for number in (24 * 27 + 8, 24 * 28 + 7, 24 * 29 + 7):
        slot = layout.place(SUNDAY + number * HOUR)[1]
        assert slot % 24 == 9
    assert found.left_out == 0


def test_layouts_and_spans_may_differ():
    """Each series is learned by its own slots; the order is that of the input."""
    many = [
        series([100.0] * 48, target=100, hours=6),
        series([200.0] * 400, start=SUNDAY + 3 * WEEK, target=50),
        series([300.0] * 24 * 9, target=100, daily=True, zone="Asia/Tokyo"),
        series([400.0] * 48, target=100, hours=6),
    ]
    found = list(learned_from(many))
    assert [one.learned.peak() for one in found] == [100, 400, 300, 400]
    assert [one.learned.layout for one in found] == [one.layout for one in many]
    assert [one.learned.since for one in found] == [one.times[0] for one in many]


def test_one_sample_is_in_progress():
    """There is nothing to count yet."""
    found = learn([500.0])
    assert (found.counted, found.left_out) == (0, 0)
    assert found.learned.peak() == 714
