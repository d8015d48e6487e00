"""The bounds of the HPA: from what each slot of the week needed, and from the people who bound them."""

from dataclasses import replace

import pytest

from hypot.policy.model.learned import SlotLayout
from hypot.policy.model.settings import Settings
from hypot.policy.model.state import State
from unit.policy.sizes_world import DAY, HOUR, NOW, sentences
from unit.policy.tortoise.tortoise_world import (
    BY_CPU,
    PREFIX,
    WEEK,
    World,
    bounds,
    hpa,
    known,
    learned,
    phase,
    policy,
    settings_by,
    tortoise,
)

BY_REPLICAS = tortoise(autoscalingPolicy=BY_CPU)


def world(needs, *, annotations=None, spec=None, **more):
    one = tortoise(annotations=settings_by(annotations or {}), autoscalingPolicy=BY_CPU, **(spec or {}))
    return World(tortoise=one, **{"state": known(needs), "replicas": 6, **more})


@pytest.mark.parametrize(
    ("needs", "expected"),
    [
        # The published numbers.
        ([8000, 10_000, 6000, 9000], (5, 20)),
        # A week later the 10 has left.
        ([8000, 10_000, 6000, 9000, 5000, 5000], (5, 18)),
        # Half of 9 is rounded up once.
        ([9000], (5, 18)),
        ([8500], (5, 17)),
        # The administrator's minimum, with room above it.
        ([1000], (3, 6)),
        ([1], (3, 6)),
        # The largest minimum, and the maximum.
        ([29_000], (10, 58)),
        ([90_000], (10, 100)),
    ],
)
def test_slots_become_bounds(needs, expected):
    """Twice and half of the highest need of the last four weeks, at one core per pod."""
    unheld = {"maximum_cpu_request": 1}
    assert bounds(world(needs, annotations=unheld).decided()) == expected


def test_through_all_passes():
    """One slot a day, weeks of 8, 10, 6, 9 and then 5 replicas, decided once a day."""
    one = tortoise(annotations=settings_by({"slot_hours": 24}), autoscalingPolicy=BY_CPU)
    here = World(tortoise=one, state=State(), hpa=None, replicas=6)
    found = []
    for needed in (8, 10, 6, 9, 5, 5):
        found.append(bounds(here.decided()))
        here.demand = {"app": needed * 700}
        for _ in range(7):
            here.step(DAY)
        here.demand = {"app": 700}
    # What is needed at each beginning of a week is little, so the week before decides.
    assert found == [(3, 100), (4, 16), (5, 20), (5, 20), (5, 20), (5, 20)]
    assert bounds(here.decided()) == (5, 18)


def test_need_counts_and_not_replicas():
    """A workload that is held at its minimum or its maximum needs what it uses: bounds can fall, and do not ratchet."""
    one = tortoise(annotations=settings_by({"slot_hours": 24}), autoscalingPolicy=BY_CPU)
    here = World(tortoise=one, state=State(), hpa=hpa(16, 32), replicas=16, demand={"app": 2800})
    for _ in range(8):
        here.step(DAY)
    assert bounds(here.decided()) == (3, 8)


def test_a_larger_size_misreads_nothing():
    """What is kept is cores: at two cores per pod half as many replicas are needed."""
    here = world([10_000], sizes={"app": {"cpu": 2000}})
    assert bounds(here.decided()) == (3, 10)


def test_memory_may_be_what_replicas_follow():
    """It is counted in mebibytes."""
    one = tortoise(autoscalingPolicy=[{"containerName": "app", "policy": {"memory": "Horizontal", "cpu": "Off"}}])
    here = World(
        tortoise=one,
        state=known([10 * 1024], place="app/memory", places=("app/memory",)),
        replicas=6,
        hpa=hpa(
            3,
            20,
            {
                "type": "ContainerResource",
                "containerResource": {
                    "name": "memory",
                    "container": "app",
                    "target": {"type": "Utilization", "averageUtilization": 70},
                },
            },
        ),
    )
    decision = here.decided()
    assert bounds(decision) == (5, 20)
    assert sentences(decision, "slot") == [
        "Friday 8:00 to 9:00 needed at most 10Gi of memory in the last 4 weeks: 5 to 20 replicas."
    ]


@pytest.mark.parametrize(
    ("annotations", "spec", "expected"),
    [
        ({}, {"maxReplicas": 12}, (5, 12)),
        ({}, {"maxReplicas": 4}, (4, 4)),
        ({}, {"maxReplicas": 1}, (1, 1)),
        ({"maximum_max_replicas": 15}, {"maxReplicas": 18}, (5, 14)),
        ({"maximum_max_replicas": 15, "maximum_cpu_request": 1}, {"maxReplicas": 18}, (5, 15)),
        ({"minimum_min_replicas": 8, "maximum_min_replicas": 9}, {}, (8, 20)),
        ({"maximum_min_replicas": 4}, {}, (4, 20)),
        ({"max_replicas_multiplier": "1.5", "min_replicas_multiplier": "1"}, {}, (10, 15)),
        ({"minimum_min_replicas": 12, "maximum_min_replicas": 13}, {"maxReplicas": 6}, (6, 6)),
    ],
)
def test_who_else_bounds_them(annotations, spec, expected):
    """The spec's and the administrator's maximum hold, and the minimum never exceeds the maximum."""
    assert bounds(world([10_000], annotations=annotations, spec=spec).decided()) == expected


def test_the_namespace_and_then_the_object_override():
    """A value that cannot be read is ignored."""
    by_namespace = settings_by({"maximum_min_replicas": 4, "maximum_max_replicas": 17, "maximum_cpu_request": 1})
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "annotations": by_namespace}}
    here = world([10_000], more=(namespace,))
    assert bounds(here.decided()) == (4, 17)
    here.tortoise = tortoise(
        annotations=settings_by({"maximum_max_replicas": 15, "maximum_min_replicas": "many"}), autoscalingPolicy=BY_CPU
    )
    assert bounds(here.decided()) == (4, 15)


def test_annotations_that_are_not_text_are_ignored():
    """A file may have them; the API server would not."""
    written = {
        7: "seven",
        **settings_by({"maximum_max_replicas": 15, "maximum_cpu_request": 1}),
        f"{PREFIX}maximum-min-replicas": 4,
    }
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "annotations": written}}
    assert bounds(world([10_000], more=(namespace,)).decided()) == (5, 15)


def test_the_administrator_may_write_them():
    """In the settings file, for all Tortoises."""
    setup = Settings.from_dict({"tortoise": {"maximumMinReplicas": 4, "timeZone": "Asia/Tokyo"}})
    here = World(
        tortoise=BY_REPLICAS, state=known([10_000], layout=SlotLayout(zone="Asia/Tokyo")), replicas=6, settings=setup
    )
    decision = here.decided()
    assert bounds(decision) == (4, 20)
    assert sentences(decision, "slot") == [
        "Friday 17:00 to 18:00 Asia/Tokyo needed at most 10 of cpu in the last 4 weeks: 4 to 20 replicas."
    ]


def weekdays(at):
    """Only Monday to Thursday are known, with more by the day."""
    day = int((at - NOW) // DAY) % 7
    return {3: 4000, 4: 5000, 5: 6000, 6: 7000}.get(day, "unmeasured")


def test_an_empty_slot_takes_its_neighbours():
    """Friday has no history: other weekdays at this time do, and it says so."""
    decision = world([weekdays]).decided()
    assert bounds(decision) == (4, 14)
    assert sentences(decision, "slot") == [
        (
            "Friday 8:00 to 9:00 has no history. Monday 8:00 to 9:00, Tuesday 8:00 to 9:00, Wednesday 8:00 to 9:00 and "
            "1 more needed at most 7 of cpu in the last 4 weeks: 4 to 14 replicas."
        )
    ]


def test_a_history_that_is_older_than_four_weeks():
    """The last healthy value stays; the message does not call it recent."""
    [sentence] = sentences(world([8000, *["unmeasured"] * 5], demand={"app": 70}).decided(), "slot")
    assert sentence == (
        "Friday 8:00 to 9:00 needed at most 8 of cpu more than 4 weeks ago, and nothing newer is known: "
        "4 to 16 replicas."
    )


def test_the_slot_in_progress_counts():
    """A peak that was never seen before raises the bounds at once, and lowers them in four weeks."""
    here = world([4000], demand={"app": 7700}, replicas=12)
    assert bounds(here.step(60)) == (6, 22)
    here.demand = {"app": 700}
    assert bounds(here.step(HOUR)) == (6, 22)
    assert bounds(here.step()) == (3, 8)
    here.now += WEEK - HOUR
    assert bounds(here.step()) == (6, 22)


@pytest.mark.parametrize(
    "changed", [{"slot_hours": 2}, {"slot_period": "daily"}, {"time_zone": "Asia/Tokyo"}, {"window_weeks": 2}]
)
def test_other_slots_keep_what_was_learned(changed):
    """Each has what the former ones at its time needed: an administrator who changes a setting loses no replicas."""
    here = world([10_000], annotations=changed, hpa=hpa(4, 9), demand={"app": 700})
    decision = here.step()
    assert bounds(decision) == (5, 20)
    assert sentences(decision, "other-slots") == [
        "The slots have changed: each has what the former ones at its time needed."
    ]
    for _ in range(8):
        assert bounds(here.step(DAY)) == (5, 20)
        assert phase(here.decided()) == "Working"


@pytest.mark.parametrize("changed", [{}, {"slot_hours": 2}, {"window_weeks": 5}, {"time_zone": "Asia/Tokyo"}])
@pytest.mark.parametrize("forgets", [False, True])
def test_a_day_after_a_night_in_which_everything_changed(changed, forgets):
    """A change or a lost state at 3:00, where 3 to 6 replicas are enough: by day there is room for 20."""
    night = NOW - 5 * HOUR
    needs = [lambda at: 20_000 if 8 <= at % DAY / HOUR < 20 else 2000] * 4
    here = world(needs, state=known(needs, until=night), now=night, replicas=3, demand={"app": 1400}, hpa=None)
    assert bounds(here.step(60)) == (3, 6)
    here.tortoise = tortoise(annotations=settings_by(changed), autoscalingPolicy=BY_CPU)
    here.state = State() if forgets else here.state
    here.step(60)
    here.now, here.demand = NOW + HOUR, {"app": 14_000}
    for _ in range(8):
        here.step(60)
        here.follow()
    assert here.replicas >= 19


@pytest.mark.parametrize(("low", "high"), [(3, 6), (5, 9), (40, 60), (120, 150)])
def test_its_own_hpa_begins_with_the_bounds_of_the_first_day(low, high):
    """Whatever another controller, another hour or a lost state left in it; its minimum is not lowered."""
    here = world([], state=State(), hpa=hpa(low, high))
    assert bounds(here.step(60)) == (max(3, min(low, 100)), 100)
    assert bounds(here.step(60)) == (max(3, min(low, 100)), 100)


def test_a_named_hpa_stays_as_it_is_found():
    """Its bounds are people's; that its pods are saturated at its maximum is reported."""
    here = World(
        tortoise=tortoise(autoscalingPolicy=BY_CPU, refs={"horizontalPodAutoscalerName": "mine"}),
        state=State(),
        hpa=hpa(3, 6, name="mine"),
        replicas=6,
        demand={"app": 6000},
        limits={"app": {"cpu": 1000}},
    )
    before = here.hpa["spec"]
    for _ in range(3):
        decision = here.step(60)
    assert here.hpa["spec"] == before
    assert sentences(decision, "saturated-while-gathering") == [
        (
            "Pods are saturated at the maximum of 6 in HorizontalPodAutoscaler mine: raise it. It stays as it is until "
            "something is learned."
        )
    ]


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"measured": 2}, "unmeasured"),
        ({"measured": 0}, "unmeasured"),
        (
            {
                "pod_status": {
                    "conditions": [{"type": "Ready", "status": "False"}],
                    "containerStatuses": [
                        {
                            "name": "app",
                            "restartCount": 9,
                            "lastState": {"terminated": {"finishedAt": "2027-01-15T07:59:00Z", "reason": "Error"}},
                        }
                    ],
                }
            },
            "crash-loop",
        ),
    ],
)
def test_history_that_lies_is_left_out(changes, rule):
    """Pods that crash or are not measured say nothing about what is needed (S14)."""
    here = world([8000], demand={"app": 500}, **changes)
    decision = here.step(HOUR)
    assert len(sentences(decision, rule)) == 1
    assert bounds(decision) == (4, 16)
    here.step()
    assert [each.reason for each in here.state.tortoise.learned[0].left_out] == [rule]
    here.now += WEEK - HOUR
    assert bounds(here.decided()) == (4, 16)


def test_unknown_needs_remove_nothing():
    """Half of the pods have no sample: neither is the minimum lowered, nor the maximum below what runs."""
    here = world([5000], demand={"app": 30_000}, replicas=35, measured=1, hpa=hpa(10, 40))
    assert bounds(here.decided()) == (10, 35)
    here.measured = 35
    assert bounds(here.decided())[1] >= 35


@pytest.mark.parametrize("measured", [0, 3])
def test_unknown_needs_remove_nothing_where_hypot_decides(measured):
    """With little learned, the maximum of 6 would remove 4 of 10 pods at once."""
    here = world([1000], replicas=10, measured=measured, hpa=None)
    here.tortoise["metadata"]["annotations"]["hypot.dev/decide"] = "true"
    for _ in range(40):
        decision = here.step(60)
        here.hpa = None
        assert decision.desired == 10
    assert decision.status["maxReplicas"] == 10


def test_unknown_needs_fall_to_the_maximum_of_the_spec():
    """People's maximum holds, whether or not metrics are there; the decision says why no more pods are removed."""
    here = world([1000], replicas=10, measured=0, hpa=None, spec={"maxReplicas": 8})
    here.tortoise["metadata"]["annotations"]["hypot.dev/decide"] = "true"
    assert here.decided().desired == 8


def test_a_new_hpa_while_needs_are_unknown():
    """It has room for all pods that run, and the minimum that was decided last."""
    here = world([1000], replicas=10, measured=2, hpa=None, state=known([1000], low=5))
    assert bounds(here.decided()) == (5, 10)


def test_back_to_normal_waits_until_needs_are_known():
    """Each step back lowers the minimum, so it needs to be known that nothing needs those pods."""
    here = world([1000], replicas=20, measured=0, hpa=hpa(20, 20), state=known([1000], phase="BackToNormal", low=20))
    for _ in range(3):
        assert bounds(here.step(60)) == (20, 20)
    here.measured = 20
    assert bounds(here.step(60)) == (19, 19)


def test_settings_that_are_ignored_are_reported():
    """As a step, and as a warning."""
    decision = world([10_000], annotations={"slot_hours": 5, "maximum_max_replicas": "many"}).decided()
    assert len(sentences(decision, "setting-ignored")) == 2
    assert [event.reason for event in decision.events].count("SettingIgnored") == 2


def test_settings_that_are_ignored_are_reported_once():
    """The message says once that it is ignored, and which other setting is the reason."""
    decision = world([10_000], annotations={"preferred_max_replicas": 3}).decided()
    [sentence] = sentences(decision, "setting-ignored")
    assert sentence == (
        "metadata.annotations.hypot.dev/tortoise-preferred-max-replicas: minimum-min-replicas 3 must be below "
        "preferred-max-replicas, which is 3: it is ignored."
    )


def test_a_low_maximum_of_an_object():
    """It holds, although it is not above the administrator's minimum."""
    assert bounds(world([20_000], annotations={"maximum_max_replicas": 3}).decided()) == (3, 3)


def test_pods_that_have_just_started_need_nothing():
    """The samples of the others still show the whole demand: a scale-up does not raise what is learned."""
    here = world([2000], demand={"app": 2800}, replicas=7, started=3)
    assert bounds(here.step(HOUR)) == (3, 8)
    here.started = 0
    assert bounds(here.step(HOUR)) == (3, 8)


def test_a_saturated_slot_is_left_out():
    """At its maximum usage shows what pods can get, not what they need: the cap does not double each week (S14)."""
    here = world(
        [3000],
        annotations={"maximum_cpu_request": 1},
        spec={"maxReplicas": 6},
        hpa=hpa(3, 6),
        demand={"app": 6000},
        limits={"app": {"cpu": 1000}},
    )
    for _ in range(9):
        decision = here.step(360)
    assert sentences(decision, "saturated") == [
        "What is needed now is unknown and not learned: cpu of app is saturated at the maximum of 6 replicas."
    ]
    here.demand, here.replicas = {"app": 700}, 3
    here.step(WEEK)
    here.tortoise = BY_REPLICAS
    assert bounds(here.decided()) == (3, 6)


def test_all_weeks_are_excluded():
    """The last healthy value stays, however long ago it was (S14)."""
    here = world([8000, "saturated", "crash-loop", "unmeasured", "no-pods", "unmeasured"], measured=0)
    assert bounds(here.decided()) == (4, 16)


def test_no_pods_keep_everything():
    """A workload that is scaled to zero learns nothing and changes nothing."""
    here = world([8000], replicas=0, demand={})
    decision = here.step()
    assert decision.desired == 0
    assert not decision.moves
    assert bounds(decision) == (4, 16)


def test_status_lists_every_slot():
    """In the form of the original: what is unknown has the value 0."""
    needs = [lambda at: 8000 if (at - NOW) // DAY % 7 == 0 else "unmeasured"]
    found = world(needs).decided().status["recommendations"]["horizontal"]
    assert len(found["minReplicas"]) == len(found["maxReplicas"]) == 168
    slot = {"from": 8, "to": 9, "weekday": "Friday", "timezone": "UTC"}
    assert {**slot, "value": 4} in found["minReplicas"]
    assert {**slot, "value": 16} in found["maxReplicas"]
    assert {**slot, "weekday": "Sunday", "value": 0} in found["maxReplicas"]


def test_a_new_container_does_not_start_over():
    """Whatever its name is: what is known of the others stays."""
    here = world([8000], sizes={"aaa": {"cpu": 100}, "app": {"cpu": 1000}}, demand={"aaa": 60, "app": 700})
    here.tortoise = tortoise()
    decision = here.step()
    assert bounds(decision) == (4, 16)
    assert {each.place: each.known() for each in here.state.tortoise.learned} == {"aaa/cpu": 0, "app/cpu": 168}


BOTH = ("app/cpu", "side/cpu")


def learned_both(app, side):
    """A state in which app and side needed so many millicores in every slot."""
    found = known([app], places=BOTH)
    one, _ = found.tortoise.learned
    tables = (one, replace(learned([side], place="side/cpu"), tally=None))
    return found._replace(tortoise=replace(found.tortoise, learned=tables))


@pytest.mark.parametrize(
    ("app", "side", "expected"),
    [
        # 8 pods of app and 4 of side; 4 of app and 12 of side; with app at half or twice its size; the same of side.
        ((8000, 1000), (800, 200), (4, 16)),
        ((4000, 1000), (2400, 200), (6, 24)),
        ((4000, 500), (2400, 200), (6, 24)),
        ((4000, 2000), (2400, 200), (6, 24)),
        ((4000, 1000), (2400, 400), (3, 12)),
        ((4000, 320), (2400, 200), (7, 25)),
    ],
)
def test_each_container_is_learned_in_its_own_unit(app, side, expected):
    """The one that asks for most pods counts, at today's sizes: a change of one size misreads nothing."""
    sizes = {"app": {"cpu": app[1]}, "side": {"cpu": side[1]}}
    both = tortoise(autoscalingPolicy=[policy(), policy("side")])
    state = learned_both(app[0], side[0])
    here = World(sizes=sizes, demand={"app": 70, "side": 7}, tortoise=both, state=state, replicas=2)
    decision = here.step()
    assert bounds(decision) == expected
    [text] = sentences(decision, "slot")
    most = "app" if app[0] / app[1] > side[0] / side[1] else "side"
    assert f" of cpu of {most} in the last 4 weeks" in text
    status = decision.status["recommendations"]["horizontal"]
    assert {each["value"] for each in status["minReplicas"]} == {expected[0]}
    assert {each["value"] for each in status["maxReplicas"]} == {expected[1]}


def test_a_container_that_is_horizontal_no_more_is_forgotten():
    """What was learned about the other stays, also across a restart."""
    here = world((), sizes={"app": {"cpu": 1000}, "side": {"cpu": 200}}, demand={"app": 700, "side": 70})
    here.tortoise, here.state = tortoise(autoscalingPolicy=[policy(), policy("side")]), learned_both(8000, 2400)
    assert bounds(here.step()) == (6, 24)
    assert State.from_dict(here.state.to_dict()).tortoise == here.state.tortoise
    here.tortoise = tortoise(autoscalingPolicy=[policy(), policy("side", cpu="Vertical")])
    assert bounds(here.step()) == (4, 16)
    assert [each.place for each in here.state.tortoise.learned] == ["app/cpu"]


def test_a_vanished_request_changes_nothing():
    """Pods without requests have no utilization: nothing follows from them, and the HPA and what is known stay."""
    here = world([8000], sizes={"app": {}}, hpa=hpa(4, 9))
    decision = here.step()
    assert decision.hpa is None
    assert decision.desired == 6
    assert "horizontal" not in decision.status["recommendations"]
    here.sizes = {"app": {"cpu": 1000}}
    assert bounds(here.step(WEEK)) == (4, 16)
    assert bounds(here.step()) == (4, 16)
