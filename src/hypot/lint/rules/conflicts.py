"""Rules for autoscalers that conflict with each other."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, cast

from hypot.kinds import identity
from hypot.kinds.catalogue import CATALOGUE, sets_replicas, sets_sizes
from hypot.kinds.problem import some
from hypot.lint.input.item import Item, Key, dig, text
from hypot.lint.input.world import (
    BY_HPA,
    DATADOG,
    OFF,
    AnyAutoscaler,
    Autoscaler,
    Claim,
    InputWorkload,
    InputWorld,
    ResourceUse,
    changes_running_pods,
    mode_of,
    writes,
)
from hypot.lint.rule import AUTOSCALER_ONLY, BOTH, HPA_ONLY, HVPA_ONLY, SIZING, TORTOISE_ONLY, Hit, RuleFamily, first_of

if TYPE_CHECKING:
    from hypot.kinds.autoscaler import WorkloadAutoscaler  # noqa: F401  named in a string
    from hypot.kinds.tortoise import Tortoise
    from hypot.kinds.vpa import VPA  # noqa: F401  named in a string

_SizingAutoscaler = Autoscaler["VPA"] | Autoscaler["WorkloadAutoscaler"]
CONFLICTS = RuleFamily("Conflicts", "Autoscalers that conflict over the same pods.")

_TAKES_OVER = "scaledobject.keda.sh/transfer-hpa-ownership"
_THROUGH_HVPA = (
    "let the HorizontalPodAutoscaler scale the Hvpa (scaleTargetRef of kind Hvpa), or move its metrics into the Hvpa's "
    "hpa block and delete it"
)


@CONFLICTS.rule(
    "two-autoscalers",
    "error",
    title="Two autoscalers on one target",
    why="Two HorizontalPodAutoscalers switch each other off (AmbiguousSelector). Any other pair undoes each other's "
    "writes at every sync. A KEDA ScaledObject creates its own HorizontalPodAutoscaler, so a second one conflicts. "
    "An Hvpa sets replicas too; an HPA used with it must scale the Hvpa, not the target. The HPA that a Tortoise edits "
    "does not conflict with it, unless the Tortoise decides the replicas itself (hypot.dev/decide). Nor do dry-run, "
    "paused, previewing and owned autoscalers, nor an Autoscaler that is Off or only sets sizes. A "
    "DatadogPodAutoscaler sets counts and sizes.",
    fix="keep one, with the metrics of both: the largest proposal wins within one autoscaler",
    example="Deployment shop/web is also scaled by HorizontalPodAutoscaler shop/web-memory: such a pair stops with "
    "AmbiguousSelector",
    kinds=(*BOTH, *HVPA_ONLY, *TORTOISE_ONLY, *AUTOSCALER_ONLY, "ScaledObject", DATADOG),
)
def two_autoscalers(world: InputWorld) -> Iterator[Hit]:
    for target, claims in world.claims.items():
        for those, met in world.by_what_they_meet(claims) if len(claims) > 1 else ():
            yield from _conflicts_of(those, _conflicts(met), target)


def _conflicts_of(claims: list[Claim], conflicts: dict[Key, Claim], target: Key) -> Iterator[Hit]:
    horizontal = sum(1 for key in conflicts if key.kind in BY_HPA)
    decides = any(_decides(claim.item) for claim in conflicts.values())
    both_axes = any(key.kind == identity.HVPA.kind for key in conflicts)
    for claim in claims if len(conflicts) > 1 else ():
        one = claim.item.key
        if conflicts.get(one) is not claim:
            continue
        alike = one.kind in BY_HPA and horizontal > 1
        outcome = "such a pair stops with AmbiguousSelector" if alike else "they undo each other's writes"
        others = some((key for key in conflicts if key != one), len(conflicts) - 1)
        hint = _THROUGH_HVPA if both_axes and horizontal else _how_to_decide() if decides and horizontal else ""
        sides = first_of(other.item for key, other in conflicts.items() if key != one)
        yield Hit(claim.item, claim.reference, f"{target} is also scaled by {others}: {outcome}", hint, sides)


def _conflicts(claims: list[Claim]) -> dict[Key, Claim]:
    """The claims that conflict, one per object, without those that another claim owns or takes over."""
    by_key = {claim.item.key: claim for claim in claims if claim.item.name}
    if len(by_key) < 2:
        return by_key
    items = [claim.item for claim in by_key.values()]
    made = {(item.kind, item.name) for item in items if not _decides(item)}
    edited = {
        (identity.HPA.kind, _tortoise(item).edited_hpa_name) for item in items if item.kind == identity.TORTOISE.kind
    }
    taken = {
        text(dig(item.spec, "advanced", "horizontalPodAutoscalerConfig", "name"))
        for item in items
        if item.annotations.get(_TAKES_OVER) == "true"
    }
    return {
        key: claim
        for key, claim in by_key.items()
        if not claim.item.owners & made and claim.item.name not in taken and (key.kind, key.name) not in edited
    }


def _decides(item: Item) -> bool:
    """Whether this is a Tortoise that sets replicas itself, and so edits no HPA."""
    return item.kind == identity.TORTOISE.kind and _tortoise(item).decides


def _how_to_decide() -> str:
    from hypot.kinds.tortoise.fields import DECIDE  # noqa: PLC0415  only where there is a Tortoise

    return f"delete the HorizontalPodAutoscaler, or remove the annotation {DECIDE} of the Tortoise"


def _tortoise(item: Item) -> "Tortoise":
    return cast("Tortoise", CATALOGUE[item.kind].kind.from_dict(item.data))


@CONFLICTS.rule(
    "ambiguous-selector",
    "error",
    title="Two targets whose selectors match the same pods",
    why="The controller first checks which HorizontalPodAutoscalers select a pod. If one pod "
    "belongs to two of them, both stop: ScalingActive is False with reason AmbiguousSelector.",
    fix="give each workload a label of its own, in its selector and its pod template",
    example="Deployment shop/web and Deployment shop/api select the same pods: their autoscalers stop with "
    "AmbiguousSelector",
    kinds=HPA_ONLY,
)
def ambiguous_selector(world: InputWorld) -> Iterator[Hit]:
    shared: dict[Key, tuple[InputWorkload, ...]] = {}
    seen: dict[int, tuple[InputWorkload, ...]] = {}
    for key, workload in world.workloads.items():
        if workload.template is None or workload.item.controlled:
            continue
        group = world.met_by(workload.item, world.pods_scaled_by_hpa.matching(key.namespace, workload.template.labels))
        if len(group) < 2 or id(group) in seen:
            continue
        seen[id(group)] = group
        for one in group:
            shared.setdefault(one.key, group)
    for hpa in world.hpas:
        conflicts = world.met_by(hpa.item, shared.get(hpa.target, ())) if hpa.target is not None else ()
        if len(conflicts) > 1 and not hpa.item.owners:
            others = some((other.key for other in conflicts if other.key != hpa.target), len(conflicts) - 1)
            message = f"{hpa.target} and {others} select the same pods: their autoscalers stop with AmbiguousSelector"
            sides = first_of(other.item for other in conflicts if other.key != hpa.target)
            yield Hit(hpa.item, hpa.reference, message, others=sides)


@CONFLICTS.rule(
    "two-sizers",
    "error",
    title="Two autoscalers that size the same pods",
    why="If several VerticalPodAutoscalers match one pod, only the oldest acts, and this is not guaranteed to stay "
    "so. An Hvpa and an Autoscaler size pods themselves, so a VerticalPodAutoscaler on the same pods undoes their "
    "writes, even if only when pods start. A VerticalPodAutoscaler with updateMode Off only recommends and does not "
    "conflict, nor does an Hvpa that is Off in both directions, or an Autoscaler that is Off or only sets replicas.",
    fix="keep one, or set updateMode to Off in the VerticalPodAutoscaler: an Hvpa can still read its recommendation",
    example="Deployment shop/web is also sized by VerticalPodAutoscaler shop/web-memory: only the oldest acts",
    kinds=SIZING,
)
def two_sizers(world: InputWorld) -> Iterator[Hit]:
    sizers: dict[Key, dict[Key, AnyAutoscaler]] = defaultdict(dict)
    for vpa in world.vpas:
        if vpa.target is not None and vpa.item.name and mode_of(vpa) != OFF:
            sizers[vpa.target][vpa.item.key] = vpa
    others: tuple[AnyAutoscaler, ...] = (*world.hvpas, *world.tortoises, *world.workload_autoscalers)
    for one in others:
        if one.target is not None and one.item.name and writes(one.item) and sets_sizes(one.spec):
            sizers[one.target][one.item.key] = one
    for target, found in sizers.items():
        for those, met in world.by_what_they_meet(list(found.values())) if len(found) > 1 else ():
            yield from _sizing_conflicts(those, met, target)


def _sizing_conflicts(those: list[AnyAutoscaler], met: list[AnyAutoscaler], target: Key) -> Iterator[Hit]:
    made = {(one.item.kind, one.item.name) for one in met}
    conflicts = {one.item.key: one for one in met if not one.item.owners & made}
    vertical = sum(1 for key in conflicts if key.kind == identity.VPA.kind)
    if len(conflicts) < 2 or all(sets_replicas(one.spec) for one in conflicts.values()):
        return  # two-autoscalers already reports those that set replicas too
    outcome = "only the oldest acts" if vertical == len(conflicts) else "they undo each other's writes"
    for one in those:
        if one.item.key in conflicts:
            others = some((other for other in conflicts if other != one.item.key), len(conflicts) - 1)
            sides = first_of(other.item for key, other in conflicts.items() if key != one.item.key)
            yield Hit(one.item, one.reference, f"{target} is also sized by {others}: {outcome}", others=sides)


@CONFLICTS.rule(
    "vpa-conflict",
    "error",
    title="A VerticalPodAutoscaler changes the requests that replicas are scaled on",
    why="Replicas follow usage as a share of the request, and the VerticalPodAutoscaler, or an Autoscaler with the "
    "axes Size, changes the request based on the same usage. Each reacts to the other's changes, and together they "
    "drift to many tiny pods or to a few large ones. Modes Off and Initial, and containers whose policy is Off, do not "
    "conflict. Nor do Pods, Object and External metrics, nor an averageValue or a watermark: those are amounts, not "
    "shares of the request.",
    fix="write an averageValue target, remove the resource from controlledResources, set updateMode to Off, or write "
    "an Hvpa, which decides replicas and size together",
    example="VerticalPodAutoscaler shop/web sets the cpu requests of container app, which this metric scales on",
    kinds=HPA_ONLY,
)
def vpa_conflict(world: InputWorld) -> Iterator[Hit]:
    steering: dict[Key, list[_SizingAutoscaler]] = defaultdict(list)
    for vpa in world.vpas:
        if vpa.target is not None and changes_running_pods(vpa):
            steering[vpa.target].append(vpa)
    for one in world.workload_autoscalers:
        if one.target is not None and writes(one.item) and not sets_replicas(one.spec):
            steering[one.target].append(one)
    for use in _shares(world.resource_uses) if steering else ():
        for sizer in steering.get(use.scaler.target, ()) if use.scaler.target is not None else ():
            steered = _steered(world, use, sizer)
            if steered and not world.apart(sizer.item, use.scaler.item):
                what = f"the {use.metric.resource} requests of {_containers(steered)}"
                message = f"{sizer.item} sets {what}, which this metric scales on"
                yield Hit(use.scaler.item, use.metric.where, message, others=(sizer.item,))


def _shares(uses: Iterable[ResourceUse]) -> Iterator[ResourceUse]:
    """Metrics of HPAs that are a share of the request. An Hvpa coordinates its own metrics and sizes."""
    for use in uses:
        if (
            use.metric.target.utilization is not None
            and use.metric.target.average is None
            and use.scaler.item.kind in BY_HPA
        ):
            yield use


def _containers(names: list[str]) -> str:
    if names == ["*"]:
        return "the containers"
    return f"container{'s' if len(names) > 1 else ''} {some(names)}"


def _steered(world: InputWorld, use: ResourceUse, sizer: _SizingAutoscaler) -> list[str]:
    """The containers of the metric whose requests for the resource another autoscaler sets."""
    from hypot.kinds.vpa.fields import policy_of  # noqa: PLC0415  only where pods are sized
    from hypot.lint.rules.sizes import controls  # noqa: PLC0415

    template, names = world.template_of(use.scaler), ["*"]
    if use.metric.container:
        names = [use.metric.container]
    elif template is not None:
        names = [one.name for one in template.running]
    return [name for name in names if controls(policy_of(sizer.spec.container_policies, name), use.metric.resource)]
