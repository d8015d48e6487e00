"""What containers need by the histograms of their usage, with the knobs of the autoscaler."""

from collections.abc import Mapping, Sequence

from hypot.kinds.base import Kind
from hypot.kinds.derived import derived
from hypot.kinds.vpa.knobs import Knobs, knobs_of
from hypot.policy.model.seen import Bounds, UsageView


def estimated(
    autoscaler: Kind, usage: UsageView | None, resources: Mapping[str, Sequence[str]], base: Knobs
) -> tuple[Bounds, ...]:
    """What each of these containers needs of these resources; empty without histograms."""
    if usage is None:
        return ()
    return usage.estimate({name: knobs_for(autoscaler, name, base) for name in resources}, [*resources], resources)


@derived
def knobs_for(autoscaler: Kind, container: str, base: Knobs) -> Knobs:
    """Like `knobs_of`, but read once for each object."""
    return knobs_of(autoscaler, container, base)
