"""Rules for Tortoises and the HorizontalPodAutoscalers that they edit."""

from collections.abc import Iterator

from hypot.core.amount import RESOURCES
from hypot.kinds.tortoise.policies import OFF, written_policies
from hypot.kinds.tortoise.settings import PLAIN_FORMULA, PREFIX, annotation_problems
from hypot.lint.input.world import InputWorld
from hypot.lint.rule import TORTOISE_ONLY, Hit, RuleFamily
from hypot.policy.tortoise.edited_hpa import target_of, targets_in
from hypot.policy.tortoise.policies import measured_by_pod

TORTOISES = RuleFamily("Tortoises", "What a Tortoise learns and edits.", kinds=TORTOISE_ONLY)
_TARGET_RULE = f"{PREFIX}target-rule"


@TORTOISES.rule(
    "two-targets",
    "warning",
    title="A container with two target utilizations",
    why="An External metric that an annotation of the HPA declares as the utilization of a container counts before the "
    "ContainerResource metric of the same container. Both get the same target.",
    fix="keep one of the two metrics",
    example="cpu of app is also measured by the External metric ext-app, which counts",
)
def two_targets(world: InputWorld) -> Iterator[Hit]:
    for tortoise in world.tortoises:
        hpa = world.hpa_of(tortoise)
        if hpa is None:
            continue
        metrics = hpa.spec.metrics or ()
        found = [(number, metric, target_of(metric, hpa.spec)) for number, metric in enumerate(metrics)]
        external = {
            target.place: metric.external.metric.name
            for _, metric, target in found
            if target is not None and target.external and metric.external is not None and metric.external.metric
        }
        for number, _, target in found:
            if target is not None and not target.external and target.place in external:
                container, resource = target.place
                name = external[target.place]
                message = f"{resource} of {container} is also measured by the External metric {name}, which counts"
                yield Hit(hpa.item, ("spec", "metrics", number), message)


@TORTOISES.rule(
    "hpa-target",
    "error",
    title="A Tortoise that names the HPA of another workload",
    why="The HPA would get bounds that were learned from a workload that it does not scale. hypot does not edit it.",
    fix="name an HPA of the same workload, or none",
    example="HorizontalPodAutoscaler web scales Deployment shop/other, and this Tortoise Deployment shop/web",
)
def hpa_target(world: InputWorld) -> Iterator[Hit]:
    for tortoise in world.tortoises:
        hpa = world.hpa_of(tortoise)
        if hpa is not None and hpa.target and tortoise.target and hpa.target != tortoise.target:
            message = (
                f"HorizontalPodAutoscaler {hpa.item.name} scales {hpa.target}, and this Tortoise {tortoise.target}"
            )
            yield Hit(tortoise.item, ("spec", "targetRefs"), message)


@TORTOISES.rule(
    "measured-by-pod",
    "warning",
    title="A named HPA that measures usage by pod only",
    why="A Tortoise learns the need of a container. A metric of type Resource is for whole pods, so hypot does not "
    "edit it, and the resource is Off. Without any Horizontal resource the HPA is not edited at all.",
    fix="replace the metric by one of type ContainerResource, or write autoscalingPolicy",
    example="HorizontalPodAutoscaler web measures cpu by pod and nothing by container, so it is not edited",
)
def by_pod(world: InputWorld) -> Iterator[Hit]:
    for tortoise in world.tortoises:
        hpa = world.hpa_of(tortoise)
        if hpa is None or not tortoise.spec.names_hpa or tortoise.spec.autoscaling_policy or targets_in(hpa.spec):
            continue
        found = sorted(measured_by_pod(hpa.spec) & set(RESOURCES))
        if found:
            measures = f"measures {' and '.join(found)} by pod and nothing by container"
            message = f"HorizontalPodAutoscaler {hpa.item.name} {measures}, so it is not edited"
            yield Hit(tortoise.item, ("spec", "targetRefs", "horizontalPodAutoscalerName"), message)


@TORTOISES.rule(
    "policy-without-request",
    "warning",
    title="A policy for a resource that has no request",
    why="Utilization is usage as a share of the request, and a size is a request. Without one the resource is Off.",
    fix="add a request of this resource to the container in the pod template",
    example="container app of Deployment shop/web has no request of cpu, so cpu is Off, not Horizontal",
)
def policy_without_request(world: InputWorld) -> Iterator[Hit]:
    for tortoise in world.tortoises:
        template = world.template_of(tortoise)
        for number, item in enumerate(tortoise.spec.autoscaling_policy or () if template is not None else ()):
            name = item.container_name or ""
            written = written_policies((item,)).get(name, {})
            missing = [
                resource
                for resource, word in written.items()
                if word != OFF and template is not None and template.without_request(resource, name)
            ]
            for resource in missing:
                message = f"container {name} of {tortoise.target} has no request of {resource}"
                where = ("spec", "autoscalingPolicy", number, "policy", resource)
                yield Hit(tortoise.item, where, f"{message}, so {resource} is Off, not {written[resource]}")


@TORTOISES.rule(
    "namespace-setting",
    "error",
    title="An annotation of a namespace that has no effect on its Tortoises",
    why="A setting that is invalid, or that contradicts another one, is ignored for all Tortoises of the namespace.",
    fix="see docs/settings.md for the settings of Tortoises and their values",
    example="hypot.dev/tortoise-slot-hours: slot-hours 5 does not divide the 24 hours of a day",
)
def namespace_setting(world: InputWorld) -> Iterator[Hit]:
    for item in world.of_kind("", "Namespace"):
        for problem in annotation_problems(item.annotations):
            hint = f" ({problem.hint})" if problem.hint else ""
            if problem.severity != "error":
                # The administrator's settings may allow it.
                continue
            yield Hit(item, problem.where, f"{problem.where[-1]}: {problem.message}{hint}")


@TORTOISES.rule(
    "target-rings",
    "warning",
    title="A target utilization that may never come to rest",
    why="The original formula adds what is missing again and again: if the peak of usage is twice the target, the "
    "target goes from 70 to 30 and back. The default rule reaches the same target at once.",
    fix=f"remove the annotation {_TARGET_RULE}",
    example="the plain formula oscillates if the peak of usage is far above the target",
)
def target_rings(world: InputWorld) -> Iterator[Hit]:
    for tortoise in world.tortoises:
        if tortoise.item.annotations.get(_TARGET_RULE) == PLAIN_FORMULA:
            message = "the plain formula oscillates if the peak of usage is far above the target"
            yield Hit(tortoise.item, ("metadata", "annotations", _TARGET_RULE), message)
