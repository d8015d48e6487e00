"""Holds on a Tortoise apply to its HPA, its count and its sizes alike."""

import pytest

from hypot.policy.decide import decide
from hypot.policy.model.decision import PLAN_UNDER_WAY, Hold
from unit.policy.sizes_world import sentences
from unit.policy.tortoise.tortoise_world import (
    EXAMPLE,
    World,
    bounds,
    conditions_of,
    container_metric,
    cpu,
    hpa,
    known,
    policy,
    targets,
    tortoise,
)


def world(annotations=None, low=3, high=30, *, replicas=10, total=40, size=2000, needs=(14_000,), percent=70, **more):
    """Learned bounds of 4 and 14 at two cores each, and pods that should grow."""
    one = tortoise(annotations={**EXAMPLE, **(annotations or {})}, autoscalingPolicy=[policy()])
    return World(
        replicas=replicas,
        sizes={"app": {"cpu": size}},
        demand={"app": round(total * 700)},
        tortoise=one,
        hpa=hpa(low, high, container_metric(percent=percent)),
        peak={"app": {"cpu": 300}},
        state=known(needs),
        **more,
    )


def test_paused():
    """Nothing changes; what would have changed is kept for the report."""
    decision = world({"hypot.dev/paused": "true"}, percent=60).decided()
    assert (decision.hpa.writes, cpu(decision), decision.moves) == (False, 2000, False)
    assert targets(decision) == [60]
    assert decision.wanted.hpa.writes
    assert conditions_of(decision)["EffectiveModeOverridden"] == "True"
    assert sentences(decision, "paused") == [
        "The annotation hypot.dev/paused stops all scaling: the size of app is held.",
        "The annotation hypot.dev/paused stops all scaling: the HPA has 3 to 30 replicas.",
    ]
    assert decision.reason == ""


@pytest.mark.parametrize(
    ("word", "there", "expected", "size"),
    [
        # Bounds of 3 to 30 become 10 to 10: the minimum may rise, and the maximum may fall.
        ("up", (3, 30), (3, 10), 2000),
        ("down", (3, 30), (10, 30), 4000),
        ("up", (12, 12), (10, 10), 2000),
        ("down", (12, 12), (12, 12), 4000),
        ("false", (3, 30), (10, 10), 4000),
        # A word that cannot be read holds everything.
        ("sideways", (3, 30), (3, 30), 2000),
    ],
)
def test_one_direction(word, there, expected, size):
    decision = world({"hypot.dev/paused": word}, *there).decided()
    assert (bounds(decision), cpu(decision)) == (expected, size)
    grown = ["each pod gets app cpu 4"] if size == 4000 else []
    edited = [f"the HPA gets {expected[0]} to {expected[1]} replicas"] if decision.hpa.writes else []
    assert decision.reason == "; ".join(grown + edited)


@pytest.mark.parametrize(("word", "expected"), [("up", 70), ("down", 70), ("false", 66)])
def test_a_target_is_not_changed_in_one_direction(word, expected):
    """A higher target means fewer replicas, a lower one more; neither is written by half."""
    one = world({"hypot.dev/paused": word}, total=20)
    one.state = known([14_000], target=66)
    assert targets(one.decided()) == [expected]


@pytest.mark.parametrize(("written", "count"), [("7", 7), ("0", 1)])
def test_a_pinned_count(written, count):
    """Both bounds of the HPA are that count. An HPA has at least one replica."""
    decision = world({"hypot.dev/hold": written}).decided()
    assert bounds(decision) == (count, count)
    assert decision.reason == (
        f"the annotation hypot.dev/hold keeps the count at {written}; the HPA gets {count} to {count} replicas"
    )
    assert cpu(decision) == 2000


def test_a_pin_and_a_pause():
    """A pin never overrides a block."""
    decision = world({"hypot.dev/hold": "7", "hypot.dev/paused": "true"}).decided()
    assert not decision.hpa.writes
    decision = world({"hypot.dev/hold": "7", "hypot.dev/paused": "down"}).decided()
    assert bounds(decision) == (7, 30)


def test_a_plan_under_way_does_not_hold_the_hpa():
    """Sizes wait for the plan, bounds do not."""
    here = world()
    chosen, seen = here.seen()
    holds = [Hold(PLAN_UNDER_WAY, "a plan is under way")]
    decision, _ = decide(chosen, seen, here.state, here.settings, holds)
    assert decision.hpa.writes
    assert cpu(decision) == 2000


def test_an_hpa_that_is_not_there_is_not_made_while_paused():
    here = world({"hypot.dev/paused": "true"})
    here.hpa = None
    assert here.decided().hpa is None
    here = world({"hypot.dev/hold": "5"})
    here.hpa = None
    assert bounds(here.decided()) == (5, 5)


def test_an_emergency_raises_past_a_pause_of_scale_downs():
    """The minimum may rise."""
    here = world({"hypot.dev/paused": "down"})
    here.tortoise = {**here.tortoise, "spec": {**here.tortoise["spec"], "updateMode": "Emergency"}}
    assert bounds(here.decided()) == (40, 40)
