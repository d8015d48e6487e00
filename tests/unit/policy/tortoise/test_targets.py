"""The target utilization that the HPA gets, once a day."""

from dataclasses import replace
from itertools import pairwise

import pytest

from hypot.core.learning.target import next_target
from unit.policy.sizes_world import DAY, HOUR, MINUTE, NOW, sentences
from unit.policy.tortoise.tortoise_world import (
    BY_CPU,
    EXAMPLE,
    World,
    bounds,
    conditions_of,
    container_metric,
    cpu,
    hpa,
    known,
    least,
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
    ("busiest", "pods", "expected"),
    # Usage of three or four pods is below the target by as much as a pod: then its peak is that of a lower target.
    [(70, 4, 75), (90, 4, 75), (57, 4, 71), (53, 4, 70), (52, 4, 70), (10, 4, 70), (62, 100, 70), (0, 1, 70)],
)
def test_whole_replicas(busiest, pods, expected):
    """A target rises only as far as the highest utilization allows, if that was near the target at all."""
    assert next_target(70, 800, 1000, busiest, pods, *RULE) == expected


@pytest.mark.parametrize("used", [1400, 3000])
def test_without_a_busy_time_a_target_does_not_fall(used):
    """A day without load says nothing about the target, however high the peaks of the days before were."""
    assert next_target(70, used, 1000, 20, 8, *RULE) == 70


@pytest.mark.parametrize("hour", [2, 14])
@pytest.mark.parametrize(("factor", "expected"), [(1.1, 90), (1.3, 76), (2.0, 65)])
def test_the_hour_of_the_update_is_nothing(hour, factor, expected):
    """Three pods at night and eight by day: peaks are those of the day, and targets are those that they ask for."""
    world = World(
        tortoise=tortoise(autoscalingPolicy=BY_CPU, resourcePolicy=[least(cpu="1", most={"cpu": "1"})]),
        hpa=hpa(3, 16, container_metric(percent=70)),
        state=known([8000]),
        now=NOW - 8 * HOUR,
    )
    found = []
    for each in range(12 * 24):
        by_day = 8 <= (each % 24) < 20
        target = world.state.tortoise.targets["app/cpu"]
        world.demand, world.replicas = {"app": 8 * target * 10 if by_day else 600}, 8 if by_day else 3
        world.peak = {"app": {"cpu": round(factor * target * 10)}} if each >= 24 + hour else None
        world.step(HOUR)
        found.append(world.state.tortoise.targets["app/cpu"])
    rises = [new - old for old, new in pairwise(found)]
    assert found[-1] == expected
    assert max(rises) <= 5
    assert min(rises) >= 0 or max(rises) <= 0


@pytest.mark.parametrize("spec", [{"mode": "Off"}, {"annotations": {"hypot.dev/paused": "true"}}, {}])
def test_a_target_that_is_not_written_goes_no_further(spec):
    """In mode Off, while it is paused, and while hypot only observes: each day it is one step from that of the HPA."""
    world = World(
        tortoise=tortoise(refs={"horizontalPodAutoscalerName": "mine"}, autoscalingPolicy=BY_CPU, **spec),
        hpa=hpa(4, 40, container_metric(percent=60), name="mine"),
        state=replace_past(known([12_000]), {}),
        replicas=12,
        demand={"app": 7200},
        peak={"app": {"cpu": 770}},
    )
    there = world.hpa
    for _ in range(6):
        world.now += DAY
        decision = world.step()
        world.hpa = there
        assert world.state.tortoise.targets["app/cpu"] in (60, 65)
        totals = [step.numbers for step in decision.steps if step.rule == "needed"]
        assert totals == [{"total": 12_000, "target": 60}]
    world.tortoise = tortoise(refs={"horizontalPodAutoscalerName": "mine"}, autoscalingPolicy=BY_CPU)
    assert targets(world.step()) == [65]


@pytest.mark.parametrize("decides", [False, True])
def test_without_an_hpa_in_mode_off(decides):
    """Nothing is made, so every target would be the first step from 70 %."""
    annotations = {"hypot.dev/decide": "true"} if decides else {}
    world = World(
        tortoise=tortoise("Off", annotations, autoscalingPolicy=BY_CPU),
        hpa=None,
        state=known([12_000]),
        replicas=12,
        demand={"app": 8400},
        peak={"app": {"cpu": 770}},
    )
    for _ in range(6):
        world.now += DAY
        world.step()
        assert world.state.tortoise.targets["app/cpu"] == 75


def test_a_target_stays_while_pods_grow():
    """The second example of the first document in one decision: usage of pods of two cores says nothing about four."""
    world = World(
        tortoise=tortoise(annotations=EXAMPLE, autoscalingPolicy=BY_CPU),
        state=known([40_000]),
        hpa=hpa(3, 10),
        replicas=10,
        sizes={"app": {"cpu": 2000}},
        demand={"app": 28_000},
        peak={"app": {"cpu": 2940}},
        now=NOW + DAY,
    )
    decision = world.step(60)
    assert (cpu(decision), targets(decision)) == (4000, [70])
    assert targets(world.step(60)) == [75]


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
