"""Whether an autoscaler still allows its plan: a spec change that forbids it takes effect with the next step."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from hypot.kinds.base import Kind
from hypot.kinds.hvpa import Hvpa
from hypot.kinds.vpa.allowed import allowed
from hypot.policy.hvpa.gates import OPEN, Direction, Gate, direction_of, time_gate
from hypot.policy.model.decision import Move
from hypot.policy.model.plan import RESIZE_ANNOTATION, WAYS, Action, Plan, RecordSize, ScaleTo, resizing_of
from hypot.policy.model.size import Size
from hypot.policy.plan.pursue import outgrows
from hypot.policy.vertical.controlled import controlled

# The direction of pods that are raised to the size of the largest.
CATCHING_UP: tuple[Direction, ...] = ("up",)


def entitled(plan: Plan, sizer: Kind, now: float) -> Plan:
    """The plan at its start. Directions that are closed already do not stop it later: its total decided the move."""
    return replace(plan, closed=tuple([way for way in WAYS if _gate(sizer, way, now) != OPEN]))


def withdrawn(sizer: Kind, plan: Plan, actions: Iterable[Action], now: float) -> str:
    """Why the plan may no longer take these steps; empty if it may."""
    resizing = resizing_of(sizer.annotations)
    if resizing != plan.resizing:
        return f"{RESIZE_ANNOTATION} is {resizing} now, and was {plan.resizing}"
    left_alone = [size.container for size in plan.sizes if _is_left_alone(sizer, size, _had(plan, size))]
    if left_alone:
        return f"the size of {left_alone[0]} must not be changed any more"
    ways = dict.fromkeys((*_of_totals(plan), *_of_steps(plan, actions)))
    gates = [_gate(sizer, way, now) for way in ways if way not in {"none", *plan.closed}]
    return next((gate.message for gate in gates if gate != OPEN), "")


def sized_by(sizer: Kind, decision: Move) -> Move:
    """The decision without the containers and resources whose size this autoscaler does not control."""
    return decision._replace(
        sizes=controlled(sizer, decision.sizes), desired_sizes=controlled(sizer, decision.desired_sizes)
    )


def outgrown(sizer: Kind, plan: Plan, decision: Move) -> bool:
    """Whether a newer decision does not wait for the plan. Only resources that the autoscaler controls count."""
    return outgrows(plan, sized_by(sizer, decision))


def _gate(sizer: Kind, way: Direction, now: float) -> Gate:
    """The time gate without stabilisation, which begins with the plan itself; other kinds have none."""
    return time_gate(sizer, way, None, now, urgent=False) if isinstance(sizer, Hvpa) else OPEN


def _is_left_alone(sizer: Kind, size: Size, had: Mapping[str, int]) -> bool:
    rules = allowed(sizer, size.container)
    changed = {resource for resource, amount in size.requests.items() if amount != had.get(resource)}
    return rules.switched_off or not changed.issubset(rules.controlled)


def _had(plan: Plan, size: Size) -> Mapping[str, int]:
    return next((old.requests for old in plan.before_sizes if old.container == size.container), {})


def _of_totals(plan: Plan) -> Iterator[Direction]:
    """The direction that was decided for each container, by its total."""
    for size in plan.sizes:
        before = {resource: amount * plan.before_replicas for resource, amount in _had(plan, size).items()}
        after = {resource: amount * plan.replicas for resource, amount in size.requests.items()}
        yield direction_of(before, after)


def _of_steps(plan: Plan, actions: Iterable[Action]) -> Iterator[Direction]:
    """The direction of each single step."""
    for action in actions:
        if isinstance(action, ScaleTo):
            yield direction_of({"": action.expected}, {"": action.replicas})
        else:
            ways = [direction_of(_had(plan, size), size.requests) for size in plan.sizes]
            # If no size changes, smaller pods catch up with the others.
            yield from ways if isinstance(action, RecordSize) or set(ways) != {"none"} else CATCHING_UP
