"""Rules for the bounds of the replica count, and for other objects that limit it."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any, Final

from hypot.core.quantity import format_milli
from hypot.kinds.base import count_of
from hypot.kinds.pod_template import Template
from hypot.kinds.problem import some
from hypot.kinds.selector import Selector, selector_of
from hypot.kinds.values.nested import amount
from hypot.lint.input.item import Item, mapping, text, whole
from hypot.lint.input.labels import SelectorIndex
from hypot.lint.input.world import Claim, InputWorkload, InputWorld
from hypot.lint.rule import AUTOSCALER_ONLY, BOTH, Hit, RuleFamily

# The maximum of a ScaledObject that has none.
_KEDA_MOST = 100
BOUNDS = RuleFamily(
    "Bounds",
    "minReplicas, maxReplicas, and other objects that limit the replica count.",
    kinds=(*BOTH, *AUTOSCALER_ONLY),
)


@BOUNDS.rule(
    "single-replica",
    "advice",
    title="A minimum of one replica",
    why="With one pod every node drain, eviction or crash is an outage. minReplicas 0 is assumed to be intended.",
    fix="set minReplicas to 2 or more",
    example="minReplicas is not set, so it is 1: each drain or crash of that pod is an outage",
)
def single_replica(world: InputWorld) -> Iterator[Hit]:
    for one in world.counting:
        least, written = one.spec.min_replicas, one.written.min_replicas
        if least == 1 or written is None:
            said = "is not set, so it is 1" if written is None else "is 1"
            yield Hit(
                one.item, ("spec", "minReplicas"), f"minReplicas {said}: each drain or crash of that pod is an outage"
            )


@BOUNDS.rule(
    "min-equals-max",
    "warning",
    title="No room between minReplicas and maxReplicas",
    why="The autoscaler holds the count and never reacts to load.",
    fix="raise maxReplicas, or remove the autoscaler and set replicas on the workload",
    example="minReplicas and maxReplicas are both 3, so the replicas never change",
)
def min_equals_max(world: InputWorld) -> Iterator[Hit]:
    for one in world.counting:
        low, high = one.spec.min_replicas, one.spec.max_replicas
        if one.written.min_replicas is None:
            low = 1
        if high is not None and low == high:
            message = f"minReplicas and maxReplicas are both {high}, so the replicas never change"
            yield Hit(one.item, ("spec", "maxReplicas"), message)


@BOUNDS.rule(
    "scaled-object-bounds",
    "error",
    title="Bounds of a ScaledObject that KEDA refuses",
    why="KEDA makes no HorizontalPodAutoscaler of it, so nothing is scaled. Without bounds it has 0 to 100 replicas.",
    fix="write idleReplicaCount < minReplicaCount <= maxReplicaCount",
    example="minReplicaCount 5 is above maxReplicaCount 3",
    kinds=("ScaledObject",),
)
def scaled_object_bounds(world: InputWorld) -> Iterator[Hit]:
    for item in world.scaled_objects:
        low, high, idle = (
            whole(item.spec.get(key)) for key in ("minReplicaCount", "maxReplicaCount", "idleReplicaCount")
        )
        least, most = 0 if low is None else low, _KEDA_MOST if high is None else high
        if least > most:
            message = f"minReplicaCount {least} is above maxReplicaCount {most}"
            yield Hit(item, ("spec", "minReplicaCount" if low is not None else "maxReplicaCount"), message)
        if most < 1:
            yield Hit(item, ("spec", "maxReplicaCount"), f"maxReplicaCount {most} allows no replica")
        if idle is not None and idle >= least:
            message = f"idleReplicaCount {idle} is not below minReplicaCount {least}"
            yield Hit(item, ("spec", "idleReplicaCount"), message)


@BOUNDS.rule(
    "pdb-blocks-evictions",
    "warning",
    title="A disruption budget that allows no eviction at the minimum",
    why="The budget requires every pod to be healthy: while the autoscaler is at its minimum, or at any count, as "
    "maxUnavailable: 0 does. No pod can be evicted, so node drains and upgrades hang. Percentages are rounded up, as "
    "the disruption controller does.",
    fix="write maxUnavailable: 1, or raise minReplicas above what the budget requires; the finding says what helps",
    example="requires 2 healthy pods, and there are 2 at the minimum of HorizontalPodAutoscaler shop/web: no pod can "
    "be evicted then",
    kinds=("PodDisruptionBudget",),
)
def pdb_blocks_evictions(world: InputWorld) -> Iterator[Hit]:
    for budget, workloads in _budgeted(world).items():
        claims = [_claims(world, budget, one) for one in workloads]
        scalers = {str(claim.item): None for found in claims for claim in found}
        least = _least_of_all(claims, workloads)
        for key in ("minAvailable", "maxUnavailable"):
            value = budget.spec.get(key)
            wanted = _wanted(key, value, least) if scalers and least is not None else None
            if wanted is not None and least is not None and wanted >= least:
                whose = some(list(scalers)) if len(workloads) == 1 else f"the {len(workloads)} workloads that it covers"
                enough = _enough(key, value, least)
                message = _blocked(value, wanted, least, whose) if enough else _ALWAYS
                yield Hit(budget, ("spec", key), message, _remedy(key, least, enough, len(workloads)))


_ALWAYS: Final = "requires all pods to be healthy, however many there are: no pod can ever be evicted"


def _enough(key: str, value: Any, least: int) -> int | None:
    """How many pods there must be so that one may go; None if none ever may."""
    if key == "maxUnavailable":
        return None
    if (number := whole(value)) is not None:
        return number + 1
    return next((pods for pods in range(least, 101) if (_share(value, pods) or 0) < pods), None)


def _blocked(value: Any, wanted: int, least: int, whose: str) -> str:
    at_least = f"at the minimum of {whose}: no pod can be evicted then"
    if whole(value) is None:
        return f"requires {text(value)} of the pods, which is {wanted} of {least} {at_least}"
    return f"requires {count_of(wanted, 'healthy pod')}, and there {'is' if least == 1 else 'are'} {least} {at_least}"


def _remedy(key: str, least: int, enough: int | None, workloads: int) -> str:
    one = "set maxUnavailable: 1" if key == "maxUnavailable" else "replace minAvailable by maxUnavailable: 1"
    more = f"raise minReplicas {'to' if workloads == 1 else 'until there are'} {enough}"
    alone = "; with one pod, each eviction is an outage" if least == 1 else ""
    return f"{one}, or {more}{alone}" if enough else f"{one}{alone}"


def _budgeted(world: InputWorld) -> dict[Item, list[InputWorkload]]:
    """The disruption budgets, and the workloads whose pods each covers."""
    budgets = [
        (item.namespace, chosen, item)
        for item in world.of_kind("policy", "PodDisruptionBudget")
        if (chosen := _budget_selector(item)) is not None
    ]
    found: dict[Item, list[InputWorkload]] = defaultdict(list)
    if not budgets:
        return found
    index = SelectorIndex(budgets)
    for key, workload in world.workloads.items():
        if workload.template is None or workload.item.controlled or key.kind in {"Job", "CronJob", "DaemonSet"}:
            continue
        for budget in index.matching(key.namespace, workload.template.labels):
            if world.meets(budget, workload):
                found[budget].append(workload)
    return found


def _claims(world: InputWorld, budget: Item, workload: InputWorkload) -> list[Claim]:
    return [claim for claim in world.claims.get(workload.key, ()) if not world.apart(budget, claim.item)]


def _budget_selector(item: Item) -> Selector | None:
    """An empty selector matches every pod of the namespace in policy/v1, and no pod in earlier versions."""
    selector = selector_of(item.spec.get("selector"))
    if selector is not None and not selector.requirements and item.api_version != "policy/v1":
        return None
    return selector


def _least_of_all(claims: list[list[Claim]], workloads: list[InputWorkload]) -> int | None:
    """The fewest pods of all these workloads together, if that is known."""
    found = [_least(*each) for each in zip(claims, workloads, strict=True)]
    return sum(one or 0 for one in found) if None not in found else None


def _least(claims: list[Claim], workload: InputWorkload) -> int | None:
    """The fewest pods that a workload has while it has any; None if a placeholder says it."""
    known = [claim.least for claim in claims if claim.least is not None]
    if claims:
        return max(1, *known) if len(known) == len(claims) else None
    replicas = whole(workload.item.spec.get("replicas"))
    return 1 if replicas is None else replicas


def _wanted(key: str, value: Any, pods: int) -> int | None:
    """How many pods must stay healthy, or None if the budget does not say."""
    share = _share(value, pods)
    if share is None:
        return None
    return share if key == "minAvailable" else max(0, pods - share)


def _share(value: Any, pods: int) -> int | None:
    if whole(value) is not None:
        return whole(value)
    percent = text(value).removesuffix("%")
    return -(-int(percent) * pods // 100) if value != percent and percent.isdecimal() else None


@BOUNDS.rule(
    "quota-too-small",
    "warning",
    title="A namespace quota that is too small for maxReplicas",
    why="The API server rejects pods beyond the quota. The autoscaler keeps asking for them, the workload stays "
    "short of pods, and other workloads in the namespace have no quota left.",
    fix="raise the quota, lower maxReplicas, or lower the requests per pod",
    example="20 pods need 10 requests.cpu, and ResourceQuota shop/compute allows 4, enough for 8 pods",
)
def quota_too_small(world: InputWorld) -> Iterator[Hit]:
    quotas: dict[str, list[Item]] = defaultdict(list)
    for item in world.of_kind("", "ResourceQuota"):
        if not item.spec.get("scopes") and not item.spec.get("scopeSelector"):
            quotas[item.namespace].append(item)
    if not quotas:
        return
    for one in world.counting:
        template, most = world.template_of(one), whole(one.item.spec.get("maxReplicas"))
        for quota in quotas.get(one.item.namespace, ()) if template is not None and most is not None else ():
            if not world.governs(quota, one.item):
                continue
            for message in _over(quota, template, most or 0):
                yield Hit(one.item, ("spec", "maxReplicas"), message)


def _over(quota: Item, template: Template | None, most: int) -> Iterator[str]:
    for key, value in mapping(quota.spec.get("hard")).items():
        per_pod = _per_pod(key, template)
        allowed = amount(value)
        if per_pod and allowed is not None and per_pod * most > allowed:
            binary = "memory" in key
            asked, room = format_milli(per_pod * most, binary), format_milli(allowed, binary)
            wanted = f"{count_of(most, 'pod')} {'needs' if most == 1 else 'need'} {asked} {key}"
            yield f"{wanted}, and {quota} allows {room}, enough for {count_of(allowed // per_pod, 'pod')}"


def _per_pod(key: str, template: Template | None) -> int | None:
    """What one pod uses of a quota, in milli-units, or None if unknown."""
    if template is None:
        return None
    if key in {"pods", "count/pods"}:
        return 1000
    side, _, resource = key.rpartition(".")
    if resource not in {"cpu", "memory"} or side not in {"", "requests", "limits"}:
        return None
    return template.limit(resource) if side == "limits" else template.request(resource)
