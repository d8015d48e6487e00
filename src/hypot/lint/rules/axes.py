"""Rules for Hvpas: sources that override each other, and the weights that intervals replace."""

from collections.abc import Iterator

from hypot.lint.input.world import InputWorld
from hypot.lint.rule import HVPA_ONLY, Hit, RuleFamily
from hypot.lint.rules.weights import interval_form

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
        percent = use.target.utilization
        if id(use.scaler.item) not in sized or percent is None or use.target.average is not None or percent >= _FULL:
            continue
        unwritten = use.where[-1] == "metrics"
        default = " (no metrics are set, so this is the default)" if unwritten else ""
        message = f"{percent} % of the {use.resource} request: under a steady load this target asks for more than the"
        where = use.where if unwritten else (*use.where, "target", "averageUtilization")
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
