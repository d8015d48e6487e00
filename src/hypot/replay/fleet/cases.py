"""Selects the compiled loop for a policy, and prepares its input as records."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from hypot.core.bank.rule import nothing_learned
from hypot.core.learning.clock import Turns
from hypot.kinds.autoscaler import WorkloadAutoscaler
from hypot.kinds.hpa import HPA
from hypot.kinds.hvpa import Hvpa
from hypot.kinds.tortoise import Tortoise
from hypot.kinds.vpa import VPA
from hypot.kinds.wpa import WPA
from hypot.policy.model.settings import Settings
from hypot.replay.engine.demand import Load, gaps_in
from hypot.replay.engine.engine import begin, can_resize, params_for
from hypot.replay.fleet import loops
from hypot.replay.fleet.records import ENTRIES, PLACES, RULES, LargestSizes, NotCoveredError, check, record_of
from hypot.replay.numbers import autoscaler_rule, hpa_rule, hvpa_rule, tortoise_rule, vpa_rule, wpa, wpa_rule
from hypot.replay.numbers import hpa as numeric_hpa
from hypot.replay.numbers.hvpa import no_hvpa_past
from hypot.replay.numbers.plan import no_plan
from hypot.replay.numbers.price_record import PriceRecord, no_prices
from hypot.replay.numbers.tortoise_rule import TortoiseNumbers
from hypot.replay.numbers.vpa import no_advice
from hypot.replay.policies.policy import Policy, Start
from hypot.replay.world.parameters import World

_TARGET = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
_CPU = {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 70}}
_BAND = {"name": "cpu", "metricSelector": {}, "highWatermark": "800m", "lowWatermark": "500m"}
_HPA = {"scaleTargetRef": _TARGET, "maxReplicas": 2, "metrics": [{"type": "Resource", "resource": _CPU}]}
_WPA = {"scaleTargetRef": _TARGET, "maxReplicas": 2, "metrics": [{"type": "Resource", "resource": _BAND}]}
_INTERVALS = [{"maxReplicas": 2, "maxResources": {"cpu": "1", "memory": "1Gi"}}]
_HVPA = {
    "targetRef": _TARGET,
    "scalingIntervals": _INTERVALS,
    "hpa": {"deploy": True, "template": {"spec": {"minReplicas": 1, "maxReplicas": 2, "metrics": _HPA["metrics"]}}},
    "vpa": {"deploy": True, "template": {}},
}
# The smallest policy of each kind: code that is compiled for one policy serves all of its kind.
EXAMPLES: dict[str, Any] = {
    "static_loop": None,
    "hpa_loop": HPA.from_dict({"metadata": {"name": "web"}, "spec": _HPA}),
    "wpa_loop": WPA.from_dict({"metadata": {"name": "web"}, "spec": _WPA}),
    "vpa_loop": VPA("deployment/web"),
    "hvpa_loop": Hvpa.from_dict({"metadata": {"name": "web"}, "spec": _HVPA}),
    "tortoise_loop": Tortoise.from_dict(
        {"metadata": {"name": "web"}, "spec": {"targetRefs": {"scaleTargetRef": _TARGET}, "updateMode": "Auto"}}
    ),
    "autoscaler_loop": WorkloadAutoscaler.from_dict({"metadata": {"name": "web"}, "spec": {"targetRef": _TARGET}}),
}


_WHOLE = "a metric or setting that needs whole decisions"

# The place of the record of prices among those of an Autoscaler.
_PRICES = 4


class Rules(NamedTuple):
    """A loop, the rule and state of each autoscaler, and further arguments at the end."""

    loop: Callable[..., bool]
    # Each with the length of its columns.
    own: tuple[tuple[Any, int], ...] = ()
    arguments: tuple[Any, ...] = ()
    most_replicas: int = 0
    entries: int = 0
    lines: int = 0
    # What learns by slots, whose times depend on the load.
    learning: TortoiseNumbers | None = None


class Prepared(NamedTuple):
    """All arguments of a loop: records before the rows, numbers after the load."""

    loop: Callable[..., bool]
    records: tuple[Any, ...]
    arguments: tuple[Any, ...]


def prepared(policy: Policy, load: Load, world: World, settings: Settings) -> Prepared:
    """Raises NotCoveredError if no compiled loop can replay this."""
    rules = rules_for(policy, world, settings)
    first, p = policy.workload, params_for(policy, world)
    most = 2 * max(rules.most_replicas, first.replicas)
    largest = LargestSizes(most, first.cpu, max(first.memory, first.memory_limit or 0))
    check(p.slots, p.retry_ticks, rules.lines, rules.entries, largest)
    scene = begin(policy, load, world, p, settings)
    own = [record_of(value, places) for value, places in rules.own]
    records = (*own, record_of(scene.c, PLACES), record_of(scene.s, 1), record_of(p, 1))
    if not policy.autoscalers:
        return Prepared(rules.loop, records, (load.start,))
    gaps = np.array(gaps_in(load, world), np.float64).reshape(-1, 2)
    learned = () if rules.learning is None else _learned(rules.learning, load.start, p.tick * len(load.work))
    return Prepared(rules.loop, records, (gaps, load.start, settings.sync_period, *rules.arguments, *learned))


def _learned(numbers: TortoiseNumbers, start: float, lasts: float) -> tuple[Any, ...]:
    """Empty slots, and the times when they begin."""
    codes = tuple([np.array(column, np.int64) for column in numbers.codes()])
    turns = numbers.turns(start, start + lasts)
    kinds = (np.float64, np.int64, np.int64)
    return codes, Turns(*(np.array(column, kind) for column, kind in zip(turns, kinds, strict=True)))


def rules_for(policy: Policy, world: World, settings: Settings) -> Rules:
    """The loop and rules for a policy. Raises NotCoveredError if no loop fits."""
    found = next(_rules(policy, world, settings), None)
    if found is None:
        raise NotCoveredError(_why_not(policy, settings))
    return found


def _rules(policy: Policy, world: World, settings: Settings) -> Iterator[Rules]:
    kinds = tuple([type(one) for one in policy.autoscalers])
    first: Any = policy.autoscalers[0] if kinds else None
    names = world.metrics.names
    if not kinds:
        yield Rules(loops.static_loop)
    elif kinds == (HPA,):
        yield from _counting(first, policy.workload.container, world, settings)
    elif kinds == (WPA,):
        marks = wpa_rule.rule_of(first, names)
        if marks is not None:
            own = ((marks, RULES), (wpa.no_marks(marks.metrics), RULES))
            yield Rules(loops.wpa_loop, own, (), marks.high, 0, marks.metrics)
    elif policy.step is None and kinds in {(VPA,), (HPA, VPA), (VPA, HPA)}:
        yield from _sizing(policy, world, settings)
    elif kinds == (Hvpa,) and not policy.weights:
        yield from _both(first, policy.workload, world, settings)
    elif kinds == (Tortoise,):
        yield from _learning(first, policy, world, settings)
    elif kinds == (WorkloadAutoscaler,):
        yield from _pricing(first, policy.workload, world, settings)


def _why_not(policy: Policy, settings: Settings) -> str:
    if policy.weights:
        return "released weights"
    if policy.step is not None:
        return "a VPA with a horizontal step"
    kinds = {type(one) for one in policy.autoscalers}
    if len(policy.autoscalers) > len(kinds):
        return "several autoscalers of one kind"
    if len(kinds) > 1 and kinds != {HPA, VPA}:
        return f"{' and '.join(sorted(kind.KIND for kind in kinds))} together"
    if kinds == {Tortoise}:
        return _why_not_learning(policy, settings)
    return _WHOLE


def _why_not_learning(policy: Policy, settings: Settings) -> str:
    tortoise: Any = policy.autoscalers[0]
    first, named = policy.workload, policy.named_hpa
    why = tortoise_rule.why_whole(tortoise, first.container, (first.cpu, first.memory), named, settings)
    return why or "a Tortoise and an HPA with a metric or setting that needs whole decisions"


def _counting(hpa: HPA, container: str, world: World, settings: Settings) -> Iterator[Rules]:
    rule = hpa_rule.rule_of(hpa, container, world.metrics.names, settings)
    if rule is None:
        return
    past = numeric_hpa.past_for(rule, settings.sync_period)
    lines = max(rule.metrics, rule.pace_up.policies, rule.pace_down.policies)
    own = ((rule, RULES), (past, ENTRIES))
    yield Rules(loops.hpa_loop, own, (), rule.high, len(past.values), lines)


def _sizing(policy: Policy, world: World, settings: Settings) -> Iterator[Rules]:
    first = policy.workload
    vpa = next(one for one in policy.autoscalers if isinstance(one, VPA))
    hpa = next((one for one in policy.autoscalers if isinstance(one, HPA)), None)
    rule = vpa_rule.rule_of(vpa, first.container, first.restarts_on_resize, settings)
    counting = next(_counting(hpa or EXAMPLES["hpa_loop"], first.container, world, settings), None)
    if rule is None or counting is None:
        return
    usage = vpa_rule.usage_of(vpa, first.container, settings)
    arguments = (can_resize(world, settings), hpa is not None, policy.autoscalers[0] is hpa)
    yield counting._replace(
        loop=loops.vpa_loop,
        own=(*counting.own, (rule, RULES), (no_advice(), 0), (usage, 0)),
        arguments=arguments,
        most_replicas=0 if hpa is None else counting.most_replicas,
        lines=max(counting.lines, rule.requirements),
    )


def _both(hvpa: Hvpa, first: Start, world: World, settings: Settings) -> Iterator[Rules]:
    rule = hvpa_rule.rule_of(hvpa, first.container, first.cpu_limit, world.metrics.names, settings)
    if rule is None:
        return
    usage = vpa_rule.usage_of(hvpa, first.container, settings)
    own = ((rule, RULES), (no_hvpa_past(), 0), (no_plan(), 0), (usage, 0))
    most = hvpa.max_replicas or 0
    yield Rules(loops.hvpa_loop, own, (can_resize(world, settings),), most, 0, rule.hpa.metrics)


def _pricing(autoscaler: WorkloadAutoscaler, first: Start, world: World, settings: Settings) -> Iterator[Rules]:
    numbers = autoscaler_rule.numbers_of(autoscaler, first.container, first.cpu, world.metrics.names, settings)
    if numbers is None:
        return
    own = ((numbers, 0), (nothing_learned(), 0), (no_hvpa_past(), 0), (no_plan(), 0), (no_prices(), 0))
    yield Rules(loops.autoscaler_loop, own, (can_resize(world, settings),), numbers.rule.most_pods)


def _learning(tortoise: Tortoise, policy: Policy, world: World, settings: Settings) -> Iterator[Rules]:
    first, names = policy.workload, world.metrics.names
    size = (first.cpu, first.memory)
    numbers = tortoise_rule.numbers_of(tortoise, first.container, size, policy.named_hpa, names, settings)
    if numbers is None:
        return
    found, made = numbers.found.hpa, numbers.made.hpa
    moves = numeric_hpa.past_for(made, settings.sync_period)
    usage = vpa_rule.usage_of(tortoise, first.container, settings)
    own = (
        (numbers.rule, 0),
        (numbers.past(), 0),
        (numbers.found, RULES),
        (numbers.made, RULES),
        (moves, ENTRIES),
        (no_hvpa_past(), 0),
        (no_plan(), 0),
        (usage, 0),
    )
    lines = max(found.metrics, made.metrics, made.pace_up.policies, made.pace_down.policies)
    most = max(numbers.rule.counts.most, numbers.bounds[1])
    arguments = (can_resize(world, settings),)
    yield Rules(loops.tortoise_loop, own, arguments, most, len(moves.values), lines, numbers)


def price_record_of(ready: Prepared) -> PriceRecord | None:
    """What a loop has recorded of the prices of rules."""
    if ready.loop is not loops.autoscaler_loop:
        return None
    record = ready.records[_PRICES]
    return PriceRecord(*(record[name] for name in PriceRecord._fields))


def example(loop: str) -> Policy:
    """A policy that this loop replays."""
    autoscaler = EXAMPLES[loop]
    first = Start("web", 1, "web", 1000, 2**30, None, None)
    return Policy("warm", () if autoscaler is None else (autoscaler,), first)
