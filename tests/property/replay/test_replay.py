"""What holds for every replay of any world, load and policy."""

import numpy as np
import yaml
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from hypot.kinds.hvpa import Hvpa
from hypot.kinds.vpa import VPA
from hypot.replay.engine.deciders import NEVER
from hypot.replay.engine.engine import merges, replay
from hypot.replay.score.families import least_cost, requested_of
from hypot.replay.score.needed import cost_of_sums
from hypot.replay.score.scores import account_of, needed_by, score
from hypot.replay.score.sums import sums_of
from hypot.replay.world.cohorts import SERVING, STARTING, WAITING
from hypot.replay.world.params import SMALL
from hypot.replay.world.tick import cap_of
from property.replay_worlds import ALWAYS, GAPS, Looking, cases, held_conservation, hpas, played, wpas
from property.vertical_worlds import hvpas

# Hypothesis takes minutes to shrink a world, and the result is hardly smaller.
FOUND = {
    "deadline": None,
    "phases": (Phase.explicit, Phase.reuse, Phase.generate),
    "suppress_health_check": (HealthCheck.too_slow, HealthCheck.data_too_large),
}
often = settings(max_examples=30, **FOUND)
seldom = settings(max_examples=8, **FOUND)

HVPA = """
apiVersion: autoscaling.k8s.io/v1alpha1
kind: Hvpa
metadata: {name: web}
spec:
  targetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  scalingIntervals:
  - {maxReplicas: 2, maxResources: {cpu: 500m, memory: 1Gi}}
  - {maxReplicas: 6, maxResources: {cpu: "4", memory: 8Gi}}
  hpa:
    deploy: true
    template:
      spec:
        minReplicas: 2
        maxReplicas: 6
        metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 75}}}]
  vpa: {deploy: true, template: {metadata: {annotations: {hypot.dev/cpu-half-life: 10m}}}}
"""
modes = st.sampled_from(["Off", "Initial", "Recreate", "InPlaceOrRecreate", "InPlaceOrRecreate"])
vpas = modes.map(lambda mode: VPA("deployment/web", mode=mode, annotations={"hypot.dev/cpu-half-life": "10m"}))
one_hpa, one_wpa = st.tuples(hpas()), st.tuples(wpas())
horizontal = st.one_of(one_hpa, one_wpa)
beside = st.one_of(st.tuples(hpas(), vpas), st.tuples(vpas, hpas()))
anyone = st.one_of(
    st.just(()),
    one_hpa,
    one_wpa,
    st.tuples(wpas(annotations={"hypot.dev/urgent": "true"})),
    st.tuples(vpas),
    st.tuples(wpas(), vpas),
    st.just((Hvpa.from_dict(yaml.safe_load(HVPA)),)),
)


def play(case, **how):
    return played(case.policy, case.load, case.world, settings=case.settings, **how)


def run(case, explained=NEVER):
    return replay(case.policy, "web", case.load, case.world, case.settings, explained)


def assert_same(one, other, rel=0.0, least=0.0):
    for name, here, there in zip(one._fields, one, other, strict=True):
        assert np.allclose(here, there, rtol=rel, atol=least), name


def assert_decided_in_full(case, **near):
    """Every numeric step is compared with the full decision from the same state; then whole runs are compared."""
    numeric, _ = play(case, explained=ALWAYS)
    whole, _ = play(case, whole=True)
    assert_same(numeric, whole, **near)


class TestDecisions:
    """The engine has no copy of a rule that differs."""

    @often
    @given(cases(one_hpa))
    def test_of_an_hpa(self, case):
        """Metrics of all kinds, with and without behavior."""
        assert_decided_in_full(case)

    @often
    @given(cases(one_wpa))
    def test_of_watermarks(self, case):
        """Every field of the kind is used."""
        assert_decided_in_full(case)

    @often
    @given(cases(horizontal, skews=(0.2, 1.0)))
    def test_where_one_replica_gets_more(self, case):
        """That replica is a group by itself."""
        assert_decided_in_full(case)

    @often
    @given(cases(horizontal, gaps=GAPS))
    def test_where_metrics_have_gaps(self, case):
        """At the start and later."""
        assert_decided_in_full(case)

    @often
    @given(cases(beside, in_place=(True,)))
    def test_next_to_a_vpa(self, case):
        """Its resizes may be under way, or wait for room."""
        assert_decided_in_full(case, rel=1e-9, least=1e-9)

    @often
    @given(
        cases(st.one_of(horizontal, horizontal, st.tuples(hvpas()))).filter(lambda one: merges(one.policy, one.world))
    )
    def test_counting_equal_pods_together_changes_nothing(self, case):
        """Decisions and figures are the same; where memory has no effect, small amounts of it are left out."""
        merged, apart = (play(case, merging=how)[0] for how in (True, False))
        little = SMALL * float(apart.pods.max())
        assert np.allclose(merged.used_memory, apart.used_memory, rtol=1e-9, atol=little)
        blank = np.zeros(len(apart.at))
        assert_same(merged._replace(used_memory=blank), apart._replace(used_memory=blank), rel=1e-9, least=1e-6)


def seen_of_pods(scene, _i, _now):
    """Requests of cpu and memory, caps, whether memory is within its limits, and the smallest group."""
    c, p = scene.c, scene.p
    there = [k for k in range(c.used[0]) if c.life[k] != WAITING]
    limited = [k for k in there if c.life[k] in {SERVING, STARTING} and c.memory_limit[k] >= 0]
    return (
        sum(c.count[k] * c.cpu[k] / 1000.0 for k in there),
        sum(c.count[k] * c.memory[k] for k in there),
        sum(c.count[k] * cap_of(c, p, k) for k in there),
        all(c.heap[k] <= c.memory_limit[k] for k in limited),
        min([c.count[k] for k in range(c.used[0])], default=1),
    )


def check_no_request_is_forgotten(case, ticks):
    """What comes and what waited is served, lost, or waits, in every tick."""
    assert held_conservation(ticks, case.world.tick) < 1e-9


def check_no_request_counts_twice(case, ticks):
    """Answered late or lost: together no more than came, at any time."""
    assert np.all(ticks.late_lost <= ticks.lost * (1 + 1e-9))
    late = np.cumsum(ticks.late * ticks.requests * case.world.tick - ticks.late_lost)
    came = np.cumsum(ticks.requests * case.world.tick)
    assert np.all(late >= -1e-6 * came)
    assert np.all(late + np.cumsum(ticks.lost) <= came * (1 + 1e-6))


def check_no_pod_does_what_it_cannot(case, ticks, seen):
    """Usage stays below the cap, memory below its limit or the pod is killed, and every pod is paid for."""
    cpu, memory, caps, within, counts = (np.array(column) for column in zip(*seen, strict=True))
    assert np.allclose(ticks.cpu, cpu, rtol=1e-12)
    assert np.allclose(ticks.memory, memory, rtol=1e-12)
    assert np.all(ticks.used_cpu <= caps * (1 + 1e-12) + 1e-12)
    assert within.all()
    assert counts.min() > 0
    paid = cost_of_sums(ticks.cpu.sum(), ticks.memory.sum(), case.world)
    assert np.isclose(paid, cost_of_sums(cpu.sum(), memory.sum(), case.world))


def check_every_figure_is_a_number(case, ticks):
    """None is negative, shares are at most one, and ready pods exist."""
    for name, column in zip(ticks._fields, ticks, strict=True):
        assert np.isfinite(column).all(), name
        assert (column >= 0).all(), name
    assert np.all(ticks.ready <= ticks.pods)
    assert np.all(ticks.capped <= ticks.ready)
    assert np.all(ticks.late <= 1 + 1e-12)
    assert np.all(ticks.ready_cpu <= ticks.cpu + 1e-9)
    assert np.all(ticks.latency[ticks.ready > 0] >= case.world.service.work * (1 - 1e-12))


def check_replicas_stay_within_their_bounds(case, ticks):
    """This holds from the first decision on."""
    (spec,) = case.policy.autoscalers
    decided = ticks.replicas[int(np.ceil(case.settings.sync_period / case.world.tick)) :]
    assert np.all((decided >= spec.min_replicas) & (decided <= spec.max_replicas))


def names_of_pods(scene, _i, _now):
    return [name for k in range(scene.c.used[0]) for name in scene.observer.names(k)]


class TestConservation:
    @often
    @given(cases(anyone, skews=(0.0, 0.0, 0.4)))
    def test_any_policy(self, case):
        """One replay serves all checks."""
        watcher = Looking(seen_of_pods)
        ticks, _ = play(case, watcher=watcher)
        check_no_request_is_forgotten(case, ticks)
        check_no_request_counts_twice(case, ticks)
        check_no_pod_does_what_it_cannot(case, ticks, watcher.found)
        check_every_figure_is_a_number(case, ticks)

    @often
    @given(cases(horizontal, skews=(0.0, 0.3)))
    def test_all_observed_pods_have_unique_names(self, case):
        """Otherwise one pod would hide another; counts stay within the bounds."""
        look = Looking(names_of_pods)
        ticks, _ = play(case, watcher=look)
        assert all(len(names) == len(set(names)) for names in look.found)
        check_replicas_stay_within_their_bounds(case, ticks)


class TestRuns:
    @seldom
    @given(cases(anyone, skews=(0.0, 0.4)))
    def test_the_same_twice_is_the_same(self, case):
        """Bytes and decisions are equal; explaining changes nothing; and the cost is that of the requests."""
        one, other = run(case), run(case)
        assert [a.tobytes() for a in one.ticks] == [a.tobytes() for a in other.ticks]
        assert [moment.decision.to_dict() for moment in one.moments] == [m.decision.to_dict() for m in other.moments]
        check_what_is_told_changes_nothing(case, one)
        check_every_run_can_be_scored(case, one)
        check_the_lower_bound(one)


def check_the_lower_bound(done):
    """No run costs less, also without the guard against rounding."""
    need = needed_by(done)
    account = account_of(done, need)
    sums = sums_of(account, done.world)
    assert least_cost(account, done.world, need, sums, requested_of(account)) <= sums.cost * (1 + 1e-9)


def check_what_is_told_changes_nothing(case, done):
    """An explanation does not change the run."""
    assert_same(done.ticks, run(case, ALWAYS).ticks)


def check_every_run_can_be_scored(case, done):
    """Its cost is that of the requests."""
    found, hours = score(done), case.world.tick / 3600.0
    assert np.isclose(found.cpu_hours, done.ticks.cpu.sum() * hours)
    money = done.ticks.cpu.sum() * 0.04048 + done.ticks.memory.sum() / 1e9 * 0.004445
    assert np.isclose(found.cost, money * hours)
