"""The phases of a Tortoise: by time, by mode, and by what its HPA reports."""

import pytest

from hypot.core.learning.phases import stepped_back
from hypot.kinds.hpa import HPA
from hypot.policy.model.state import State
from hypot.policy.tortoise.phases import is_healthy, overall, phase_after
from unit.policy.sizes_world import DAY, HOUR, MI, MINUTE, NOW, conditions, sentences
from unit.policy.tortoise.tortoise_world import (
    BY_CPU,
    WEEK,
    World,
    bounds,
    conditions_of,
    container_metric,
    hpa,
    known,
    phase,
    policy,
    settings_by,
    tortoise,
    without_metrics,
)

GATHERING, PARTLY, WORKING = "GatheringData", "PartlyWorking", "Working"
EMERGENCY, BACK = "Emergency", "BackToNormal"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        # Nothing is left to gather.
        ((), WORKING),
        (("Off",), WORKING),
        ((GATHERING, "Off"), GATHERING),
        ((WORKING, GATHERING), PARTLY),
        ((WORKING, "Off"), WORKING),
        ((WORKING, WORKING), WORKING),
    ],
)
def test_the_phase_of_the_whole(words, expected):
    """It follows from the resources that are scaled."""
    assert overall(words) == expected


@pytest.mark.parametrize(
    ("before", "usual", "mode", "scales", "healthy", "reached", "expected"),
    [
        (WORKING, WORKING, "Emergency", True, True, True, EMERGENCY),
        (PARTLY, PARTLY, "Emergency", True, True, True, EMERGENCY),
        # There are no bounds to use yet, or nothing that replicas follow.
        (GATHERING, GATHERING, "Emergency", True, True, True, GATHERING),
        (WORKING, WORKING, "Emergency", False, True, True, WORKING),
        # Missing metrics are an emergency in Auto only.
        (WORKING, WORKING, "Auto", True, False, True, EMERGENCY),
        (WORKING, WORKING, "Off", True, False, True, WORKING),
        (BACK, WORKING, "Auto", True, False, False, EMERGENCY),
        # It lasts while the reason does, and ends step by step.
        (EMERGENCY, WORKING, "Auto", True, False, False, EMERGENCY),
        (EMERGENCY, WORKING, "Auto", True, True, False, BACK),
        (BACK, WORKING, "Auto", True, True, False, BACK),
        (BACK, WORKING, "Auto", True, True, True, WORKING),
        # Nothing that replicas follow is left, so nothing steps back.
        (BACK, WORKING, "Auto", False, True, False, WORKING),
    ],
)
def test_the_next_phase(before, usual, mode, scales, healthy, reached, expected):
    assert phase_after(before, usual, mode, scales=scales, healthy=healthy, reached=reached) == expected


@pytest.mark.parametrize(("low", "factor", "expected"), [(100, 0.95, 95), (7, 0.95, 6), (7, 0.5, 3), (7, 1.0, 6)])
def test_a_step_back(low, factor, expected):
    """Each step lowers the minimum, so it ends."""
    assert stepped_back(low, factor) == expected


def reported(status):
    return HPA.from_dict(hpa(status=status))


MEASURED = {"type": "ContainerResource", "containerResource": {"current": {"averageUtilization": 5}}}


@pytest.mark.parametrize(
    "reason", ["FailedGetResourceMetric", "FailedGetContainerResourceMetric", "FailedGetExternalMetric"]
)
def test_an_hpa_may_miss_its_metrics_for_a_while(reason):
    """Every reason counts: kube's controller has its own for metrics of containers."""
    missing = reported(without_metrics(NOW - 300, reason))
    assert is_healthy(missing, NOW - 1, 300)
    assert not is_healthy(missing, NOW, 300)


@pytest.mark.parametrize(
    "status",
    [
        None,
        {},
        {"conditions": []},
        {"conditions": [{"type": "ScalingActive", "status": "True"}]},
        # Other reasons are not missing metrics: the target has no replicas, for example.
        without_metrics(0, "ScalingDisabled"),
        {**without_metrics(0), "currentMetrics": [MEASURED]},
        {**without_metrics(0), "currentMetrics": [{"external": {"current": {"value": "3"}}}]},
        {"conditions": "odd", "currentMetrics": 5},
    ],
)
def test_healthy_hpas(status):
    assert is_healthy(reported(status), NOW, 300)
    assert is_healthy(None, NOW, 300)


def test_the_life_of_a_tortoise():
    """Its HPA is made first. Sizes that follow usage work at once, replicas after a week."""
    world = World(hpa=None, state=State(), peak={"app": {"cpu": 300, "memory": 700 * MI}})
    first = world.step(15)
    assert phase(first) == "Initializing"
    assert (first.hpa.before, bounds(first)) == (None, (3, 100))
    assert phase(world.step(HOUR)) == PARTLY
    world.now += WEEK - HOUR - 16
    assert phase(world.step(1)) == PARTLY
    last = world.step()
    assert phase(last) == WORKING
    # Only its last slot is known, and the others follow from it.
    assert bounds(last) == (3, 6)
    assert [each["containerName"] for each in last.status["containerResourcePhases"]] == ["app"]


def test_a_day_is_enough_for_daily_slots():
    world = World(
        hpa=None,
        state=State(),
        tortoise=tortoise(annotations=settings_by({"slot_period": "daily"}), autoscalingPolicy=BY_CPU),
    )
    assert [phase(world.step(DAY / 2)) for _ in range(3)] == ["Initializing", GATHERING, WORKING]


def test_gathering_leaves_a_named_hpa_as_it_is():
    """Nothing is known yet, and people wrote it."""
    there = hpa(2, 7, container_metric(percent=50), name="mine")
    refs = {"horizontalPodAutoscalerName": "mine"}
    decision = World(hpa=there, state=State(), tortoise=tortoise(autoscalingPolicy=BY_CPU, refs=refs)).decided()
    assert phase(decision) == GATHERING
    assert not decision.hpa.writes
    assert decision.status["minReplicas"] == 2


def test_without_usage_sizes_gather():
    """Nothing recommends a size of memory yet."""
    decision = World().decided()
    assert phase(decision) == PARTLY
    words = decision.status["containerResourcePhases"][0]["resourcePhases"]
    assert {resource: each["phase"] for resource, each in words.items()} == {"cpu": WORKING, "memory": GATHERING}


def test_only_sizes():
    """There is no HPA, and nothing to gather for replicas."""
    vertical = tortoise(autoscalingPolicy=[policy(cpu="Vertical", memory="Vertical")])
    world = World(hpa=None, state=State(), tortoise=vertical, peak={"app": {"cpu": 900, "memory": 700 * MI}})
    decision = world.step()
    assert (phase(decision), decision.hpa, world.state.tortoise) == (WORKING, None, None)
    assert decision.status["targets"]["horizontalPodAutoscaler"] == ""


def test_a_resource_that_is_new_gathers_again():
    """The other keeps its bounds."""
    both = tortoise(autoscalingPolicy=[policy(), policy("side")])
    world = World(
        tortoise=both,
        sizes={"app": {"cpu": 1000}, "side": {"cpu": 500}},
        demand={"app": 1400, "side": 100},
        state=known([4000]),
    )
    decision = world.decided()
    assert phase(decision) == PARTLY
    assert bounds(decision) == (3, 8)


def emergency(mode="Emergency", **more):
    return World(tortoise=tortoise(mode, autoscalingPolicy=BY_CPU), state=known([8000]), replicas=6, **more)


def test_emergency():
    """The minimum is the maximum, and no pod shrinks."""
    decision = emergency().decided()
    assert (phase(decision), bounds(decision)) == (EMERGENCY, (16, 16))
    assert sentences(decision, "phase") == ["The phase was Working and is Emergency."]


def test_emergency_lifts_the_preferred_count():
    """In an emergency replicas come first."""
    annotations = settings_by({"preferred_max_replicas": 5})
    world = World(tortoise=tortoise("Emergency", annotations, autoscalingPolicy=BY_CPU), state=known([8000]))
    assert bounds(world.decided()) == (16, 16)


def test_emergency_before_anything_is_known():
    """There are no bounds yet, so it waits."""
    world = World(tortoise=tortoise("Emergency", autoscalingPolicy=BY_CPU), state=State())
    assert phase(world.step()) == GATHERING


FIRST_WORDS = "No bounds are learned yet"
NOTHING = f"{FIRST_WORDS}, so this emergency adds no replicas: raise the"


@pytest.mark.parametrize(
    ("refs", "there", "expected", "sentence"),
    [
        ({"horizontalPodAutoscalerName": "mine"}, "mine", (20, 20), f"{FIRST_WORDS}: the minimum of the HPA becomes"),
        # The maximum of its own HPA is the administrator's.
        ({}, "tortoise-hpa-web", (3, 100), f"{NOTHING} minimum of the HPA"),
        ({}, None, (3, 100), f"{NOTHING} replicas of the workload"),
    ],
)
def test_what_an_emergency_does_before_anything_is_known(refs, there, expected, sentence):
    """With a maximum that people wrote, the minimum becomes it. The decision says what it can do and what not."""
    world = World(
        tortoise=tortoise("Emergency", autoscalingPolicy=BY_CPU, refs=refs),
        state=State(),
        hpa=None if there is None else hpa(3, 20, name=there),
    )
    for _ in range(3):
        found = bounds(decision := world.decided())
        assert found == expected
        assert sentences(decision, "emergency")[0].startswith(sentence)
        assert conditions_of(decision)["EffectiveModeOverridden"] == "True"
        assert "EmergencyModeFailed" in [event.reason for event in decision.events]
        if there is None:
            break
        world.step(60)


def test_the_minimum_of_a_named_hpa_comes_back():
    """When the emergency is over before bounds are learned. Metrics and all else stay."""
    refs = {"horizontalPodAutoscalerName": "mine"}
    world = World(
        tortoise=tortoise("Emergency", autoscalingPolicy=BY_CPU, refs=refs), state=State(), hpa=hpa(4, 9, name="mine")
    )
    before = world.hpa["spec"]
    world.step(60)
    world.step(60)
    assert world.hpa["spec"] == {**before, "minReplicas": 9}
    world.tortoise = tortoise("Auto", autoscalingPolicy=BY_CPU, refs=refs)
    world.step(60)
    assert world.hpa["spec"] == before


def test_an_emergency_without_replicas_to_add():
    world = World(tortoise=tortoise("Emergency", autoscalingPolicy=[policy(cpu="Vertical")]), hpa=None, state=State())
    assert sentences(world.decided(), "emergency") == ["No resource is Horizontal, so this emergency adds no replicas."]


def test_back_to_normal_step_by_step():
    """Five percent a pass, down to the learned minimum; bounds and sizes stay as they are meanwhile."""
    world = emergency()
    world.step(15)
    world.tortoise = tortoise("Auto", autoscalingPolicy=BY_CPU)
    passes = [(phase(each), *bounds(each)) for each in (world.step(15) for _ in range(13))]
    lows = [low for _, low, _ in passes]
    assert lows == [15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 4]
    assert [word for word, _, _ in passes] == [BACK] * 12 + [WORKING]
    assert {high for _, _, high in passes} == {16}


def test_the_way_back_goes_step_by_step():
    """Also if the slot of now needed much less than the one in which the emergency began."""
    world = emergency("Auto")
    world.state = known([2000], phase=BACK, low=90)
    decision = world.decided()
    assert phase(decision) == BACK
    assert bounds(decision) == (85, 85)


@pytest.mark.parametrize(("replicas", "expected"), [(5, (16, 16)), (35, (35, 35)), (150, (100, 100))])
def test_an_emergency_removes_no_pods(replicas, expected):
    """What runs stays, up to the administrator's maximum."""
    world = emergency("Emergency")
    world.replicas = replicas
    decision = world.step(HOUR)
    assert (phase(decision), bounds(decision)) == (EMERGENCY, expected)


def test_an_emergency_does_not_end_with_its_slot():
    """The next slot needed less: the minimum stays until the emergency is over."""
    world = emergency("Emergency")
    world.state = known([2000], phase=EMERGENCY, low=40)
    world.replicas = 4
    assert bounds(world.decided()) == (40, 40)


def test_emergency_by_itself():
    """After the grace period without metrics; it lasts until metrics are back."""
    world = emergency("Auto", hpa=hpa(4, 16, status=without_metrics(NOW - 4 * MINUTE)))
    assert phase(world.decided()) == WORKING
    world.hpa = hpa(4, 16, status=without_metrics(NOW - 5 * MINUTE))
    first = world.step(15)
    assert (phase(first), bounds(first)) == (EMERGENCY, (16, 16))
    assert sentences(first, "phase") == [
        "The phase was Working and is Emergency: its HPA has had no metrics for too long."
    ]
    world.hpa = hpa(16, 16, status=without_metrics(NOW - 5 * MINUTE))
    assert phase(world.step(15)) == EMERGENCY
    world.hpa = hpa(16, 16)
    assert (phase(back := world.step(15)), bounds(back)) == (BACK, (15, 16))


def test_off_is_a_dry_run():
    """Everything is computed and reported, and nothing is done."""
    world = World(
        tortoise=tortoise("Off"), state=known([8000]), peak={"app": {"cpu": 600, "memory": 2048 * MI}}, replicas=6
    )
    decision = world.step()
    assert decision.dry_run
    assert (phase(decision), bounds(decision)) == (WORKING, (4, 16))
    assert decision.resizes
    assert not decision.rescales
    assert not decision.events
    requests = decision.status["conditions"]["containerResourceRequests"][0]["resource"]
    assert requests == {"cpu": "1", "memory": "1Gi"}


def test_off_makes_no_hpa():
    """Its first pass gathers at once: there is nothing to make."""
    world = World(tortoise=tortoise("Off", autoscalingPolicy=BY_CPU), hpa=None, state=State())
    decision = world.step()
    assert decision.dry_run
    assert phase(decision) == GATHERING
    assert conditions(decision) == {"EffectiveModeOverridden": "False", "FailedToReconcile": "False"}
