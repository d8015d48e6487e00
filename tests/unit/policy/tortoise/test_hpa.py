"""The HPA that a Tortoise keeps: its own or a named one, which fields change, and when its maximum is held."""

import copy

import pytest

from hypot.kinds.hpa import HPA
from hypot.policy.decide import decide
from hypot.policy.model.state import Vertical
from hypot.policy.tortoise.edited_hpa import PREFIXES, targets_in
from unit.policy.sizes_world import MI, MINUTE, TARGET, sentences
from unit.policy.tortoise.tortoise_world import (
    BY_CPU,
    EXAMPLE,
    NAME,
    World,
    bounds,
    conditions_of,
    container_metric,
    external_metric,
    hpa,
    known,
    phase,
    policy,
    rules,
    tortoise,
)

NAMED = {"horizontalPodAutoscalerName": "legacy"}
BEHAVIOR = {"scaleDown": {"stabilizationWindowSeconds": 77}}


def named(*metrics, annotations=None, spec=None, state=None, **more):
    """A Tortoise that names an HPA with these metrics."""
    one = tortoise(refs=NAMED, annotations=more.pop("own", None), **(spec or {}))
    there = hpa(2, 7, *metrics, name="legacy", annotations=annotations, behavior=BEHAVIOR)
    return World(tortoise=one, hpa=there, state=state or known([8000]), replicas=5, **more)


def test_its_own_hpa():
    """Made with the first pass: the administrator's bounds and behavior, and a metric for each resource."""
    world = World(hpa=None, sizes={"app": {"cpu": 1000}, "side": {"cpu": 500}}, demand={"app": 700, "side": 100})
    spec = world.decided().hpa.after.to_dict()["spec"]
    assert spec["metrics"] == [container_metric("app"), container_metric("side")]
    assert spec["behavior"] == {
        "scaleUp": {"policies": [{"type": "Percent", "value": 100, "periodSeconds": 60}]},
        "scaleDown": {"policies": [{"type": "Percent", "value": 2, "periodSeconds": 90}]},
    }
    assert spec["scaleTargetRef"] == {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}


def test_its_own_behavior():
    """The spec's is for both kinds of HPA, the administrator's for its own only."""
    written = {"horizontalPodAutoscalerBehavior": {"scaleUp": {"stabilizationWindowSeconds": 9}}}
    for world in (World(tortoise=tortoise(**written)), named(spec=written)):
        assert world.decided().hpa.after.to_dict()["spec"]["behavior"] == {"scaleUp": {"stabilizationWindowSeconds": 9}}
    assert named().decided().hpa.after.to_dict()["spec"]["behavior"] == BEHAVIOR


def test_only_owned_fields_of_a_named_hpa_change():
    """Its bounds and the targets of its containers; all else is byte-equal."""
    others = [
        external_metric("queue", "30"),
        {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 61}}},
        {
            "type": "Pods",
            "pods": {"metric": {"name": "rps"}, "target": {"type": "AverageValue", "averageValue": "1500m"}},
        },
        {
            "type": "ContainerResource",
            "containerResource": {
                "name": "cpu",
                "container": "side",
                "target": {"type": "AverageValue", "averageValue": "200m"},
            },
        },
    ]
    world = named(*others[:2], container_metric(percent=55), *others[2:], state=known([8000], target=72))
    before = copy.deepcopy(world.hpa)
    decision = world.step()
    assert [change.field for change in decision.hpa.changes()] == [
        "minReplicas",
        "maxReplicas",
        "metric ContainerResource cpu of app",
    ]
    expected = copy.deepcopy(before["spec"])
    expected |= {"minReplicas": 4, "maxReplicas": 16}
    expected["metrics"][2] = container_metric(percent=72)
    assert decision.hpa.after.to_dict()["spec"] == expected
    assert world.hpa["metadata"] == before["metadata"]
    assert not world.step().hpa.writes


@pytest.mark.parametrize("spec", [{}, {"autoscalingPolicy": [policy(memory="Vertical")]}])
def test_a_named_hpa_that_is_missing(spec):
    """It is reported and never made. Nothing is decided, and nothing that was learned is lost."""
    world = named(container_metric(), spec=spec, peak={"app": {"cpu": 100, "memory": 2048 * MI}})
    world.hpa, before = None, world.state.tortoise
    decision = world.step()
    assert (decision.decided, decision.resizes, decision.hpa) == (False, False, None)
    assert decision.error == "HorizontalPodAutoscaler legacy does not exist"
    assert conditions_of(decision)["FailedToReconcile"] == "True"
    assert [each.message for each in decision.events if each.type == "Warning"] == [
        "HorizontalPodAutoscaler legacy does not exist."
    ]
    assert world.state.tortoise == before


def test_a_named_hpa_that_measures_nothing_by_container():
    """The HPA is left alone, and sizes do not follow what it measures by pod."""
    resource = {
        "type": "Resource",
        "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 61}},
    }
    decision = named(resource).decided()
    assert decision.hpa is None
    assert decision.status["autoscalingPolicy"][0]["policy"] == {"cpu": "Off", "memory": "Vertical"}


def test_policies_follow_a_named_hpa():
    """What it measures by container is scaled by replicas."""
    world = named(container_metric(resource="memory"), state=known([8000], places=("app/memory",), place="app/memory"))
    assert world.decided().status["autoscalingPolicy"][0]["policy"] == {"cpu": "Vertical", "memory": "Horizontal"}


def test_written_policies_change_the_metrics():
    """A metric is added for what replicas follow, and removed for what they do not."""
    world = named(
        container_metric("app", 60, "memory"),
        external_metric("queue"),
        spec={"autoscalingPolicy": BY_CPU},
        state=known([8000], target=60),
    )
    spec = world.decided().hpa.after.to_dict()["spec"]
    assert spec["metrics"] == [external_metric("queue"), container_metric(percent=60)]


CPU_PREFIX = {PREFIXES["cpu"]: "use-of-"}


@pytest.mark.parametrize(
    ("metrics", "annotations", "expected"),
    [
        ([external_metric("use-of-app", "55")], CPU_PREFIX, {("app", "cpu"): 55}),
        ([external_metric("use-of-app", "55500m")], CPU_PREFIX, {("app", "cpu"): 55}),
        ([external_metric("mem-app", "55")], {PREFIXES["memory"]: "mem-"}, {("app", "memory"): 55}),
        # The declared metric counts, wherever it stands.
        ([external_metric("use-of-app", "55"), container_metric()], CPU_PREFIX, {("app", "cpu"): 55}),
        ([container_metric(), external_metric("use-of-app", "55")], CPU_PREFIX, {("app", "cpu"): 55}),
        # Not declared, without a container, or not a number.
        ([external_metric("use-of-app", "55")], {}, {}),
        ([external_metric("use-of-", "55")], CPU_PREFIX, {}),
        ([external_metric("use-of-app", "many")], CPU_PREFIX, {}),
        ([external_metric("use-of-app", "55")], {PREFIXES["cpu"]: ""}, {}),
    ],
)
def test_declared_external_metrics(metrics, annotations, expected):
    """An annotation makes an External metric the utilization of a container."""
    read = HPA.from_dict(hpa(2, 7, *metrics, annotations=annotations))
    assert {place: each.percent for place, each in targets_in(read).items()} == expected


def test_a_declared_external_metric_gets_the_target():
    """Both if there are both, and no other metric is added."""
    state = known([8000], target=72)
    world = named(external_metric("use-of-app", "55"), annotations=CPU_PREFIX, state=state)
    assert world.decided().hpa.after.to_dict()["spec"]["metrics"] == [external_metric("use-of-app", "72")]
    world = named(external_metric("use-of-app", "72000m"), container_metric(), annotations=CPU_PREFIX, state=state)
    metrics = world.decided().hpa.after.to_dict()["spec"]["metrics"]
    assert metrics == [external_metric("use-of-app", "72000m"), container_metric(percent=72)]


def large(replicas=10, size=2000, **more):
    """Ten replicas are preferred, and the slot needs more than that."""
    one = tortoise(annotations=EXAMPLE, autoscalingPolicy=BY_CPU)
    usual = {"hpa": hpa(3, 30), "demand": {"app": 12_000}, "state": known([24_000]), "peak": {"app": {"cpu": 900}}}
    return World(replicas=replicas, sizes={"app": {"cpu": size}}, tortoise=one, **{**usual, **more})


def test_the_maximum_is_held_at_the_preferred_count():
    decision = large(8).decided()
    assert bounds(decision) == (6, 10)
    assert sentences(decision, "preferred-replicas") == ["Pods may still grow: the maximum is 10 instead of 24."]


def test_replicas_that_are_needed_now_are_not_taken_away():
    """Pods that should be larger are not yet: until then their number stays."""
    assert bounds(large(15, demand={"app": 18_000}).decided()) == (7, 13)
    assert bounds(large(15, demand={"app": 7000}).decided()) == (6, 10)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"size": 5000, "state": known([60_000])}, "The size is at its maximum"),
        (
            {"state": known([24_000])._replace(vertical=Vertical(infeasible={"u0": {"app": {"cpu": 2500}}}))},
            "No node has room for larger pods",
        ),
    ],
)
def test_the_maximum_is_lifted(changes, why):
    decision = large(8, **changes).decided()
    assert bounds(decision) == (6, 24)
    assert sentences(decision, "preferred-replicas") == [f"{why}: the maximum of 24 may exceed the preferred count."]


def test_the_maximum_is_lifted_for_saturated_pods():
    """At the preferred count, in two samples."""
    world = large(10, demand={"app": 20_000}, limits={"app": {"cpu": 2000}})
    assert bounds(world.decided()) == (8, 10)
    world.state = world.state._replace(vertical=Vertical(hot={"app/cpu": world.now - 60}))
    decision = world.decided()
    assert bounds(decision) == (8, 29)
    assert sentences(decision, "preferred-replicas")[0].startswith("Pods use all that they can get")


def test_hypot_decides_the_count():
    """By the HPA as it should be, and the size at that count; no other controller is needed, so no HPA is made."""
    one = tortoise(annotations={"hypot.dev/decide": "true"}, autoscalingPolicy=BY_CPU)
    world = World(tortoise=one, hpa=None, state=known([8000]), replicas=4, demand={"app": 4200})
    decision = world.step(MINUTE)
    assert (decision.hpa, decision.desired, phase(decision)) == (None, 6, "Working")
    assert decision.status["maxReplicas"] == 16
    assert decision.reason == "cpu container resource utilization (percentage of request) above target"
    world.demand = {"app": 42_000}
    assert world.step(MINUTE).desired <= 16


DECIDES = {"hypot.dev/decide": "true"}


@pytest.mark.parametrize(
    ("world", "name"),
    [
        (World(tortoise=tortoise(annotations=DECIDES, autoscalingPolicy=BY_CPU), demand={"app": 4200}), NAME),
        (World(tortoise=tortoise(annotations=DECIDES), demand={"app": 4200}, hpa=hpa(name="theirs")), "theirs"),
        (named(container_metric(), own=DECIDES, demand={"app": 4200}), "legacy"),
    ],
)
def test_an_hpa_next_to_a_tortoise_that_decides_is_a_conflict(world, name):
    """Its controller would undo each change: nothing is scaled or edited, whatever the name of the HPA is."""
    decision = world.decided()
    assert (decision.hpa, decision.desired, decision.moves) == (None, world.replicas, False)
    assert decision.error == (
        f"HorizontalPodAutoscaler shop/{name} scales the same target: remove it, or the annotation hypot.dev/decide of "
        "this Tortoise"
    )
    assert conditions_of(decision)["FailedToReconcile"] == "True"
    assert rules(decision) == ["conflict"]
    world.hpa = None
    world.tortoise["spec"]["targetRefs"].pop("horizontalPodAutoscalerName", None)
    assert world.decided().desired == 6


@pytest.mark.parametrize(
    ("deletion", "annotations", "deletes"),
    [
        ("DeleteAll", {}, True),
        ("NoDelete", {}, False),
        ("DeleteAll", {"hypot.dev/paused": "true"}, False),
        ("DeleteAll", {"hypot.dev/hold": "5"}, False),
    ],
)
def test_its_own_hpa_when_nothing_is_scaled_by_replicas(deletion, annotations, deletes):
    """It is deleted if the spec says so and no hold stops it; what was learned stays."""
    vertical = [policy(cpu="Vertical", memory="Vertical")]
    world = World(tortoise=tortoise(annotations=annotations, autoscalingPolicy=vertical, deletionPolicy=deletion))
    chosen, seen = world.seen()
    decision, after = decide(chosen, seen, world.state, world.settings)
    assert (decision.hpa is not None and decision.hpa.deletes) is deletes
    assert ("is deleted" in decision.reason) is deletes
    assert after.tortoise.learned == world.state.tortoise.learned


def test_a_count_of_zero_stays():
    """A workload that is scaled to zero is switched off."""
    one = tortoise(annotations={"hypot.dev/decide": "true"}, autoscalingPolicy=BY_CPU)
    decision = World(tortoise=one, hpa=None, state=known([8000]), replicas=0, demand={}).decided()
    assert decision.desired == 0


def test_an_unknown_target():
    """It is reported, and what was learned stays."""
    world = World()
    world.tortoise["spec"]["targetRefs"]["scaleTargetRef"] = {
        "kind": "Deployment",
        "name": "gone",
        "apiVersion": "apps/v1",
    }
    before = world.state.tortoise
    decision = world.step()
    assert not decision.decided
    assert conditions_of(decision)["FailedToReconcile"] == "True"
    assert world.state.tortoise == before
    assert rules(decision) == ["no-scale"]


def test_a_count_that_is_decided_here_keeps_the_rate_limits():
    """The minimum holds at once; from there, at most twice as many in a minute."""
    here = World(tortoise=tortoise(annotations=DECIDES), hpa=None, state=known([40_000]), demand={"app": 30_000})
    counts = [here.step(15).desired for _ in range(6)]
    assert counts == [10, 10, 10, 10, 20, 20]


def test_an_hpa_of_another_workload_is_not_edited():
    """It would get bounds that were learned from another one."""
    here = World(tortoise=tortoise(refs=NAMED), hpa=hpa(name="legacy", scaleTargetRef={**TARGET, "name": "other"}))
    decision = here.decided()
    assert (decision.decided, decision.hpa) == (False, None)
    assert "HorizontalPodAutoscaler legacy scales Deployment/other, not Deployment/web" in decision.error


@pytest.mark.parametrize("value", ["500m", "0", "-5"])
def test_a_share_is_not_a_percentage(value):
    """A metric from 0 to 1 is not a utilization in percent, and keeps its target."""
    key = PREFIXES["cpu"]
    read = HPA.from_dict(hpa(3, 9, external_metric("ext-app", value), annotations={key: "ext-"}))
    assert targets_in(read) == {}


def test_growth_that_does_not_happen_lifts_the_maximum():
    """Pods wait for a larger size; after ten minutes replicas are added instead."""
    here = World(
        tortoise=tortoise(annotations=EXAMPLE, autoscalingPolicy=BY_CPU),
        state=known([14_000]),
        replicas=10,
        demand={"app": 14_000},
    )
    found = []
    for _ in range(4):
        decision = here.decided()
        chosen, seen = here.seen()
        here.state = decide(chosen, seen, here.state, here.settings)[1]
        here.now += 5 * MINUTE
        found.append(bounds(decision)[1])
    assert found[:2] == [10, 10]
    assert found[2] == found[3] > 20
