"""Rules for an autoscaler and the object that it points at."""

from collections import defaultdict
from collections.abc import Iterator

from hypot.core.similar import similar
from hypot.kinds import identity
from hypot.kinds.base import count_of
from hypot.kinds.catalogue import info_of
from hypot.kinds.hpa import HPA
from hypot.kinds.known_kinds import WORKLOAD_GROUPS, unfit
from hypot.kinds.problem import some
from hypot.kinds.values.version import SCALE_TARGET_NEEDS_GROUP
from hypot.lint.input.item import Item, Key, whole
from hypot.lint.input.world import AnyAutoscaler, InputWorkload, InputWorld
from hypot.lint.rule import HPA_ONLY, POINTING, Hit, RuleFamily, first_of

TARGET_NOT_GIVEN = "target-not-given"
TARGET = RuleFamily("Target", "The object that an autoscaler points at.", kinds=POINTING)

# How alike a name is that may be meant.
_SIMILAR = 0.8
_SPELLINGS = {kind.lower(): kind for kind in WORKLOAD_GROUPS}


@TARGET.rule(
    "target-kind",
    "error",
    title="A reference to a well-known kind with a wrong group or spelling",
    why="Kind and API group are looked up exactly as written. If the group does not have the kind, the controller "
    "reports FailedGetScale and does nothing. A VerticalPodAutoscaler finds built-in kinds in any group, and "
    "reports ConfigUnsupported for a kind that it does not find.",
    fix="write the kind as Kubernetes does, with its group: apps/v1 Deployment",
    example="there is no Deployment in extensions/v1beta1: FailedGetScale, and nothing is scaled",
)
def target_kind(world: InputWorld) -> Iterator[Hit]:
    for one in world.autoscalers:
        ref = one.spec.target
        kind = _meant(one) if ref is not None else None
        if ref is None or kind is None:
            continue
        group = WORKLOAD_GROUPS[kind]
        right = f"write apiVersion: {f'{group}/' if group else ''}v1 and kind: {kind}"
        outcome = "FailedGetScale, and nothing is scaled"
        if not info_of(one.written).counts:
            outcome = "ConfigUnsupported, and nothing is sized"
        if ref.kind != kind:
            message = f"{ref.kind} is not how Kubernetes spells {kind}: {outcome}"
            yield Hit(one.item, (*one.reference, "kind"), message, right)
        elif one.target is not None and one.target.group != group and not _refused(world, one):
            message = f"there is no {kind} in {ref.api_version or 'the core group'}: {outcome}"
            yield Hit(one.item, (*one.reference, "apiVersion"), message, right)


def _meant(one: AnyAutoscaler) -> str | None:
    """The well-known kind that a reference means, ignoring case, if the autoscaler can scale or size that kind."""
    kind = _SPELLINGS.get(one.target.kind.lower()) if one.target is not None else None
    if kind is None or not info_of(one.written).counts:
        return kind
    return None if unfit(WORKLOAD_GROUPS[kind], kind, counts=True) else kind


def _refused(world: InputWorld, one: AnyAutoscaler) -> bool:
    """Whether the API server itself rejects the missing group."""
    grouped = one.target is not None and bool(one.target.group)
    return isinstance(one.written, HPA) and not grouped and world.kubernetes >= SCALE_TARGET_NEEDS_GROUP


@TARGET.rule(
    "target-not-scalable",
    "error",
    title="A target that has no replica count",
    why="Only objects with a scale subresource can be scaled. For others the controller reports FailedGetScale. Sizes "
    "can also be set on a DaemonSet, a Job or a CronJob, but not on a Pod or a Service.",
    fix="point at the Deployment, StatefulSet or custom resource that owns the pods",
    example="a DaemonSet has no scale subresource (it runs one pod on each node)",
)
def target_not_scalable(world: InputWorld) -> Iterator[Hit]:
    for one in world.autoscalers:
        why = _unfit(one)
        if why and one.target is not None and not _refused(world, one):
            yield Hit(
                one.item,
                (*one.reference, "kind"),
                f"{_article(one.target.kind)} {one.target.kind} has no scale subresource ({why})",
            )


def _article(word: str) -> str:
    return "an" if word[:1] in "AEIO" else "a"


def _unfit(one: AnyAutoscaler) -> str:
    """Why the autoscaler cannot act on such a target; empty if it can."""
    if one.target is None:
        return ""
    return unfit(one.target.group, one.target.kind, counts=info_of(one.written).counts)


def _absent(world: InputWorld) -> Iterator[tuple[AnyAutoscaler, Key]]:
    for one in world.autoscalers:
        target = one.target
        if target is not None and target not in world.workloads and not _unfit(one) and _is_well_written(one):
            yield one, target


def _is_well_written(one: AnyAutoscaler) -> bool:
    known = _meant(one)
    return known is None or (one.target is not None and one.target[:2] == (WORKLOAD_GROUPS[known], known))


def _beside(world: InputWorld, one: AnyAutoscaler, target: Key) -> tuple[bool, str]:
    """Whether the target should be in the input, and the name that may be meant.

    Its folder has others of its kind and namespace, or the input has one of a similar name. Far away in a repository,
    workloads of other names say nothing.
    """
    others = [each for each in world.workloads_of.get(target[:3], []) if not world.apart(one.item, each.item)]
    near = similar(target.name, {workload.key.name for workload in others}, 1, _SIMILAR)
    hint = f"did you mean {near[0]}?" if near else ""
    return bool(near) or any(workload.item.folder == one.item.folder for workload in others), hint


def _elsewhere(world: InputWorld, one: AnyAutoscaler, target: Key) -> str:
    if not one.item.metadata.get("namespace"):
        return ""
    namespaces = world.namespaces_of.get((target.group, target.kind, target.name), [])
    if not namespaces or target.namespace in namespaces:
        return ""
    return f"; there is one in namespace {some(sorted(namespaces))}, but an autoscaler reaches only its own namespace"


@TARGET.rule(
    "target-missing",
    "warning",
    title="A missing target, although the input has others of its kind",
    why="The same folder has workloads of that kind and namespace, or the input has one of a similar name or one of "
    "that name in another namespace, but not the target. With a mistyped name nothing is scaled or sized.",
    fix="correct the name or the namespace, or add the workload to the input",
    example="there is no Deployment shop/wbe in the input, which has others of its kind and namespace",
)
def target_missing(world: InputWorld) -> Iterator[Hit]:
    for one, target in _absent(world):
        elsewhere = _elsewhere(world, one, target)
        beside, near = _beside(world, one, target)
        if world.complete:
            yield Hit(one.item, (*one.reference, "name"), f"there is no {target}{elsewhere}", near)
        elif beside:
            message = f"there is no {target} in the input, which has others of its kind and namespace{elsewhere}"
            yield Hit(one.item, (*one.reference, "name"), message, near)
        elif elsewhere:
            yield Hit(one.item, (*one.reference, "name"), f"there is no {target} in the input{elsewhere}")


@TARGET.rule(
    TARGET_NOT_GIVEN,
    "advice",
    title="The target is not in the input",
    why="Most rules look at the autoscaler together with its workload: requests, containers, selectors, budgets. "
    "Without the workload they report nothing.",
    fix="pass the workload's manifest too, or a dump of the namespace",
    example="Deployment shop/web is not in the input, so nothing that depends on its pods was checked",
)
def target_not_given(world: InputWorld) -> Iterator[Hit]:
    for one, target in _absent(world):
        if not world.complete and not _beside(world, one, target)[0] and not _elsewhere(world, one, target):
            message = f"{target} is not in the input, so nothing that depends on its pods was checked"
            yield Hit(one.item, (*one.reference, "name"), message)


def _replicas(world: InputWorld) -> Iterator[tuple[InputWorkload, int, list[Item]]]:
    """Every scaled workload with a replica count, including an Hvpa that an HPA scales."""
    for target, claims in world.claims.items():
        workload = world.workloads.get(target)
        replicas = whole(workload.item.spec.get("replicas")) if workload is not None else None
        if workload is not None and replicas is not None:
            yield workload, replicas, [claim.item for claim in claims]


@TARGET.rule(
    "replicas-on-target",
    "warning",
    title="A fixed replica count on a workload that is scaled",
    why="Each time the manifest is applied, the workload jumps to this count regardless of load, until the autoscaler "
    "corrects it. Objects read from a cluster are exempt: there the field is always filled in. So is an Hvpa that an "
    "HPA scales: it needs an initial count.",
    fix="leave spec.replicas out; for a running workload, remove it from the last applied configuration first "
    "(`kubectl apply edit-last-applied`), otherwise it is set to 1 once",
    example="every apply sets 3 replicas and overrides HorizontalPodAutoscaler shop/web",
    kinds=("Deployment", "StatefulSet", "ReplicaSet", "any kind with replicas"),
)
def replicas_on_target(world: InputWorld) -> Iterator[Hit]:
    for workload, replicas, scalers in _replicas(world):
        if replicas and not workload.item.live and workload.key.kind != identity.HVPA.kind:
            names = some(list(dict.fromkeys(map(str, scalers))))
            message = f"every apply sets {count_of(replicas, 'replica')} and overrides {names}"
            yield Hit(workload.item, ("spec", "replicas"), message, others=first_of(scalers))


@TARGET.rule(
    "target-at-zero",
    "advice",
    title="The target has 0 replicas, which switches its autoscaler off",
    why="A workload at 0 that its autoscaler did not scale to 0 counts as paused: ScalingActive is False with "
    "reason ScalingDisabled until someone sets another count.",
    fix="set at least one replica (or leave the field out) to switch the autoscaler on",
    example="0 replicas switch HorizontalPodAutoscaler shop/web off (ScalingDisabled)",
    kinds=("Deployment", "StatefulSet", "ReplicaSet", "any kind with replicas"),
)
def target_at_zero(world: InputWorld) -> Iterator[Hit]:
    for workload, replicas, scalers in _replicas(world):
        off = [one for one in scalers if one.kind != "ScaledObject" and one.spec.get("minReplicas") != 0]
        if replicas == 0 and off:
            reason = "" if all(one.kind == identity.HVPA.kind for one in off) else " (ScalingDisabled)"
            message = f"0 replicas switch {some(off)} off{reason}"
            yield Hit(workload.item, ("spec", "replicas"), message)


@TARGET.rule(
    "foreign-pods",
    "warning",
    title="Pods of another workload count as the target's",
    why="A HorizontalPodAutoscaler uses every pod that the target's selector matches, regardless of its owner. Pods of "
    "a Job or a canary with the same labels are included in the average, and one of them without a request stops the "
    "whole metric.",
    fix="give the target's pods and selector a label that the others do not have",
    example="the selector of Deployment shop/web also matches the pods of Job shop/migrate, so their usage is counted",
    kinds=HPA_ONLY,
)
def foreign_pods(world: InputWorld) -> Iterator[Hit]:
    strangers: dict[Key, list[Item]] = defaultdict(list)
    for key, workload in world.workloads.items():
        if workload.template is None or workload.item.controlled:
            continue
        selecting = world.met_by(
            workload.item, world.pods_scaled_by_hpa.matching(key.namespace, workload.template.labels)
        )
        # A target without pods of its own, such as a Balancer, selects those of the workloads behind it.
        if len(selecting) == 1 and selecting[0].key != key and selecting[0].template is not None:
            strangers[selecting[0].key].append(workload.item)
    for hpa in world.hpas:
        others = strangers.get(hpa.target) if hpa.target is not None else None
        if others:
            names = some(list(dict.fromkeys(map(str, others))))
            message = f"the selector of {hpa.target} also matches the pods of {names}, so their usage is counted"
            yield Hit(hpa.item, hpa.reference, message, others=first_of(others))
