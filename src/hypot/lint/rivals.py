"""Rules over autoscalers that get in each other's way."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from hypot.kinds.hpa import HPA
from hypot.kinds.problem import Where
from hypot.kinds.wpa import WPA
from hypot.lint.item import Item, Key, dig, mapping, sequence, some, text
from hypot.lint.rule import BOTH, HPA_ONLY, Family, Hit
from hypot.lint.world import Autoscaler, Claim, Workload, World, reference_key

RIVALS = Family("Rivals", "Autoscalers that fight over the same pods.")

_TAKES_OVER = "scaledobject.keda.sh/transfer-hpa-ownership"


@RIVALS.rule(
    "two-autoscalers",
    "error",
    title="Two autoscalers on one target",
    why="Two HorizontalPodAutoscalers switch each other off (AmbiguousSelector). Any other pair undoes each other's "
    "writes at every sync. A KEDA ScaledObject makes a HorizontalPodAutoscaler of its own, so a second one is a rival. "
    "Dry-run, paused and owned autoscalers are not.",
    fix="keep one, with the metrics of both: the largest proposal wins within one autoscaler",
    example="Deployment shop/web is also scaled by HorizontalPodAutoscaler shop/web-memory: such a pair stops with "
    "AmbiguousSelector",
    kinds=(*BOTH, "ScaledObject"),
)
def two_autoscalers(world: World) -> Iterator[Hit]:
    for target, claims in world.claims.items():
        rivals = _rivals(claims) if len(claims) > 1 else {}
        horizontal = sum(1 for key in rivals if key.kind != WPA.KIND)
        for one, item in rivals.items() if len(rivals) > 1 else ():
            alike = one.kind != WPA.KIND and horizontal > 1
            outcome = "such a pair stops with AmbiguousSelector" if alike else "they undo each other's writes"
            others = some((key for key in rivals if key != one), len(rivals) - 1)
            yield Hit(item, ("spec", "scaleTargetRef"), f"{target} is also scaled by {others}: {outcome}")


def _rivals(claims: list[Claim]) -> dict[Key, Item]:
    """Those that really write, each once however often the input holds it."""
    items = {claim.item.key: claim.item for claim in claims if claim.item.name}
    if len(items) < 2:
        return items
    made = {(item.kind, item.name) for item in items.values()}
    taken = {
        text(dig(item.spec, "advanced", "horizontalPodAutoscalerConfig", "name"))
        for item in items.values()
        if item.annotations.get(_TAKES_OVER) == "true"
    }
    return {key: item for key, item in items.items() if not item.owners & made and item.name not in taken}


@RIVALS.rule(
    "ambiguous-selector",
    "error",
    title="Two targets whose selectors match the same pods",
    why="Before it computes anything the controller asks which HorizontalPodAutoscalers select a pod. If one pod "
    "belongs to two of them, both stop: ScalingActive is False with reason AmbiguousSelector.",
    fix="give each workload a label of its own, in its selector and its pod template",
    example="Deployment shop/web and Deployment shop/api select the same pods: their autoscalers stop with "
    "AmbiguousSelector",
    kinds=HPA_ONLY,
)
def ambiguous_selector(world: World) -> Iterator[Hit]:
    shared: dict[Key, tuple[Workload, ...]] = {}
    seen: set[int] = set()
    for key, workload in world.workloads.items():
        if workload.template is None or workload.item.controlled:
            continue
        group = world.pods_scaled_by_hpa.matching(key.namespace, workload.template.labels)
        if len(group) < 2 or id(group) in seen:
            continue
        seen.add(id(group))
        for one in group:
            shared.setdefault(one.key, group)
    for hpa in world.hpas:
        rivals = shared.get(hpa.target) if hpa.target is not None else None
        if rivals is not None and not hpa.item.owners:
            others = some((other.key for other in rivals if other.key != hpa.target), len(rivals) - 1)
            words = f"{hpa.target} and {others} select the same pods: their autoscalers stop with AmbiguousSelector"
            yield Hit(hpa.item, ("spec", "scaleTargetRef"), words)


@RIVALS.rule(
    "vpa-conflict",
    "error",
    title="A VerticalPodAutoscaler steers the resource that replicas are scaled on",
    why="Replicas follow usage per request or per pod, and the VerticalPodAutoscaler changes the request from the same "
    "usage. Each reacts to what the other did, and together they run away. Modes Off and Initial, and containers "
    "whose policy is Off, are no conflict; nor are Pods, Object and External metrics.",
    fix="scale on another metric, take the resource out of controlledResources, or set updateMode to Off",
    example="VerticalPodAutoscaler shop/web sets the cpu requests of container app, which this metric scales on",
    kinds=BOTH,
)
def vpa_conflict(world: World) -> Iterator[Hit]:
    steering: dict[Key, list[Item]] = defaultdict(list)
    for vpa in world.of_kind("autoscaling.k8s.io", "VerticalPodAutoscaler"):
        if _updates(vpa):
            steering[reference_key(vpa, "targetRef")].append(vpa)
    for scaler, where, resource, container in _measured(world) if steering else ():
        for vpa in steering.get(scaler.target, ()) if scaler.target is not None else ():
            steered = _steered(world, scaler, vpa, resource, container)
            if steered:
                words = f"{vpa} sets the {resource} requests of {_containers(steered)}, which this metric scales on"
                yield Hit(scaler.item, where, words)


def _measured(world: World) -> Iterator[tuple[Autoscaler[HPA] | Autoscaler[WPA], Where, str, str]]:
    """Every metric that is a resource of the pods."""
    for use in world.resource_uses:
        yield use.scaler, use.where, use.resource, use.container
    for wpa in world.wpas:
        for i, metric in enumerate(wpa.spec.metrics or ()):
            if metric.type == "Resource" and metric.resource is not None:
                yield wpa, ("spec", "metrics", i, "resource"), metric.resource.name or "", ""


def _containers(names: list[str]) -> str:
    if names == ["*"]:
        return "the containers"
    return f"container{'s' if len(names) > 1 else ''} {some(names)}"


def _updates(vpa: Item) -> bool:
    """Whether it changes pods that run; an unquoted Off is YAML's false."""
    return dig(vpa.spec, "updatePolicy", "updateMode") not in ("Off", "Initial", False)


def _steered(
    world: World, scaler: Autoscaler[HPA] | Autoscaler[WPA], vpa: Item, resource: str, container: str
) -> list[str]:
    """The containers of the metric whose requests for the resource are set."""
    template = world.template_of(scaler)
    names = [container] if container else [one.name for one in template.running] if template is not None else ["*"]
    policies = {
        text(dig(one, "containerName")): mapping(one)
        for one in reversed(sequence(dig(vpa.spec, "resourcePolicy", "containerPolicies")))
    }
    return [name for name in names if _controls(policies.get(name) or policies.get("*") or {}, resource)]


def _controls(policy: Mapping[str, Any], resource: str) -> bool:
    controlled = policy.get("controlledResources")
    named = controlled if isinstance(controlled, list) else ["cpu", "memory"]
    return policy.get("mode") not in ("Off", False) and resource in named
