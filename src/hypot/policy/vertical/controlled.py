"""The parts of sizes that an autoscaler may change."""

from collections.abc import Iterable

from hypot.kinds.base import Kind
from hypot.kinds.vpa.allowed import allowed
from hypot.policy.model.size import Size


def controlled(sizer: Kind, sizes: Iterable[Size]) -> tuple[Size, ...]:
    """These sizes without the containers and resources that it leaves alone."""
    rules = [(size, allowed(sizer, size.container)) for size in sizes]
    return tuple([size.only(rule.controlled) for size, rule in rules if not rule.switched_off])
