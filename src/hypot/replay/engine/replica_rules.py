"""Horizontal autoscalers as plain numbers, with their state."""

from dataclasses import dataclass, field
from math import inf
from typing import Any

import numpy as np

from hypot.core.replicas.window import forced_into
from hypot.policy.horizontal.wpa import ABOVE, BELOW
from hypot.policy.model.decision import Condition
from hypot.policy.model.state import State, TimedValues
from hypot.replay.engine.deciders import ExplainedDecider, Scene
from hypot.replay.numbers.hpa import HpaRule, hpa_step, look_first, moved
from hypot.replay.numbers.past import PastMoves
from hypot.replay.numbers.wpa import WpaColumns, WpaRule, wpa_step
from hypot.replay.world.record import Watch


@dataclass(slots=True)
class HpaReplicaRule:
    rule: HpaRule
    since: float
    past: PastMoves
    last_scale: float | None = None

    def blind(self, current: int, now: float) -> int:
        look_first(self.past, current, now)
        return forced_into(current, self.rule.low, self.rule.high)

    def count(self, scene: Scene, i: int, now: float) -> int:
        return hpa_step(self.rule, self.past, scene.c, scene.s, scene.p, i, now)

    def moved(self, before: int, after: int, now: float) -> None:
        moved(self.rule, self.past, before, after, now)
        self.last_scale = now

    def state(self) -> State:
        past = self.past
        return State(
            recommendations=_history(past.used[0], past.values, past.times) if past.used[0] else None,
            since=self.since,
            ups=_history(past.ups_used[0], past.ups, past.up_times),
            downs=_history(past.downs_used[0], past.downs, past.down_times),
            last_scale=self.last_scale,
        )


def _history(used: int, values: list[int], times: list[float]) -> TimedValues:
    return TimedValues(tuple(values[:used]), tuple(times[:used]))


@dataclass(slots=True)
class WpaReplicaRule:
    rule: WpaRule
    marks: WpaColumns
    metric: str
    # What was observed at every decision.
    watched: list[tuple[float, ...]] = field(default_factory=list)

    def blind(self, current: int, now: float) -> int:
        del now
        return forced_into(current, self.rule.low, self.rule.high)

    def count(self, scene: Scene, i: int, now: float) -> int:
        marks = self.marks
        count = wpa_step(self.rule, marks, scene.c, scene.s, scene.p, i, now)
        value = marks.value[0] // max(1, marks.readies[0]) if self.rule.averaged else marks.value[0]
        self.watched.append((now, value, marks.proposal[0], count, marks.wait_up[0], marks.wait_down[0]))
        return count

    def settled(self, count: int) -> None:
        """Replace the outcome of the last look, if another decision path made the decision."""
        self.watched[-1] = (*self.watched[-1][:3], count, *self.watched[-1][4:])

    def moved(self, before: int, after: int, now: float) -> None:
        del before, after
        self.marks.last_scale[0] = now

    def state(self) -> State:
        marks, last = self.marks, self.marks.last_scale[0]
        conditions = (_since(ABOVE, marks.above_since[0]), _since(BELOW, marks.below_since[0]))
        return State(last_scale=None if last == -inf else last, conditions=conditions)

    def watch(self) -> Watch:
        table: Any = np.array(self.watched, np.float64).reshape(-1, 6).T
        at, value, proposal, effective, up, down = table
        high, low = (np.full(len(at), mark / 1000.0) for mark in (self.rule.highs[0], self.rule.lows[0]))
        return Watch(self.metric, at, value / 1000.0, high, low, proposal, effective, up, down)


@dataclass(slots=True)
class WatchedDecider:
    """A WPA that uses the full decision; a numeric step next to it collects the watermarks that reports show."""

    whole: ExplainedDecider
    replica_rule: WpaReplicaRule
    every: float

    def step(self, scene: Scene, i: int, now: float) -> None:
        before = scene.s.asked[0]
        looks = not scene.observer.blind(now)
        if looks:
            self.replica_rule.count(scene, i, now)
        self.whole.step(scene, i, now)
        after = scene.s.asked[0]
        if looks:
            self.replica_rule.settled(after)
        if after != before:
            self.replica_rule.moved(before, after, now)


def _since(kind: str, since: float) -> Condition:
    left = since != inf
    return Condition(kind, "True" if left else "False", "", "", since if left else 0.0)
