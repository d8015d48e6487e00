"""The annotation with planned minimums: what can be written, and what holds at a time."""

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hypot.core.instant import read_time
from hypot.kinds.floor import NO_FLOOR, Floor
from hypot.policy.model.schedule import ScheduleError, ScheduleNow, Window, schedule_at, schedule_of

FRIDAY = {"startAt": "2026-11-27T08:00:00+01:00", "finishAt": "2026-11-27T20:00:00+01:00", "minReplicas": 20}
MORNINGS = {"cron": "0 8 * * mon-fri", "duration": "10h", "timeZone": "Europe/Berlin", "minReplicas": 6}
SIZES = {"minAllowed": {"app": {"cpu": "500m", "memory": "1Gi"}, "*": {"cpu": "100m"}}}


def now(at, *entries):
    return schedule_at(schedule_of(json.dumps(entries)), read_time(at))


@pytest.mark.parametrize(
    ("at", "replicas"),
    [
        ("2026-11-27T06:59:59Z", 0),
        ("2026-11-27T07:00:00Z", 20),
        ("2026-11-27T18:59:59Z", 20),
        ("2026-11-27T19:00:00Z", 0),
    ],
)
def test_between_two_times(at, replicas):
    assert now(at, FRIDAY).floor == Floor(replicas)


@pytest.mark.parametrize(
    ("at", "replicas"),
    [
        ("2026-11-16T06:59:59Z", 0),
        ("2026-11-16T07:00:00Z", 6),
        ("2026-11-16T16:59:59Z", 6),
        ("2026-11-16T17:00:00Z", 0),
        # A Sunday.
        ("2026-11-22T10:00:00Z", 0),
        # In summer Berlin is two hours ahead.
        ("2026-07-01T06:00:00Z", 6),
    ],
)
def test_by_cron(at, replicas):
    assert now(at, MORNINGS).floor == Floor(replicas)


@pytest.mark.parametrize("before", [1.0, 0.9, 0.001, 0.0])
def test_windows_without_a_gap(before):
    """One window ends when the next begins."""
    daily = {"cron": "0 0 * * *", "duration": "24h", "minReplicas": 5}
    midnight = read_time("2026-11-20T00:00:00Z")
    assert schedule_at(schedule_of(json.dumps([daily])), midnight - before).floor == Floor(5)


def test_what_is_ahead():
    """The next window, however far away."""
    found = now("2026-11-21T12:00:00Z", FRIDAY, MORNINGS)
    monday = read_time("2026-11-23T07:00:00Z")
    assert (found.floor, found.ahead) == (NO_FLOOR, (Window(monday, monday + 36_000), Floor(6)))


def test_the_highest_of_several_holds():
    """Each value on its own, until the first of them ends."""
    more = {**FRIDAY, "finishAt": "2026-11-27T12:00:00+01:00", "minReplicas": 8, **SIZES}
    found = now("2026-11-27T09:00:00Z", FRIDAY, MORNINGS, more)
    assert found.floor.replicas == 20
    assert found.floor.least("app") == {"cpu": 500, "memory": 2**30}
    assert found.floor.least("sidecar") == {"cpu": 100}
    assert found.until == read_time("2026-11-27T11:00:00Z")


def test_nothing_is_left():
    assert now("2026-12-01T00:00:00Z", FRIDAY) == ScheduleNow()


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (7, "not text"),
        ("", "not JSON"),
        ("[" * 8000, "not JSON"),
        ("[]" + " " * 8192, "longer than 8,192"),
        ("{}", "not a list"),
        ("[]", "1 to 32 entries"),
        ('[{"minReplicas": 3, "minReplicas": 4}]', "a key occurs twice"),
        (json.dumps([{**FRIDAY, "startAt": "2026-11-27T08:00:00"}]), "startAt is not a time"),
        (json.dumps([{**FRIDAY, "startAt": "2026-11-27"}]), "startAt is not a time"),
        (json.dumps([{**MORNINGS, "cron": "0 0 30 2 *"}]), "cron: it never occurs"),
        (json.dumps([FRIDAY] * 33), "1 to 32 entries"),
        ("[7]", "entry 1: it is not an object"),
        (json.dumps([{**FRIDAY, "min": 7}]), "entry 1: min is unknown"),
        (json.dumps([{**FRIDAY, "minReplicas": True}]), "minReplicas is not a whole number"),
        (json.dumps([{**FRIDAY, "minReplicas": -1}]), "minReplicas is not a whole number"),
        (json.dumps([{**FRIDAY, "minReplicas": 0}]), "neither minReplicas nor minAllowed"),
        (json.dumps([{**FRIDAY, "minAllowed": {"app": "500m"}}]), "minAllowed is not like"),
        (json.dumps([{**FRIDAY, "minAllowed": {"app": {"gpu": "1"}}}]), "app has no valid amount of gpu"),
        (json.dumps([{**FRIDAY, "minAllowed": {"app": {"cpu": "much"}}}]), "app has no valid amount of cpu"),
        (json.dumps([{"minReplicas": 3}]), "either startAt and finishAt, or cron"),
        (json.dumps([{**FRIDAY, "cron": "* * * * *"}]), "either startAt and finishAt, or cron"),
        (json.dumps([{"startAt": "tomorrow", "minReplicas": 3}]), "finishAt is not a time"),
        (json.dumps([{**FRIDAY, "finishAt": FRIDAY["startAt"]}]), "finishAt is not after startAt"),
        (json.dumps([{**MORNINGS, "cron": "0 25 * * *"}]), "cron: the hour '25' is not from 0 to 23"),
        (json.dumps([{**MORNINGS, "duration": "1s"}]), "duration is not from 1m to 168h"),
        (json.dumps([{**MORNINGS, "duration": 60}]), "duration is not text"),
        (json.dumps([{**MORNINGS, "timeZone": "Mars/Base"}]), "timeZone: 'Mars/Base' is not known"),
        (json.dumps([{**MORNINGS, "timeZone": "../../etc/passwd"}]), "is not known"),
        (json.dumps([{"cron": "* * * * *", "minReplicas": 3}]), "duration is not text"),
    ],
)
def test_what_cannot_be_read(written, expected):
    with pytest.raises(ScheduleError) as error:
        schedule_of(written)
    assert expected in str(error.value)


def test_all_problems_at_once():
    with pytest.raises(ScheduleError) as error:
        schedule_of(json.dumps([{**FRIDAY, "minReplicas": "many"}, {**MORNINGS, "cron": "never"}]))
    assert [problem[:7] for problem in error.value.problems] == ["entry 1", "entry 2"]


TEXTS = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=9)
    | st.sampled_from(["8 * * * *", "1h"]),
    lambda inside: (
        st.lists(inside, max_size=3)
        | st.dictionaries(st.sampled_from([*FRIDAY, *MORNINGS, "minAllowed", "app", "cpu"]), inside, max_size=5)
    ),
    max_leaves=12,
)


@given(st.lists(TEXTS, max_size=3).map(json.dumps) | st.text(max_size=40))
def test_anything_is_read_or_refused(written):
    found = None
    with suppress(ScheduleError):
        found = schedule_at(schedule_of(written), 1_800_000_000.0)
    assert found is None or found.until == 0.0 or found.until > 1_800_000_000.0
