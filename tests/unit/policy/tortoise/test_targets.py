"""The target utilization that the HPA gets, once a day."""

from dataclasses import replace

import pytest

from hypot.core.learning.target import next_target
from unit.policy.sizes_world import DAY, MINUTE, NOW, sentences
from unit.policy.tortoise.tortoise_world import (
    BY_CPU,
    World,
    bounds,
    conditions_of,
    container_metric,
    hpa,
    known,
    settings_by,
    targets,
    tortoise,
)

# Not by the published formula; at least 65 and at most 90 percent, and at most 5 points more at once.
RULE = (False, 65, 90, 5)
PLAIN = {"target_rule": "plain", "target_max_increase": 100, "minimum_target_utilization": 1}


def over_days(factor, days, *, first=70, annotations=None):
    """The target on each day, if usage is at the target and its peak is so many times that."""
    one = tortoise(annotations=settings_by(annotations or {}), autoscalingPolicy=BY_CPU)
    world = World(tortoise=one, hpa=hpa(3, 20, container_metric(percent=first)), state=known([8000], target=first))
    found = []
    for _ in range(days):
        world.now += DAY
        last = (found or [first])[-1]
        world.peak, world.demand = {"app": {"cpu": round(factor * last * 10)}}, {"app": last * 40}
        found.append(targets(world.step())[0])
    return found


@pytest.mark.parametrize(
    ("factor", "first", "expected"),
    [
        # The fixed point is 95: in steps of five points up to the highest target.
        (1.05, 70, [75, 80, 85, 90, 90]),
        # It is 76, and reached at once; 50 and 33, and the lowest target.
        (1.3, 75, [76, 76]),
        (2.0, 70, [65, 65]),
        (3.0, 90, [65, 65]),
        # A peak that does not reach the target says nothing about it.
        (0.9, 70, [70, 70]),
        (0.9, 50, [55, 60, 65, 65]),
    ],
)
def test_targets_do_not_ring(factor, first, expected):
    """They move in one direction, to the fixed point within its bounds."""
    assert over_days(factor, len(expected), first=first) == expected


@pytest.mark.parametrize(("factor", "expected"), [(1.3, [79, 76, 77]), (2.0, [30, 70, 30])])
def test_the_plain_formula(factor, expected):
    """By setting; it rings for a peak of twice the target."""
    assert over_days(factor, 3, annotations={**PLAIN, "maximum_target_utilization": 100}) == expected


@pytest.mark.parametrize(
    ("current", "used", "expected"), [(70, 700, 75), (70, 735, 75), (70, 910, 75), (70, 1400, 65), (70, 0, 70)]
)
def test_the_next_target(current, used, expected):
    """With the default settings, at a request of one core."""
    assert next_target(current, used, 1000, current, 4, *RULE) == expected


@pytest.mark.parametrize(
    ("average", "replicas", "expected"),
    # Usage of three or four pods is below the target by as much as a pod: then its peak is that of a lower target.
    [(70, 4, 75), (53, 4, 70), (10, 4, 70), (53, 100, 75), (0, 1, 70)],
)
def test_whole_replicas(average, replicas, expected):
    """A target rises only as far as the utilization of now allows."""
    assert next_target(70, 800, 1000, average, replicas, *RULE) == expected


def test_once_a_day():
    """The next update waits; what another writer sets is put back meanwhile."""
    world = World(
        tortoise=tortoise(autoscalingPolicy=BY_CPU),
        state=known([8000]),
        demand={"app": 2800},
        peak={"app": {"cpu": 735}},
        now=NOW + DAY,
    )
    first = world.step(DAY - 1)
    assert targets(first) == [75]
    assert sentences(first, "target") == [
        "Cpu of app has a peak of 735m, 74 % of the request: its target of 70 % becomes 75 %."
    ]
    assert conditions_of(first)["HPATargetUtilizationUpdated"] == "True"
    again = world.step(1)
    assert (targets(again), sentences(again, "target")) == ([75], [])
    world.hpa = hpa(4, 16, container_metric(percent=20))
    assert targets(world.step()) == [75]


def test_a_target_that_stays_is_explained():
    world = World(
        tortoise=tortoise(autoscalingPolicy=BY_CPU), state=known([8000]), peak={"app": {"cpu": 300}}, now=NOW + DAY
    )
    assert sentences(world.step(), "target") == [
        "Cpu of app has a peak of 300m, 30 % of the request: its target stays at 70 %."
    ]


@pytest.mark.parametrize(
    "changes",
    [
        # Nothing is known about peaks.
        {"peak": None},
        # All replicas that there may be: peaks are those of too few pods.
        {"replicas": 100},
        # In an emergency there are more pods than the target asks for.
        {"tortoise": tortoise("Emergency", autoscalingPolicy=BY_CPU), "state": known([8000], phase="Emergency")},
    ],
)
def test_when_targets_stay(changes):
    usual = {
        "tortoise": tortoise(autoscalingPolicy=BY_CPU),
        "state": known([8000]),
        "peak": {"app": {"cpu": 1400}},
        "now": NOW + DAY,
        "demand": {"app": 5000},
    }
    assert targets(World(**{**usual, **changes}).decided()) == [70]


def test_the_target_of_a_new_hpa():
    """70 %, as the original."""
    world = World(tortoise=tortoise(autoscalingPolicy=BY_CPU), hpa=None, state=replace_past(known(), {}))
    assert targets(world.decided()) == [70]


def replace_past(state, kept):
    return state._replace(tortoise=replace(state.tortoise, targets=kept))


def test_the_target_of_an_hpa_that_exists():
    """It is where a Tortoise begins."""
    world = World(
        tortoise=tortoise(autoscalingPolicy=BY_CPU),
        hpa=hpa(3, 20, container_metric(percent=82)),
        state=replace_past(known([8000]), {}),
    )
    decision = world.step(MINUTE)
    assert targets(decision) == [82]
    assert bounds(decision) == (4, 16)
    assert world.state.tortoise.targets == {"app/cpu": 82}
