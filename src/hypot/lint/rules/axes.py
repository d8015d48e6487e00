"""Rules over Hvpas: sources that drown each other, and the weights that intervals replace."""

from collections.abc import Iterator

from hypot.lint.input.world import InputWorld
from hypot.lint.rule import HVPA_ONLY, Hit, RuleFamily
from hypot.lint.rules.weights import interval_form

AXES = RuleFamily("Both axes", "Hvpas, which decide replicas and size together.")

_FULL = 100
_UNSAFE = (
    "the outcome depends on which of HPA and VPA acts first; at weight 50 a need of 5 cores gets 3 pods of 3; a "
    "recommendation below minChange lets a pod starve; at weight 0 pods that once grew stay large. hypot decides by "
    "intervals only"
)


@AXES.rule(
    "hpa-dominates",
    "advice",
    title="A utilisation below 100 % beside recommended sizes",
    why="Of several sources the one that asks for most replicas wins. An HPA with a target below 100 % asks for more "
    "replicas whenever pods use what they were sized for, so it drowns the recommended sizes and holds the replicas "
    "up. Without metrics its target is 80 % of cpu.",
    fix="write an averageUtilization of 100 or more, or deploy: false for one of the two sources",
    example="70 % of the cpu request: at the recommended size the HPA asks for more replicas, and its wish wins",
    kinds=HVPA_ONLY,
)
def hpa_dominates(world: InputWorld) -> Iterator[Hit]:
    sized = {id(one.item) for one in world.hvpas if one.spec.uses_vpa}
    for use in world.resource_uses if sized else ():
        percent = use.target.utilization
        if id(use.scaler.item) not in sized or percent is None or use.target.average is not None or percent >= _FULL:
            continue
        unwritten = use.where[-1] == "metrics"
        default = " (no metrics are written, so that is the default)" if unwritten else ""
        message = f"{percent} % of the {use.resource} request: at the recommended size the HPA asks for more replicas, "
        where = use.where if unwritten else (*use.where, "target", "averageUtilization")
        yield Hit(use.scaler.item, where, f"{message}and its wish wins{default}")


@AXES.rule(
    "weight-based",
    "warning",
    title="Weights in the place of intervals",
    why="The released controller blends what HPA and VPA ask for at the moment, by a weight that depends on the "
    "current count. GEP-23 tells what came of it. The outcome depends on who acts first, not on the need. The two "
    "changes add up as if they did not multiply: one pod of one core that needs 5 becomes 3 pods of 3, which is 9. A "
    "recommendation below minChange is not applied although the pod starves. Pods that grew and became few stay large "
    "where the weight is 0. hypot keeps weights, and decides by intervals only.",
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
