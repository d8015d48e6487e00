"""How a kind decides in a replay: one entry for each kind that plain numbers can decide for."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from hypot.kinds.autoscaler import WorkloadAutoscaler
from hypot.kinds.catalogue import Autoscaler, sizes_pods
from hypot.kinds.hpa import HPA
from hypot.kinds.hvpa import Hvpa
from hypot.kinds.node import replaced
from hypot.kinds.tortoise import Tortoise
from hypot.kinds.vpa import VPA
from hypot.kinds.wpa import WPA
from hypot.replay.engine.alternatives import Stepping, Weighted, blend_of
from hypot.replay.engine.autoscalers import AutoscalerDecider
from hypot.replay.engine.deciders import (
    Decider,
    ExplainedDecider,
    HvpaDecider,
    NumericDecider,
    Scene,
    UsageFeed,
    VpaDecider,
)
from hypot.replay.engine.replica_rules import HpaReplicaRule, WatchedDecider, WpaReplicaRule
from hypot.replay.engine.tortoises import (
    EditedHpa,
    ExplainedFollower,
    ExplainedTortoise,
    HpaFollower,
    HpaObjects,
    TortoiseDecider,
    TortoiseParts,
)
from hypot.replay.numbers import autoscaler_rule, hpa_rule, hvpa_rule, tortoise_rule, vpa_rule, wpa_rule
from hypot.replay.numbers.hpa import past_for
from hypot.replay.numbers.usage import EVERY
from hypot.replay.numbers.wpa import no_marks
from hypot.replay.policies.policy import Policy
from hypot.replay.world.parameters import Signal, World
from hypot.replay.world.record import RulePrices, Watch


class _Surroundings(NamedTuple):
    """What a decider is made for, next to its autoscaler."""

    policy: Policy
    scene: Scene
    names: Mapping[str, Signal]
    start: float
    # The usage history, for kinds that size pods.
    feed: Any = None

    @property
    def every(self) -> float:
        return self.scene.settings.sync_period


def deciders_of(policy: Policy, scene: Scene, world: World, start: float) -> Iterator[Decider]:
    """The deciders of a policy. Those that size pods come after the usage history that they read."""
    for autoscaler in policy.autoscalers:
        around = _Surroundings(policy, scene, world.metrics.names, start)
        if sizes_pods(autoscaler) and not isinstance(autoscaler, WorkloadAutoscaler):
            feed = UsageFeed(autoscaler, scene)
            yield feed
            around = around._replace(feed=feed)
        if isinstance(autoscaler, Tortoise):
            yield from _tortoise(autoscaler, around)
            continue
        numeric = _NUMERIC.get(autoscaler.KIND)
        found = None if numeric is None else numeric(autoscaler, around)
        yield ExplainedDecider(autoscaler, around.every, around.feed) if found is None else found


def _hpa(hpa: HPA, around: _Surroundings) -> Decider | None:
    rule = hpa_rule.rule_of(hpa, around.scene.container, around.names, around.scene.settings)
    if rule is None:
        return None
    return NumericDecider(hpa, HpaReplicaRule(rule, around.start, past_for(rule, around.every)), around.every)


def _wpa(wpa: WPA, around: _Surroundings) -> Decider | None:
    marks = wpa_rule.marks_rule(wpa, around.names)
    if marks is None:
        return None
    replica_rule = WpaReplicaRule(marks, no_marks(marks.metrics), wpa_rule.first_metric(wpa))
    if wpa_rule.rule_of(wpa, around.names) is None:
        return WatchedDecider(ExplainedDecider(wpa, around.every), replica_rule, around.every)
    return NumericDecider(wpa, replica_rule, around.every)


def _vpa(vpa: VPA, around: _Surroundings) -> Decider:
    policy, scene, feed = around.policy, around.scene, around.feed
    rule = vpa_rule.rule_of(vpa, scene.container, policy.workload.restarts_on_resize, scene.settings)
    sizing = ExplainedDecider(vpa, EVERY, feed) if rule is None else VpaDecider(vpa, rule, feed, EVERY)
    return sizing if policy.step is None else Stepping(sizing, vpa, policy.step, EVERY, feed)


def _hvpa(hvpa: Hvpa, around: _Surroundings) -> Decider | None:
    scene, feed = around.scene, around.feed
    if around.policy.weights:
        return Weighted(hvpa, blend_of(hvpa, scene.container), around.every, feed)
    rule = hvpa_rule.rule_of(hvpa, scene.container, around.policy.workload.cpu_limit, around.names, scene.settings)
    return None if rule is None else HvpaDecider(hvpa, rule, feed, around.every)


def _autoscaler(autoscaler: WorkloadAutoscaler, around: _Surroundings) -> Decider | None:
    first, settings = around.policy.workload, around.scene.settings
    numbers = autoscaler_rule.numbers_of(autoscaler, first.container, first.cpu, around.names, settings)
    return None if numbers is None else AutoscalerDecider(autoscaler, numbers, around.every)


def _tortoise(tortoise: Tortoise, around: _Surroundings) -> Iterator[Decider]:
    """The Tortoise, and the controller of its HPA unless it decides that too."""
    scene, first, named = around.scene, around.policy.workload, around.policy.named_hpa
    # Its status is of another time.
    named = None if named is None else replaced(named, status=None)
    size = (first.cpu, first.memory)
    numbers = tortoise_rule.numbers_of(tortoise, first.container, size, named, around.names, scene.settings)
    if numbers is None:
        edited = EditedHpa(named)
        yield ExplainedTortoise(tortoise, around.every, around.feed, edited=edited)
        if not tortoise.decides:
            yield ExplainedFollower(edited, around.every)
        return
    rule = numbers.made.hpa
    parts = TortoiseParts(
        numbers,
        numbers.past(),
        numbers.codes(),
        numbers.turns(around.start, scene.end),
        HpaReplicaRule(rule, around.start, past_for(rule, around.every)),
        HpaObjects(tortoise, named, numbers, first.container, scene.settings),
    )
    yield TortoiseDecider(tortoise, parts, around.feed, around.every)
    if not tortoise.decides:
        yield HpaFollower(parts, around.every)


# Each gives None if plain numbers do not cover everything that the object asks for. It then gets full decisions, as do
# kinds that are not listed.
_NUMERIC: dict[str, Callable[[Any, _Surroundings], Decider | None]] = {
    HPA.KIND: _hpa,
    WPA.KIND: _wpa,
    VPA.KIND: _vpa,
    Hvpa.KIND: _hvpa,
    WorkloadAutoscaler.KIND: _autoscaler,
}


def has_numbers(autoscaler: Autoscaler) -> bool:
    """Whether plain numbers can decide for objects of its kind."""
    return autoscaler.KIND in _NUMERIC


def watch_of(deciders: Sequence[Decider]) -> Watch | None:
    """What the first autoscaler with watermarks observed."""
    rules = [one.replica_rule for one in deciders if isinstance(one, NumericDecider | WatchedDecider)]
    return next((rule.watch() for rule in rules if isinstance(rule, WpaReplicaRule)), None)


def prices_of(deciders: Sequence[Decider]) -> RulePrices | None:
    """What the rules of the first Autoscaler have cost."""
    return next((one.prices for one in deciders if isinstance(one, AutoscalerDecider)), None)
