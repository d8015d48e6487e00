"""Vertical autoscalers in plain numbers decide as full decisions do, from the histograms of a recommender."""

from math import inf
from unittest.mock import patch

import numpy as np
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from hypot.kinds.vpa.fields import policy_of
from hypot.kinds.vpa.knobs import for_container, knobs_from
from hypot.policy.usage import usage
from hypot.policy.vertical.vpa import controlled
from hypot.replay.engine import families
from hypot.replay.engine.deciders import UsageFeed
from hypot.replay.world.signals import cpu_sample, is_sampled, memory_sample
from property.replay_worlds import ALWAYS, GAPS, cases, hpas, played
from property.vertical_worlds import setups, vpas

often = settings(
    max_examples=25,
    deadline=None,
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
    suppress_health_check=(HealthCheck.too_slow, HealthCheck.data_too_large),
)


def play(case, **how):
    return played(case.policy, case.load, case.world, settings=case.settings, **how)


class TestDecisions:
    @often
    @given(cases(st.tuples(vpas()), setups, gaps=GAPS))
    def test_are_those_of_the_whole_decision(self, case):
        """Every pass over the pods is compared; a difference raises."""
        ticks, _ = play(case, explained=ALWAYS)
        assert np.isfinite(ticks.cpu).all()

    @often
    @given(cases(st.tuples(hpas(), vpas()), setups))
    def test_next_to_an_hpa(self, case):
        """Pods come and go meanwhile."""
        ticks, _ = play(case, explained=ALWAYS)
        assert np.isfinite(ticks.cpu).all()


class Beside(UsageFeed):
    """Keeps the histograms of `policy.usage` next to those in plain numbers, and compares the estimates."""

    def __init__(self, autoscaler, scene):
        super().__init__(autoscaler, scene)
        policy = policy_of(autoscaler.resource_policy, scene.container)
        self.knobs = for_container(knobs_from(autoscaler.annotations, scene.settings.vpa), policy)
        self.resources = {scene.container: controlled(autoscaler.resource_policy, scene.container)}
        self.whole, self.explained = usage.Usage(), {}
        self.row = self.whole.declare("web", scene.container, self.knobs, 0.0)

    def step(self, scene, i, now):
        super().step(scene, i, now)
        samples = [sample for k in range(scene.c.used[0]) for sample in self.looked_at(scene, k, i, now)]
        self.whole.observe(samples)
        asked = (self.knobs, [scene.container], self.resources)
        there = self.whole.view("web").estimate(*asked)
        assert self.estimate(*asked) == tuple(bounds for bounds in there if bounds.target)

    def looked_at(self, scene, k, i, now):
        c, p = scene.c, scene.p
        for pod in scene.observer.names(k):
            number = self.whole.instance(self.row, pod)
            if c.killed_at[k] > -inf and self.explained.get(pod) != c.killed_at[k]:
                self.explained[pod] = c.killed_at[k]
                self.whole.oom(number, c.killed_at[k], c.memory[k])
            if is_sampled(c, p, k, now) and not scene.observer.blind(now):
                yield number, cpu_sample(c, p, k, i), memory_sample(c, p, k, i), now - p.lag


class TestHistory:
    @often
    @given(cases(st.tuples(hpas(), vpas()), setups, gaps=GAPS))
    def test_says_what_the_recommender_says(self, case):
        """The comparison is after every minute, with OOM kills and times without metrics."""
        with patch.object(families, "UsageFeed", Beside):
            ticks, _ = play(case)
        assert np.isfinite(ticks.cpu).all()
