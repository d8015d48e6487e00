"""What containers need by the histograms of their usage, with the knobs of the autoscaler."""

from collections.abc import Mapping, Sequence
from functools import lru_cache

from hypot.kinds.base import Kind
from hypot.kinds.node import Itself
from hypot.kinds.vpa.knobs import Knobs, knobs_of
from hypot.policy.model.seen import Bounds, UsageView


def estimated(
    autoscaler: Kind, usage: UsageView | None, resources: Mapping[str, Sequence[str]], base: Knobs
) -> tuple[Bounds, ...]:
    """What each of these containers needs of these resources; empty without histograms."""
    if usage is None:
        return ()
    return usage.estimate({name: knobs_for(autoscaler, name, base) for name in resources}, [*resources], resources)


def knobs_for(autoscaler: Kind, container: str, base: Knobs) -> Knobs:
    """Like `knobs_of`, but cached, because every decision needs it."""
    return _knobs_for(Itself(autoscaler), container, base)


@lru_cache(16_384)
def _knobs_for(this: Itself[Kind], container: str, base: Knobs) -> Knobs:
    return knobs_of(this.value, container, base)
