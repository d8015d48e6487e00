"""A Tortoise as it applies to one container, if plain numbers cover everything that it asks for; and its state."""

from hypot.core.amount import RESOURCES
from hypot.kinds.hpa import HPA
from hypot.kinds.tortoise import Tortoise
from hypot.kinds.tortoise.policies import HORIZONTAL, OFF
from hypot.kinds.vpa.allowed import allowed
from hypot.policy.hold import needs_whole_decisions
from hypot.policy.model.current_size import CurrentSize
from hypot.policy.model.settings import Settings
from hypot.policy.model.state import State
from hypot.policy.tortoise.policies import in_force, places_of
from hypot.policy.tortoise.sizes import bounds_of, counts_of
from hypot.policy.tortoise.tuning import layout_of
from hypot.replay.numbers.hvpa_rule import NO_HPA
from hypot.replay.numbers.hvpa_rule import state_of as columns_of
from hypot.replay.numbers.tortoise import TortoisePast, TortoiseRule


def rule_of(
    tortoise: Tortoise, container: str, size: tuple[int, int], hpa: HPA | None, settings: Settings
) -> TortoiseRule | None:
    """None if only the full decision works: a hold, or a size of zero. `hpa` is the one that it names."""
    own, _problems = settings.tortoise.overridden({}, tortoise.annotations)
    requests = dict(zip(RESOURCES, size, strict=True))
    places = [(container, resource) for resource in RESOURCES]
    ranges = {place: bounds_of(tortoise, place, own) for place in places}
    if needs_whole_decisions(tortoise.annotations) or min(requests.values()) <= 0 or min(ranges.values())[1] <= 0:
        return None
    policies = in_force(tortoise, [CurrentSize(container, requests, {}, {})], hpa)
    horizontal = places_of(policies, HORIZONTAL)
    rules = allowed(tortoise, container)
    return TortoiseRule(
        tortoise,
        own,
        container,
        policies,
        horizontal,
        counts_of(tortoise, own),
        layout_of(own),
        ranges,
        () if rules.switched_off else rules.controlled,
        tuple([resource for resource, word in policies[container].items() if word != OFF]),
        NO_HPA._replace(
            cpu_period=settings.cpu_initialization_period, readiness_delay=settings.initial_readiness_delay
        ),
    )


def state_of(past: TortoisePast, container: str, counted: State) -> State:
    """The state before the last decision, in the form that the full decision reads; `counted` is that of the HPA."""
    return counted._replace(vertical=columns_of(past.columns, container).vertical, tortoise=past.before)
