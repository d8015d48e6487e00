"""Planned minimums on each kind: they raise the count and the sizes, and give way to a maximum and to holds."""

import json
from dataclasses import replace

import pytest

from builders import KNOWN, NOW, busy, decided, hpa, queue, wpa
from hypot.core.instant import show_time
from hypot.kinds.floor import SCHEDULE
from hypot.kinds.hpa.fields import cpu
from hypot.kinds.wpa.fields import band
from hypot.policy.decide import decide
from hypot.policy.model.settings import Settings
from hypot.policy.model.state import State
from hypot.replay.numbers import hpa_rule
from unit.policy import sizes_world as sizes
from unit.policy.tortoise import tortoise_world

HOUR = 3600.0


def plan(start=-HOUR, end=HOUR, at=NOW, **least):
    """An annotation with one entry; times are relative to now."""
    entry = {"startAt": show_time(at + start), "finishAt": show_time(at + end), **least}
    return {SCHEDULE: json.dumps([entry])}


def conditions(decision):
    return {each.type: (each.status, each.reason) for each in decision.conditions}


def scaled(annotations, kind=hpa, replicas=5, **more):
    metric = cpu(utilization=50) if kind is hpa else band("queue", high="10", low="5")
    observed = busy(*[500] * replicas) if kind is hpa else queue(40_000, replicas, selector={})
    return decided(kind(metric, annotations=annotations, **more), observed)


@pytest.mark.parametrize("kind", [hpa, wpa])
def test_a_count_is_raised_while_it_is_planned(kind):
    assert scaled(plan(minReplicas=20), kind).desired == 20
    free = scaled({}, kind).desired
    assert free < 20
    assert scaled(plan(HOUR, 2 * HOUR, minReplicas=20), kind).desired == free
    assert scaled(plan(-2 * HOUR, -HOUR, minReplicas=20), kind).desired == free


@pytest.mark.parametrize("kind", [hpa, wpa])
def test_the_maximum_holds(kind):
    assert scaled(plan(minReplicas=20), kind, max_replicas=8).desired == 8


def test_a_lower_plan_changes_nothing():
    assert scaled(plan(minReplicas=2), min_replicas=4).desired == scaled({}, min_replicas=4).desired


def test_a_hold_has_the_last_word():
    assert scaled({**plan(minReplicas=20), "hypot.dev/paused": "true"}).desired == 5


@pytest.mark.parametrize(
    ("times", "expected", "message"),
    [
        ((-HOUR, HOUR), ("True", "InForce"), f"at least 20 replicas until {show_time(NOW + HOUR)}"),
        (
            (HOUR, 2 * HOUR),
            ("False", "Planned"),
            f"at least 20 replicas from {show_time(NOW + HOUR)} to {show_time(NOW + 2 * HOUR)}",
        ),
        ((-2 * HOUR, -HOUR), ("False", "Over"), "nothing more"),
    ],
)
def test_it_is_reported_ahead(times, expected, message):
    """As a condition, and as the first step."""
    decision = scaled(plan(*times, minReplicas=20))
    assert conditions(decision)["Scheduled"] == expected
    assert decision.steps[0].sentence.rstrip(".").endswith(message)


@pytest.mark.parametrize(
    ("cron", "duration", "expected"),
    [("0 * * * *", "2h", "without end"), ("0 * * * *", "1h", "without end"), ("0 6,7 * * *", "2h", "T09:00:00Z")],
)
def test_windows_that_overlap(cron, duration, expected):
    """The plan holds until one ends that no other prolongs."""
    entry = {"cron": cron, "duration": duration, "minReplicas": 20}
    at = NOW - NOW % 86400 + 6.5 * HOUR
    state = decide(
        hpa(cpu(utilization=50), annotations={SCHEDULE: json.dumps([entry])}), busy_at(at), KNOWN, Settings()
    )
    assert state[0].steps[0].sentence.rstrip(".").endswith(expected)


def busy_at(at):
    return replace(busy(*[500] * 5), now=at)


def test_its_begin_and_end_are_events():
    """Once each; the condition goes with the annotation."""
    state, found = KNOWN, []
    observed = busy(*[500] * 5)
    for start, end in ((60, HOUR), (0, HOUR), (-60, HOUR), (-HOUR, 0), (-HOUR, -60)):
        spec = hpa(cpu(utilization=50), annotations=plan(start, end, minReplicas=20))
        decision, state = decide(spec, observed, state, Settings())
        found.append([event.reason for event in decision.events if event.reason.startswith("Schedule")])
    assert found == [[], ["ScheduleBegan"], [], ["ScheduleEnded"], []]
    decision, state = decide(hpa(cpu(utilization=50)), observed, state, Settings())
    assert "Scheduled" not in conditions(decision)
    assert "Scheduled" not in {each.type for each in state.conditions}


def test_without_a_readable_plan_nothing_is_scaled_down():
    """What is planned is unknown; scale-ups go on."""
    broken = {SCHEDULE: "[{}]"}
    decision = decided(hpa(cpu(utilization=50), annotations=broken), busy(*[100] * 5), State())
    assert decision.desired == 5
    assert "hypot.dev/schedule cannot be read: entry 1" in decision.holds[0].message
    assert conditions(decision)["Scheduled"] == ("Unknown", "Unreadable")
    assert decision.steps[0].sentence.startswith("The schedule cannot be read: entry 1")
    assert decided(hpa(cpu(utilization=50), annotations=broken), busy(*[900] * 5)).desired > 5


def test_replay_decides_such_objects_whole():
    """The rule of plain numbers knows no plan."""
    assert hpa_rule.rule_of(hpa(cpu(utilization=50)), "app", {}, Settings()) is not None
    assert hpa_rule.rule_of(hpa(cpu(utilization=50), annotations=plan(minReplicas=20)), "app", {}, Settings()) is None


ADVICE = sizes.advised(sizes.recommended(target=("300m", "512Mi")), RecommendationProvided="True")
BIG = {"app": {"cpu": "3", "memory": "4Gi"}}


def by_size(annotations, *policies):
    one = sizes.vpa("Recreate", *policies, status=ADVICE, annotations=annotations)
    return sizes.decided(one, *sizes.fleet(2, sizes.box()), sizes.node())


def test_sizes_of_a_vpa():
    assert sizes.wanted(by_size({})) == {"cpu": 300, "memory": 512 * sizes.MI}
    raised = by_size(plan(at=sizes.NOW, minAllowed=BIG))
    assert sizes.wanted(raised) == {"cpu": 3000, "memory": 4 * sizes.GI}
    capped = by_size(plan(at=sizes.NOW, minAllowed=BIG), {"containerName": "app", "maxAllowed": {"cpu": "2"}})
    assert sizes.wanted(capped) == {"cpu": 2000, "memory": 4 * sizes.GI}


def test_both_axes_of_an_hvpa():
    def moved(annotations):
        objects = (*sizes.fleet(2, sizes.box()), sizes.node(), sizes.vpa("Off", status=ADVICE))
        made = sizes.hvpa(annotations={"hypot.dev/recommendations": "objects", **annotations})
        return sizes.decided(made, *objects, kind="Hvpa")

    assert moved({}).desired < 4
    raised = moved(plan(at=sizes.NOW, minReplicas=4))
    assert raised.desired == 4
    assert moved(plan(at=sizes.NOW, minReplicas=1000)).desired == max(one["maxReplicas"] for one in sizes.INTERVALS)
    assert sizes.wanted(moved(plan(at=sizes.NOW, minAllowed={"*": {"cpu": "1500m"}})))["cpu"] >= 1500


class TestTortoise:
    """The HPA that it edits gets the minimum."""

    def world(self, needs=(10_000,), *, annotations=None, **more):
        return tortoise_world.World(
            tortoise=tortoise_world.tortoise(annotations=annotations or {}, autoscalingPolicy=tortoise_world.BY_CPU),
            replicas=6,
            **{"state": tortoise_world.known(needs), **more},
        )

    def test_the_minimum_is_planned(self):
        here = self.world(annotations=plan(minReplicas=14, at=tortoise_world.NOW))
        assert tortoise_world.bounds(here.step(60)) == (14, 28)
        here.now += HOUR
        assert tortoise_world.bounds(here.step(60)) == (5, 20)

    @pytest.mark.parametrize(
        ("planned", "largest", "expected"),
        [(18, "10", (18, 30)), (28, "10", (28, 30)), (35, "10", (35, 35)), (18, "1", (18, 36)), (30, "1", (30, 60))],
    )
    def test_the_maximum_follows(self, planned, largest, expected):
        """As long as pods may grow instead, no further than the preferred count."""
        most = tortoise_world.settings_by({"maximum_cpu_request": largest})
        here = self.world(annotations={**plan(minReplicas=planned, at=tortoise_world.NOW), **most})
        assert tortoise_world.bounds(here.decided()) == expected

    @pytest.mark.parametrize(("name", "most"), [("mine", 12), (tortoise_world.NAME, 100)])
    def test_it_holds_while_data_is_gathered(self, name, most):
        """Then the minimum of the HPA comes back as it was."""
        here = self.world(
            annotations=plan(minReplicas=9, at=tortoise_world.NOW),
            state=State(),
            hpa=tortoise_world.hpa(4, 12, name=name),
        )
        if name == "mine":
            here.tortoise["spec"]["targetRefs"]["horizontalPodAutoscalerName"] = name
        found = []
        for seconds in (60, HOUR, 60):
            decision = here.step(seconds)
            found.append(tortoise_world.bounds(decision))
        assert found == [(9, most), (9, most), (4, most)]

    @pytest.mark.parametrize(
        ("planned", "spec", "expected", "text"),
        [
            ({"minReplicas": 9}, {"cpu": "Vertical"}, ("False", "NoEffect"), "no resource is Horizontal"),
            ({"minReplicas": 900}, {}, ("True", "InForce"), "there may be 100 replicas at most"),
            ({"minAllowed": {"app": {"cpu": "2"}}}, {"cpu": "Off"}, ("False", "NoEffect"), "cpu of app is Off"),
            ({"minAllowed": {"no": {"cpu": "2"}}}, {}, ("False", "NoEffect"), "the pods have no container no"),
            ({"minAllowed": {"app": {"cpu": "20"}}}, {}, ("True", "InForce"), "cpu of app may be 10 at most"),
            (
                {"minReplicas": 9, "minAllowed": {"*": {"memory": "2Gi"}}},
                {},
                ("True", "InForce"),
                "memory of app is Off",
            ),
        ],
    )
    def test_what_has_no_effect_is_said(self, planned, spec, expected, text):
        here = self.world(annotations=plan(at=tortoise_world.NOW, **planned))
        here.tortoise["spec"]["autoscalingPolicy"] = [tortoise_world.policy(**{"cpu": "Horizontal", **spec})]
        decision = here.decided()
        assert conditions(decision)["Scheduled"] == expected
        assert text in decision.steps[0].sentence

    def test_sizes_while_data_is_gathered(self):
        """They need nothing that is learned: pods get what is planned, up to what they may have."""
        least = {"app": {"cpu": "2", "memory": "3Gi"}}
        here = self.world(annotations=plan(minAllowed=least, at=tortoise_world.NOW), state=State())
        here.tortoise["spec"] |= {
            "autoscalingPolicy": [tortoise_world.policy(memory="Vertical")],
            "resourcePolicy": [tortoise_world.least(most={"cpu": "1500m"})],
        }
        decision = here.decided()
        assert (tortoise_world.cpu(decision), tortoise_world.memory(decision)) == (1500, 3072)

    def test_an_event_does_not_shrink_pods(self):
        """The count that is planned is not the one at which pods shrink."""
        here = self.world(annotations=plan(minReplicas=6, at=tortoise_world.NOW), demand={"app": 700})
        assert tortoise_world.cpu(here.decided()) == 1000
