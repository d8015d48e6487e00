"""The numeric step of an Hvpa: what it covers, its past, its plans, and cases that whole replays do not reach."""

from math import inf
from typing import Any, NamedTuple
from unittest.mock import patch

import pytest

from builders import hvpa_decided
from hypot.core.sizes.disruption import PATIENCE
from hypot.kinds.hpa.fields import cpu, external
from hypot.kinds.hvpa import Hvpa
from hypot.kinds.hvpa.fields import Change, ResourceChanges, interval
from hypot.kinds.vpa.fields import ContainerPolicy
from hypot.policy.model.settings import Settings
from hypot.policy.model.state import RecentUse, Recount, State, Vertical
from hypot.replay.numbers import plan as planning
from hypot.replay.numbers.hvpa import (
    ask_metrics,
    hvpa_act,
    hvpa_moved,
    hvpa_step,
    is_held,
    no_hvpa_past,
    record_current_size,
)
from hypot.replay.numbers.hvpa_resolve import has_one_size
from hypot.replay.numbers.hvpa_rule import rule_of, state_of
from hypot.replay.numbers.plan import begin_plan, is_bound, no_plan, pursue_plan
from hypot.replay.world.cohorts import SERVING, STOPPING
from hypot.replay.world.parameters import ResizeParameters, World
from property.replay_worlds import GIB, NAMES, Place

CALM = interval(8, cpu="2", memory="2Gi")


class Known(NamedTuple):
    """What a recommender recommends."""

    target: Any


def hvpa(*intervals, **more):
    return Hvpa("deployment/web", intervals=intervals or [CALM], **more)


def rule(written):
    return rule_of(written, "app", None, NAMES, Settings())


def step(place, past, target, written=None, *, blind=False):
    """One decision after the last tick."""
    made = rule(written or hvpa(use_hpa=False))
    return hvpa_step(made, past, Known(target), place.c, place.s, place.p, place.i - 1, place.now, blind)


def settled(**workload):
    place = Place(**workload)
    place.ticks(10, 0.5)
    return place


class TestCover:
    """There is no rule where only the whole decision can be used."""

    def test_an_ordinary_one(self):
        """Metrics and sizes are used, and the counts range from the first interval to the last."""
        made = rule(hvpa(min_replicas=2))
        assert (made.by_metrics, made.by_usage, made.first, made.last, made.cpu.counts) == (True, True, 2, 8, 7)

    @pytest.mark.parametrize(
        "written",
        [
            hvpa(annotations={"hypot.dev/recommendations": "objects"}),
            hvpa(containers=[ContainerPolicy("app", "Off")]),
            hvpa(metrics=[external("unknown", value="1")]),
            hvpa(metrics=[cpu(utilization=50, container="beside")]),
            hvpa(base=ResourceChanges(Change(None, 10_001))),
            hvpa(limits_gap=ResourceChanges(None, Change(2**43 + 1))),
            Hvpa.from_dict({"metadata": {"name": "web"}, "spec": {"weightBasedScalingIntervals": [{}]}}),
            Hvpa.from_dict({"metadata": {"name": "web"}, "spec": {}}),
        ],
        ids=["objects", "off", "metric", "container", "percent", "amount", "weights", "refused"],
    )
    def test_what_is_not_covered(self, written):
        """Each case is not covered for a reason of its own."""
        assert rule(written) is None

    @pytest.mark.parametrize(("limit", "most"), [(600, 600), (None, 1000)])
    def test_a_limit_that_is_fixed(self, limit, most):
        """No pod requests more cpu than its limit."""
        only = ContainerPolicy("app", controlled_values="RequestsOnly")
        made = Hvpa("deployment/web", intervals=[interval(3, cpu="1", memory="2Gi")], containers=[only])
        made = rule_of(made, "app", limit, NAMES, Settings())
        assert (made.cpu.mosts, made.cpu.ceiling) == ([most] * 3, 3 * most)
        assert made.memory.ceiling == 6 * GIB

    def test_all_counts_of_a_large_maximum(self):
        """Each count has its interval, up to the largest maximum that an Hvpa may have."""
        made = rule(hvpa(interval(10_000, cpu="2", memory="2Gi")))
        assert (made.last, made.cpu.counts, len(made.pinned_at)) == (10_000, 10_000, 10_000)

    def test_counts_before_the_first(self):
        """They have one size where the first interval has one, as `only_counts_at` says."""
        made = rule(hvpa(interval(3, cpu="1", memory="1Gi", extrapolation="horizontalOnly"), CALM, min_replicas=2))
        assert [has_one_size(made, count) for count in (1, 2, 3, 4, 8, 9)] == [True, True, True, False, False, False]


class TestPast:
    """The past has the same content in both forms."""

    def test_none_yet(self):
        """It is the state with which decisions start."""
        assert state_of(no_hvpa_past(), "app") == State()

    def test_all_of_it(self):
        """Times that never occurred and values that were never measured are absent."""
        past = no_hvpa_past()
        past.last_scale[0], past.last_up[0], past.last_down[0], past.replicas[0] = 50.0, 40.0, 35.0, 3
        past.swings[0] = 2
        past.advice[0], past.hot[1] = 700, 45.0
        past.mean[0], past.mean_at[0], past.peak[0], past.peak_at[0] = 900.0, 50.0, 640.0, 20.0
        past.recount_at[0], past.recount_before[0], past.recount_after[0] = 30.0, 2, 3
        past.recount_advice[1] = GIB
        recount = Recount(30.0, 2, 3, {"app": {"memory": GIB}})
        recent = {"app/cpu": RecentUse(900.0, 50.0, 640.0, 20.0)}
        vertical = Vertical(40.0, 35.0, 2, 3, {"app": {"cpu": 700}}, recount, {"app/memory": 45.0}, recent)
        assert state_of(past, "app") == State(last_scale=50.0, vertical=vertical)

    @pytest.mark.parametrize(("target", "grows"), [([3000, GIB], True), ([100, GIB // 4], False)])
    def test_what_is_remembered_of_a_move(self, target, grows):
        """The time of the move, and whether something increased."""
        place, past = settled(), no_hvpa_past()
        assert step(place, past, target)
        hvpa_moved(rule(hvpa()), past, no_plan(), 99.0)
        assert (past.last_scale[0], past.last_up[0]) == (99.0, 99.0 if grows else -inf)
        assert past.last_down[0] == (-inf if grows else 99.0)


class TestStep:
    """Cases that replays seldom or never reach."""

    def test_zero_replicas(self):
        """They stay, and are not remembered as a count."""
        place, past = settled(), no_hvpa_past()
        place.scale(0)
        assert not step(place, past, [3000, GIB])
        assert (past.desired[0], past.replicas[0]) == (0, -1)

    def test_without_any_pod_the_template_counts(self):
        """Its size counts for all requested replicas."""
        place, past = settled(), no_hvpa_past()
        place.c.used[0] = 0
        assert record_current_size(past, place.c, place.s, 2) == -inf
        assert (past.request, past.limit, past.current_total) == ([1000, GIB], [1200, GIB], [2000, 2 * GIB])

    def test_no_recommendation(self):
        """Nothing changes, but the count is still remembered."""
        place, past = settled(), no_hvpa_past()
        assert not step(place, past, [-1, -1])
        assert (past.desired[0], past.replicas[0], past.advice) == (2, 2, [-1, -1])

    def test_pods_that_ask_for_nothing(self):
        """They have no total to multiply, so their metrics propose a count."""
        place, past = settled(), no_hvpa_past()
        past.current_total[0] = past.current_total[1] = 0
        made = rule(hvpa(metrics=[cpu(utilization=1)]))
        count, missing = ask_metrics(made, past, place.c, place.s, place.p, place.i - 1, place.now, blind=False)
        assert (count, missing, past.by_metrics) == (8, False, [-1, -1])

    def test_as_the_whole_decision(self):
        """One observation gives the same decision in both forms."""
        place, past = settled(), no_hvpa_past()
        written = hvpa(metrics=[cpu(utilization=5)], use_vpa=False)
        assert step(place, past, [-1, -1], written)
        whole, _ = hvpa_decided(written, place.scene.observer.seen(place.i - 1, place.now), State(), Settings())
        size = whole.desired_sizes[0]
        assert past.desired[0] == whole.desired
        assert past.size == [*size.requests.values(), *size.limits.values()]


def begun(place, replicas, cpu, *, in_place=True, resizes=True):
    """A plan from the current size of the pods to another size, of cpu alone, with its first step done."""
    plan, had = no_plan(), place.c.cpu[0]
    size = (cpu, GIB, cpu * 6 // 5, GIB)
    begin_plan(plan, place.c, place.s, place.p, in_place, replicas, *size, had, GIB, resizes, place.now)
    return plan


def pursue(place, plan, *, in_place=True, later=0.0):
    return pursue_plan(plan, place.c, place.s, place.p, in_place, place.now + later)


class TestPlan:
    """Increases come first, decreases only afterwards. A property test proves that a cluster does the same."""

    def test_replicas_before_smaller_pods(self):
        """Pods get smaller once the new pods serve."""
        place = settled()
        plan = begun(place, 4, 500)
        assert (plan.active[0], place.s.asked[0], place.s.template[0]) == (1, 4, 500)
        assert [place.c.next_cpu[k] for k in place.groups(SERVING)] == [1000]
        for _ in range(12):
            place.tick()
            pursue(place, plan)
        assert plan.active[0] == 0
        assert {place.c.cpu[k] for k in place.groups(SERVING)} == {500}

    def test_larger_pods_before_fewer(self):
        """Replicas are removed once all pods have their size; then the plan is done."""
        place = settled(replicas=4)
        plan = begun(place, 2, 2000)
        assert (plan.active[0], place.s.asked[0]) == (1, 4)
        place.ticks(2)
        assert pursue(place, plan)
        assert (plan.active[0], place.s.asked[0]) == (1, 2)
        assert not pursue(place, plan)
        assert plan.active[0] == 0

    def test_fewer_before_smaller_ones(self):
        """Pods that are removed are not resized first; new pods get the new size only afterwards."""
        place = settled(replicas=4)
        plan = begun(place, 2, 500)
        assert (place.s.asked[0], place.s.template[0]) == (2, 1000)
        assert [place.c.next_cpu[k] for k in place.groups(SERVING)] == [1000]
        assert pursue(place, plan)
        assert (place.s.template[0], [place.c.next_cpu[k] for k in place.groups(SERVING)]) == (500, [500])

    def test_without_resizes_in_place_pods_restart(self):
        """A quarter of them at once, at least one."""
        place = settled(replicas=8)
        begun(place, 8, 2000, in_place=False)
        assert (place.count(STOPPING), place.count(SERVING)) == (2, 6)

    @pytest.mark.parametrize(
        ("restarts", "in_place", "restarted"),
        [({"cpu"}, True, True), ({"memory"}, True, False), ((), True, False), ((), False, True)],
    )
    def test_when_pods_were_restarted(self, restarts, in_place, restarted):
        """By an eviction, or by a resize of a resource that needs it."""
        place = settled(replicas=8, restarts=restarts)
        plan = begun(place, 8, 2000, in_place=in_place)
        assert plan.restarted[0] == (place.now if restarted else -inf)

    def test_only_the_count(self):
        """It needs no plan, unless new pods would start with another size."""
        place = settled()
        assert begun(place, 4, 1000, resizes=False).active[0] == 0
        place.s.template[0] = 500
        assert begun(place, 6, 1000, resizes=False).active[0] == 1
        assert (place.s.asked[0], place.s.template[0]) == (6, 1000)

    def test_nothing_goes_while_others_are_too_small(self):
        """The count falls, but the pods are too small: they are enlarged first."""
        place = settled(replicas=4)
        place.c.cpu[0] = place.c.next_cpu[0] = 800
        plan = no_plan()
        here = (place.c, place.s, place.p, True)
        begin_plan(plan, *here, 2, 1000, GIB, 1200, GIB, 1000, GIB, False, place.now)  # noqa: FBT003
        assert (plan.active[0], place.s.asked[0], place.c.next_cpu[0]) == (1, 4, 1000)

    @pytest.mark.parametrize(
        ("proposal", "bound"),
        [
            ((4, 500, GIB), True),
            ((8, 250, GIB // 2), True),
            ((0, 0, 0), True),
            ((5, 500, GIB), False),
            ((4, 550, GIB), True),
            ((4, 551, GIB), False),
            ((4, 500, 12 * GIB // 10), False),
        ],
    )
    def test_a_proposal_waits_unless_it_needs_clearly_more_than_the_plan_gives(self, proposal, bound):
        """A proposal that needs more than a tenth more is not delayed."""
        assert not is_bound(no_plan(), *proposal)
        assert is_bound(begun(settled(), 4, 500), *proposal) == bound

    def test_a_resource_that_is_not_sized_is_not_compared(self):
        """More replicas need more memory, but this autoscaler does not size it, so the proposal waits."""
        plan, past = begun(settled(), 4, 500), no_hvpa_past()
        past.desired[0], past.size[0], past.size[1] = 5, 400, GIB
        only_cpu = hvpa(containers=[ContainerPolicy("app", controlled_resources=("cpu",))])
        assert is_held(rule(only_cpu), past, plan, moves=True)
        assert not is_held(rule(hvpa()), past, plan, moves=True)

    def test_more_than_the_plan_gives_ends_it(self):
        """Also where only the count differs: nothing of the plan is left to do."""
        place, past = settled(), no_hvpa_past()
        plan = begun(place, 4, 500)
        past.desired[0], past.resizes[0] = 9, 0
        past.request[0], past.request[1] = past.size[0], past.size[1] = 500, GIB
        past.size[2], past.size[3] = 600, GIB
        hvpa_act(rule(hvpa()), past, plan, place.c, place.s, place.p, True, place.now)  # noqa: FBT003
        assert (plan.active[0], place.s.asked[0]) == (0, 9)

    def test_another_client_scales(self):
        """Then the plan is dropped."""
        place = settled(replicas=4)
        plan = begun(place, 2, 2000)
        place.scale(3)
        assert not pursue(place, plan)
        assert (plan.active[0], place.s.asked[0]) == (0, 3)

    def test_patience_ends(self):
        """A plan without progress for too long is dropped, and the count stays."""
        place = Place(World(resize=ResizeParameters(takes=1e6)), replicas=4)
        place.tick()
        plan = begun(place, 2, 2000)
        pursue(place, plan, later=PATIENCE)
        assert plan.active[0] == 1
        pursue(place, plan, later=PATIENCE + 1)
        assert (plan.active[0], place.s.asked[0]) == (0, 4)

    @pytest.mark.parametrize("in_place", [True, False])
    def test_without_room_for_groups_nothing_is_done(self, in_place):
        """Neither at the start nor later: another engine takes over."""
        place = settled()
        with patch.object(planning, "has_place", lambda *_: False):
            begun(place, 4, 500, in_place=in_place)
            assert (place.s.asked[0], place.s.template[0]) == (2, 1000)
            plan = begun(place, 1, 2000, in_place=in_place)
            place.tick()
            pursue(place, plan, in_place=in_place)
        assert (plan.active[0], place.count(SERVING)) == (1, 2)
