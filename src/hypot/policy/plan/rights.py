"""Whether an Hvpa still allows a plan that was begun under it: what people take away counts with the next step."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from hypot.kinds.hvpa import Hvpa
from hypot.kinds.hvpa.intervals import allowed
from hypot.policy.hvpa.gates import OPEN, Direction, Gate, direction_of, time_gate
from hypot.policy.hvpa.resolve import controlled
from hypot.policy.model.decision import Move
from hypot.policy.model.plan import RESIZE_ANNOTATION, WAYS, Action, Plan, RecordSize, ScaleTo, resizing_of
from hypot.policy.model.size import Size
from hypot.policy.plan.pursue import outgrows

# The way of pods that become as large as the largest.
CATCHING_UP: tuple[Direction, ...] = ("up",)


def entitled(plan: Plan, hvpa: Hvpa, now: float) -> Plan:
    """The plan as it begins. Ways that are closed by then were not asked for: it goes the way of its total."""
    return replace(plan, closed=tuple([way for way in WAYS if _gate(hvpa, way, now) != OPEN]))


def withdrawn(hvpa: Hvpa, plan: Plan, actions: Iterable[Action], now: float) -> str:
    """Why the plan may not take these steps any more, in words; empty where it may."""
    resizing = resizing_of(hvpa.annotations)
    if resizing != plan.resizing:
        return f"{RESIZE_ANNOTATION} is {resizing} now, and was {plan.resizing}"
    left_alone = [size.container for size in plan.sizes if _is_left_alone(hvpa, size, _had(plan, size))]
    if left_alone:
        return f"the size of {left_alone[0]} is to be left alone now"
    ways = dict.fromkeys((*_of_totals(plan), *_of_steps(plan, actions)))
    gates = [_gate(hvpa, way, now) for way in ways if way not in {"none", *plan.closed}]
    return next((gate.message for gate in gates if gate != OPEN), "")


def sized_by(hvpa: Hvpa, decision: Move) -> Move:
    """The decision without the containers and the resources whose size is not this autoscaler's to change."""
    return replace(
        decision, sizes=controlled(hvpa, decision.sizes), desired_sizes=controlled(hvpa, decision.desired_sizes)
    )


def outgrown(hvpa: Hvpa, plan: Plan, decision: Move) -> bool:
    """Whether a newer decision does not wait for the plan, by what the autoscaler may size: it names nothing else."""
    return outgrows(plan, sized_by(hvpa, decision))


def _gate(hvpa: Hvpa, way: Direction, now: float) -> Gate:
    """Without stabilisation, which begins with the plan itself."""
    return time_gate(hvpa, way, None, now, urgent=False)


def _is_left_alone(hvpa: Hvpa, size: Size, had: Mapping[str, int]) -> bool:
    rules = allowed(hvpa, size.container)
    changed = {resource for resource, amount in size.requests.items() if amount != had.get(resource)}
    return rules.switched_off or not changed.issubset(rules.controlled)


def _had(plan: Plan, size: Size) -> Mapping[str, int]:
    return next((old.requests for old in plan.before_sizes if old.container == size.container), {})


def _of_totals(plan: Plan) -> Iterator[Direction]:
    """Which way each container was decided to go."""
    for size in plan.sizes:
        before = {resource: amount * plan.before_replicas for resource, amount in _had(plan, size).items()}
        after = {resource: amount * plan.replicas for resource, amount in size.requests.items()}
        yield direction_of(before, after)


def _of_steps(plan: Plan, actions: Iterable[Action]) -> Iterator[Direction]:
    """Which way each step goes by itself."""
    for action in actions:
        if isinstance(action, ScaleTo):
            yield direction_of({"": action.expected}, {"": action.replicas})
        else:
            ways = [direction_of(_had(plan, size), size.requests) for size in plan.sizes]
            # Where no size is another one, pods that are behind catch up.
            yield from ways if isinstance(action, RecordSize) or set(ways) != {"none"} else CATCHING_UP
