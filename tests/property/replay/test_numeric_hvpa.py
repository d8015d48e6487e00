"""The numeric step of an Hvpa and the full decision are the same decision, in any world."""

from dataclasses import replace
from unittest.mock import patch

import numpy as np
from hypothesis import HealthCheck, Phase, given, reject, settings
from hypothesis import strategies as st

from builders import hvpa_decided
from hypot.policy.model.state import State
from hypot.replay.engine import engine
from hypot.replay.engine.acting import plain
from hypot.replay.engine.deciders import UsageFeed, with_restarts
from hypot.replay.numbers.hvpa import hvpa_act, hvpa_step, is_held, no_hvpa_past
from hypot.replay.numbers.hvpa_rule import rule_of, state_of
from hypot.replay.numbers.plan import no_plan, pursue_plan
from property.replay_worlds import GAPS, cases
from property.vertical_worlds import hvpas

often = settings(
    max_examples=25,
    deadline=None,
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
    suppress_health_check=(HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much),
)


class Both:
    """Decides in both ways each time, compares them, and acts as the numeric step says."""

    def __init__(self, hvpa, rule, feed, every):
        self.hvpa, self.rule, self.feed, self.every = hvpa, rule, feed, every
        self.memory, self.past, self.plan = State(), no_hvpa_past(), no_plan()

    def step(self, scene, i, now):
        c, s, p = scene.c, scene.s, scene.p
        seen = scene.observer.seen(i, now, self.feed.view())
        decision, self.memory = hvpa_decided(self.hvpa, seen, self.memory, scene.settings)
        past = self.past
        moves = hvpa_step(self.rule, past, self.feed.usage, c, s, p, i, now, scene.observer.blind(now))
        self.compare(decision, moves)
        if is_held(self.rule, past, self.plan, moves):
            pursue_plan(self.plan, c, s, p, scene.in_place, now)
        elif moves:
            self.memory = with_restarts(self.memory, self.plan).acted(decision, now)
            hvpa_act(self.rule, past, self.plan, c, s, p, scene.in_place, now)
        known = state_of(past, scene.container)
        assert (known.last_scale, known.vertical) == (
            self.memory.last_scale,
            replace(self.memory.vertical, restarted=None),
        )

    def compare(self, decision, moves):
        past = self.past
        assert (past.desired[0], moves) == (decision.desired, decision.moves)
        assert (bool(past.resizes[0]), bool(past.grows[0])) == (decision.resizes, decision.grows)
        assert [plain(size) for size in decision.desired_sizes] == [tuple(past.size)]


def played(case):
    """The rows of a replay in which both decide."""

    def parts(policy, scene, world, _start):
        hvpa = policy.autoscalers[0]
        feed = UsageFeed(hvpa, scene)
        rule = rule_of(hvpa, scene.container, policy.workload.cpu_limit, world.metrics.names, scene.settings)
        yield feed
        yield Both(hvpa, rule, feed, scene.settings.sync_period)

    with patch.object(engine, "deciders_of", parts):
        return engine.replay(case.policy, "web", case.load, case.world, case.settings).ticks


def assert_same_decisions(case):
    """They are the same at every step, and so is every row of the engine itself."""
    hvpa, first, names = case.policy.autoscalers[0], case.policy.workload, case.world.metrics.names
    if rule_of(hvpa, first.container, first.cpu_limit, names, case.settings) is None:
        reject()
    numeric = played(case)
    whole = engine.replay(case.policy, "web", case.load, case.world, case.settings).ticks
    for name, here, there in zip(whole._fields, numeric, whole, strict=True):
        assert np.array_equal(here, there), name


class TestDecisions:
    @often
    @given(cases(st.tuples(hvpas())))
    def test_both_decide_alike(self, case):
        """Count, size and state are the same at every step; and plans lead to the same world."""
        assert_same_decisions(case)

    @often
    @given(cases(st.tuples(hvpas()), skews=(0.3, 1.0), gaps=GAPS))
    def test_where_metrics_have_gaps_and_replicas_differ(self, case):
        """Without metrics for a while, and with one replica that gets more."""
        assert_same_decisions(case)
