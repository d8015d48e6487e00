"""The settings of an Autoscaler as plain numbers, and the container that it sizes."""

from collections.abc import Mapping, Sequence

from hypot.core.bank.rule import DAY_LENGTH, STOP, AutoscalerRule
from hypot.kinds.autoscaler.fields import AutoscalerSpec
from hypot.kinds.vpa.allowed import allowed
from hypot.policy.model.current_size import CurrentSize
from hypot.policy.model.seen import ClusterNode, Container
from hypot.policy.model.settings import Settings

CPU = "cpu"
# Without bounds a pod may grow to so many times the request of its template.
GROWTH = 4
# Sizes change in tenths of the least size.
GRAINS = 10


def sized_container(
    autoscaler: AutoscalerSpec, template: Sequence[Container], current: Sequence[CurrentSize]
) -> CurrentSize | None:
    """The container whose usage counts; the others keep their size.

    The requests of the template say which it is, as far as there are any: those of pods change with what is decided.
    """
    written = {one.name: one.requests for one in template}
    requests = {one.container: one.requests for one in current if CPU in one.requests}
    name = sized_name(autoscaler, {each: {**found, **written.get(each, {})} for each, found in requests.items()})
    return next((one for one in current if one.container == name), None)


def sized_name(autoscaler: AutoscalerSpec, requests: Mapping[str, Mapping[str, int]]) -> str:
    """The container with the largest cpu request, and of several the first by name; empty if there is none."""
    found = {
        name: each[CPU]
        for name, each in requests.items()
        if each.get(CPU, 0) > 0 and not (autoscaler.sizes and _is_left_alone(autoscaler, name))
    }
    return max(sorted(found), key=lambda name: found[name], default="")


def _is_left_alone(autoscaler: AutoscalerSpec, container: str) -> bool:
    bounds = allowed(autoscaler, container)
    return bounds.switched_off or CPU not in bounds.controlled


def bounds_of(autoscaler: AutoscalerSpec, container: str, base: int, node: int = 0) -> tuple[int, int]:
    """The least and the most cpu of a container; those that are not written follow from the template's request.

    `node` is what the largest node has for pods, or 0 if that is not known: two pods should fit.
    """
    bounds = allowed(autoscaler, container)
    least = bounds.least.get(CPU) or min(base, bounds.most.get(CPU) or base)
    grown = GROWTH * max(least, base)
    return least, max(least, bounds.most.get(CPU) or (min(grown, node // 2) if node else grown))


def largest_node(nodes: Mapping[str, ClusterNode]) -> int:
    """The cpu that the largest node has for pods, in millicores; 0 if that of any is not known."""
    found = [node.allocatable.get(CPU, 0) for node in nodes.values()]
    return max(found) if found and all(found) else 0


def rule_of(autoscaler: AutoscalerSpec, container: str, base: int, settings: Settings, node: int = 0) -> AutoscalerRule:
    """`base` is the cpu request in the pod template, in millicores, and `node` as for the bounds."""
    least, most = bounds_of(autoscaler, container, base, node)
    return AutoscalerRule(
        step=float(settings.sync_period),
        counts=autoscaler.counts,
        sizes=autoscaler.sizes,
        least_pods=autoscaler.min_replicas,
        most_pods=max(autoscaler.min_replicas, autoscaler.max_replicas),
        least_cpu=least,
        most_cpu=most,
        grain=max(1, least // GRAINS),
        late_price=float(autoscaler.late_price),
        late_after=float(autoscaler.late_after),
        stop=STOP,
        day=DAY_LENGTH,
    )
