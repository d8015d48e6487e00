"""What a workload needs now: the demand for each resource that replicas follow, over its target.

A need is what the pods together should request, so it does not depend on how many there are: a workload that is held at
its minimum or its maximum needs what it uses. Where usage does not show the demand, there is no need, but a reason.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from hypot.core.amount import MEMORY, MIB, of_milli
from hypot.core.learning.needs import are_crashing, counted_in, is_enough, needed_at, units_of
from hypot.policy.horizontal.hpa_metrics import RequestUse, request_use
from hypot.policy.horizontal.proposal import CannotRead, MetricContext
from hypot.policy.model.current_size import CurrentSize, has_crashed, live
from hypot.policy.model.learned import Reason
from hypot.policy.model.seen import Pod
from hypot.policy.model.size import Place
from hypot.policy.stages.saturation import Saturation


class Needs(NamedTuple):
    """The total of each place; or why there is none."""

    totals: Mapping[Place, int]
    reason: Reason | None = None
    message: str = ""


class MeasuredUsage(NamedTuple):
    """The usage of one place in milli-units, of how many pods, and how many others serve without a usable sample."""

    used: int
    matched: int
    unmeasured: int


def needs_of(
    look: MetricContext, targets: Mapping[Place, int], replicas: int, most: int, pressure: Saturation
) -> Needs:
    """The needs at these targets; `most` is the maximum of the HPA."""
    pods = live(look.seen.pods)
    crashing = sum(has_crashed(pod, look.seen.now) for pod in pods)
    used: dict[Place, MeasuredUsage | str] = {}
    for (container, resource), target in targets.items() if pods else ():
        try:
            use = request_use(resource, container, target, look)
        except CannotRead as error:
            used[container, resource] = str(error)
        else:
            used[container, resource] = MeasuredUsage(use.used, use.matched, _unmeasured(pods, use, look))
    return needs_from(len(pods), crashing, used, targets, replicas, most, pressure.twice)


def needs_from(
    pods: int,
    crashing: int,
    used: Mapping[Place, MeasuredUsage | str],
    targets: Mapping[Place, int],
    replicas: int,
    most: int,
    saturated: Collection[Place],
) -> Needs:
    """The needs for this usage, or for a place the reason why it is unknown."""
    if not pods:
        return Needs({}, "no-pods", "there are no pods")
    if are_crashing(crashing, pods):
        return Needs({}, "crash-loop", f"{crashing} of {pods} pods crash")
    totals: dict[Place, int] = {}
    for place, use in used.items():
        if isinstance(use, str):
            return Needs({}, "unmeasured", use)
        serving = use.matched + use.unmeasured
        if not is_enough(use.matched, serving):
            return Needs({}, "unmeasured", f"the usage of only {use.matched} of {serving} pods is known")
        totals[place] = of_milli(place[1], needed_at(use.used, use.matched, serving, targets[place]))
    full = [place for place in saturated if place in targets]
    if replicas >= most and full:
        return Needs({}, "saturated", f"{full[0][1]} of {full[0][0]} is saturated at the maximum of {most} replicas")
    return Needs(totals)


def _unmeasured(pods: Iterable[Pod], use: RequestUse, look: MetricContext) -> int:
    """How many pods serve without a usable sample; they are assumed to use what the others use.

    Pods that have just started are not among them: the samples of the others still show the whole demand.
    """
    unknown, before = use.groups.missing | use.groups.unready, look.seen.now - look.settings.cpu_initialization_period
    return sum(pod.made is not None and pod.made <= before for pod in pods if pod.name in unknown)


def counted(resource: str, total: int) -> int:
    """A need as it is learned, in millicores or mebibytes."""
    return counted_in(total, _unit(resource))


def unit_size(resource: str, size: int) -> int:
    """A size in the unit in which needs are counted: millicores or mebibytes."""
    return units_of(size, _unit(resource))


def amount_of(resource: str, needed: int) -> int:
    """The amount of a need."""
    return needed * _unit(resource)


def _unit(resource: str) -> int:
    return MIB if resource == MEMORY else 1


def sizes_by_place(sizes: tuple[CurrentSize, ...]) -> dict[Place, int]:
    return {(one.container, resource): amount for one in sizes for resource, amount in one.requests.items()}
