"""Rules for Hvpas: sources that override each other, pods that restart, and the weights that intervals replace."""

from collections.abc import Iterator

from hypot.core.amount import CPU
from hypot.core.axes.interval import HORIZONTAL_ONLY
from hypot.kinds.hvpa import Hvpa
from hypot.kinds.hvpa.intervals import counts_of
from hypot.kinds.problem import Where
from hypot.kinds.values.version import show_version
from hypot.kinds.vpa import RESIZES_IN_PLACE
from hypot.kinds.vpa.allowed import allowed
from hypot.lint.input.world import Autoscaler, InputWorld, writes
from hypot.lint.rule import HVPA_ONLY, Hit, RuleFamily
from hypot.lint.rules.weights import interval_form
from hypot.policy.model.plan import RESIZE_ANNOTATION, resizing_of

AXES = RuleFamily("Both axes", "Hvpas, which decide replicas and size together.")

# The size recommendation adds 15 % to usage, so it is used by 100 / 1.15 percent.
_FULL = 87
_UNSAFE = (
    "the outcome depends on whether HPA or VPA acts first; at weight 50 a need of 5 cores gets 3 pods of 3 cores; "
    "a recommendation below minChange leaves a pod starved; at weight 0 pods that were enlarged once stay large. "
    "hypot decides by intervals only"
)


@AXES.rule(
    "hpa-dominates",
    "advice",
    title="A utilisation target below 87 % together with recommended sizes",
    why="The larger total counts. The size recommendation adds 15 % to usage, so under a steady load the total of a "
    "target below 87 % is larger. Then recommended sizes count only where usage varies. Without metrics the target is "
    "80 % of cpu.",
    fix="keep it for more headroom, write an averageUtilization of 87 or more, or deploy: false for one of the two",
    example="70 % of the cpu request: under a steady load this target asks for more than the size recommendation",
    kinds=HVPA_ONLY,
)
def hpa_dominates(world: InputWorld) -> Iterator[Hit]:
    sized = {id(one.item) for one in world.hvpas if one.spec.uses_vpa}
    for use in world.resource_uses if sized else ():
        percent = use.metric.target.utilization
        if (
            id(use.scaler.item) not in sized
            or percent is None
            or use.metric.target.average is not None
            or percent >= _FULL
        ):
            continue
        unwritten = use.metric.where[-1] == "metrics"
        default = " (no metrics are set, so this is the default)" if unwritten else ""
        message = (
            f"{percent} % of the {use.metric.resource} request: under a steady load this target asks for more than the"
        )
        where = use.metric.where if unwritten else (*use.metric.where, "target", "averageUtilization")
        yield Hit(use.scaler.item, where, f"{message} size recommendation{default}")


@AXES.rule(
    "weight-based",
    "warning",
    title="Weights instead of intervals",
    why="The released controller blends the current proposals of HPA and VPA by a weight that depends on the "
    "current count. GEP-23 describes the problems. The outcome depends on which of them acts first, not on the need. "
    "The two changes are added although they multiply: one pod of one core that needs 5 becomes 3 pods of 3, which is "
    "9. A recommendation below minChange is not applied although the pod starves. Pods that became large and few stay "
    "large where the weight is 0. hypot preserves weights in the object, but decides by intervals only.",
    fix="write scalingIntervals, which depend on the total only; the finding shows the manifest in that form",
    example=_UNSAFE,
    kinds=HVPA_ONLY,
)
def weight_based(world: InputWorld) -> Iterator[Hit]:
    for hvpa in world.hvpas:
        if hvpa.spec.is_weight_based:
            form = interval_form(hvpa.spec, world.template_of(hvpa))
            hint = f"write scalingIntervals, which depend on the total only:\n{form}"
            yield Hit(hvpa.item, ("spec", "weightBasedScalingIntervals"), _UNSAFE, hint)


@AXES.rule(
    "restarts-pods",
    "advice",
    title="An Hvpa whose pods restart to change their size",
    why="While a pod restarts, the others do its work and use more. That reverses scale-downs, so hypot waits longer "
    "before the next one. In replays of 15 recorded loads without in-place resize, an Hvpa restarted 41 pods a day, "
    "cost 1.04 times as much as an HPA at 70 % (both in the median), and was later on 11 of them.",
    fix="resize pods in place, with Kubernetes 1.33 or newer and without resizePolicy RestartContainer; else use an "
    "HPA (docs/hvpa.md, Where pods restart)",
    example="Kubernetes 1.32 cannot resize pods in place, so they are evicted whenever their size changes; an HPA is "
    "usually cheaper there, and late less often",
    kinds=HVPA_ONLY,
)
def restarts_pods(world: InputWorld) -> Iterator[Hit]:
    for hvpa in world.hvpas:
        found = _why_pods_restart(world, hvpa) if writes(hvpa.item) and _scales_both_axes(hvpa.spec) else None
        if found is not None:
            where, why = found
            yield Hit(hvpa.item, where, f"{why}; an HPA is usually cheaper there, and late less often")


def _scales_both_axes(hvpa: Hvpa) -> bool:
    """An HPA is no alternative to an Hvpa that only sizes, and no pod restarts for one that only counts."""
    low, high = counts_of(hvpa)
    return high > low and any(one.extrapolation != HORIZONTAL_ONLY for one in hvpa.intervals or ())


def _why_pods_restart(world: InputWorld, hvpa: Autoscaler[Hvpa]) -> tuple[Where, str] | None:
    """Where it is written, and a clause. Of resizePolicy only cpu counts: memory changes rarely."""
    template = world.template_of(hvpa)
    containers = template.running if template is not None else ()
    sized = [one for one in containers if _sizes_cpu(hvpa.spec, one.name)]
    if containers and not sized:
        return None
    resizing = resizing_of(hvpa.spec.annotations)
    if resizing == "Template":
        why = f"{RESIZE_ANNOTATION} is {resizing}, so pods are replaced whenever their size changes"
        return ("metadata", "annotations", RESIZE_ANNOTATION), why
    if world.kubernetes < RESIZES_IN_PLACE and resizing != "InPlace":
        version = f"Kubernetes {show_version(world.kubernetes)}"
        return ("spec", "scalingIntervals"), (
            f"{version} cannot resize pods in place, so they are evicted whenever their size changes"
        )
    restarted = [one.name for one in sized if CPU in one.restarts]
    if restarted:
        return ("spec", "targetRef"), f"container {restarted[0]} restarts whenever its cpu changes, by its resizePolicy"
    return None


def _sizes_cpu(hvpa: Hvpa, container: str) -> bool:
    rules = allowed(hvpa, container)
    return not rules.switched_off and CPU in rules.controlled
