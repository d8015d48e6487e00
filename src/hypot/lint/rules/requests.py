"""Rules for resource metrics and the requests and limits of the pods."""

from collections.abc import Iterator

from hypot.core.quantity import format_milli, milli
from hypot.core.replicas.ratio import first_above, utilization
from hypot.kinds.hpa import HPA
from hypot.kinds.names import container_resource
from hypot.kinds.problem import Where
from hypot.kinds.version import gate_open
from hypot.lint.input.item import dig, some
from hypot.lint.input.template import Template
from hypot.lint.input.world import Autoscaler, InputWorld, ResourceUse, metrics_of
from hypot.lint.rule import BOTH, HPA_ONLY, HVPA_ONLY, MEASURING, Hit, RuleFamily
from hypot.policy.horizontal.hpa import tolerances
from hypot.policy.model.settings import Settings

REQUESTS = RuleFamily("Resources", "Resource metrics, and the requests and limits of the target's pods.")

SERVED = frozenset({"cpu", "memory"})
_MEBIBYTE = 2**20 * 1000


@REQUESTS.rule(
    "request-missing",
    "error",
    title="A utilisation target without the request it is a percentage of",
    why="Utilisation is usage divided by the request. If one container of the pod (native sidecars count, ordinary "
    "init containers do not) has no request for the resource, the controller reports FailedGetResourceMetric and the "
    "metric never works. While any metric fails, the others can still add pods but never remove one.",
    fix="set the request on every container, or on the pod (Kubernetes 1.34 and later), or use an averageValue target",
    example="container app of Deployment shop/web has no cpu request, so 70 % of it cannot be computed "
    "(FailedGetResourceMetric): load never changes the replica count",
    kinds=HPA_ONLY,
)
def request_missing(world: InputWorld) -> Iterator[Hit]:
    for use in _of_objects(world):
        template = world.template_of(use.scaler)
        if template is None or use.target.average is not None or use.target.utilization is None:
            continue
        if use.resource not in SERVED:
            continue
        missing = template.without_request(use.resource, use.container)
        if missing:
            yield Hit(use.scaler.item, use.where, _missing_message(world, use, missing), _missing_hint(use, missing))
        elif template.request(use.resource, use.container) == 0:
            message = (
                f"the {use.resource} requests of {use.scaler.target} add up to 0, so utilisation cannot be computed"
            )
            yield Hit(use.scaler.item, use.where, message, f"request more than 0 {use.resource}")


def _of_objects(world: InputWorld) -> Iterator[ResourceUse]:
    """The metrics of HPA objects only. An Hvpa has other sources and adapts the sizes."""
    return (use for use in world.resource_uses if use.scaler.item.kind == HPA.KIND)


def _missing_message(world: InputWorld, use: ResourceUse, missing: list[str]) -> str:
    whose = f"{'container' if len(missing) == 1 else 'containers'} {some(missing)} of {use.scaler.target}"
    has = "has" if len(missing) == 1 else "have"
    reason = "FailedGetContainerResourceMetric" if use.container else "FailedGetResourceMetric"
    others = sum(1 for _ in metrics_of(use.scaler)) - 1
    outcome = (
        "load never changes the replica count"
        if not others
        else "the autoscaler can add pods on its other metrics but, while this one fails, never removes one"
    )
    default = "" if use.where[-1] != "metrics" else " (no metrics are set, so the default is 80 % of cpu)"
    target = f"{use.target.utilization} % of it cannot be computed ({reason})"
    return f"{whose} {has} no {use.resource} request, so {target}: {outcome}{default}{_pod_level_message(world, use)}"


def _pod_level_message(world: InputWorld, use: ResourceUse) -> str:
    workload = world.target_of(use.scaler)
    resources = dig(workload.item.spec, "template", "spec", "resources") if workload is not None else None
    if not resources or use.container or gate_open("PodLevelResources", world.kubernetes):
        return ""
    return "; the pod's own requests count from Kubernetes 1.34 on"


def _missing_hint(use: ResourceUse, missing: list[str]) -> str:
    places = "the container" if len(missing) == 1 else "each of them"
    return (
        f"set resources.requests.{use.resource} on {places}, or use an averageValue target; "
        "a LimitRange that sets it is used if it is in the input"
    )


@REQUESTS.rule(
    "container-missing",
    "error",
    title="A ContainerResource metric names a container that the pods do not have",
    why="The metric is read for that container alone. Without it there is no sample, the metric fails "
    "(FailedGetContainerResourceMetric), and while it fails nothing is scaled down. Ordinary init containers have "
    "ended before anything is measured.",
    fix="name a container of the pod template; a container that is injected later is not visible here, so silence "
    "the rule for it",
    example="Deployment shop/web has no container api; its containers are app and proxy",
    kinds=MEASURING,
)
def container_missing(world: InputWorld) -> Iterator[Hit]:
    for use in world.resource_uses:
        template = world.template_of(use.scaler)
        if not use.container or template is None or template.container(use.container) is not None:
            continue
        known = [one.name for one in template.running]
        ended = any(one.name == use.container for one in template.before)
        message = f"{use.container} of {use.scaler.target} is an init container and has ended when pods are measured"
        if not ended:
            message = f"{use.scaler.target} has no container {use.container}; its containers are {some(known)}"
        yield Hit(use.scaler.item, (*use.where, "container"), message)


@REQUESTS.rule(
    "resource-not-served",
    "error",
    title="A resource that the resource metrics API never serves",
    why="The API server takes any name, but metrics.k8s.io knows cpu and memory only, so the metric always fails.",
    fix="use cpu or memory, or use a custom or external metric",
    example="nvidia.com/gpu is not served by metrics.k8s.io, only cpu and memory are: the metric always fails",
    kinds=(*BOTH, *HVPA_ONLY),
)
def resource_not_served(world: InputWorld) -> Iterator[Hit]:
    for use in world.resource_uses:
        refused = use.container and any(container_resource(use.resource))
        if use.resource and use.resource not in SERVED and not refused:
            yield Hit(use.scaler.item, (*use.where, "name"), _not_served(use.resource))
    for wpa in world.wpas:
        for i, metric in enumerate(wpa.spec.metrics or ()):
            name = metric.resource.name if metric.type == "Resource" and metric.resource is not None else None
            if name and name not in SERVED:
                yield Hit(wpa.item, ("spec", "metrics", i, "resource", "name"), _not_served(name))


def _not_served(name: str) -> str:
    return f"{name} is not served by metrics.k8s.io, only cpu and memory are: the metric always fails"


@REQUESTS.rule(
    "target-unreachable",
    "warning",
    title="A target that usage cannot exceed, because the limit comes first",
    why="Usage stops at the limit: cpu is throttled, memory leads to an OOM kill. Replicas are added only when usage "
    "exceeds the target by more than the tolerance (10 % unless set). If that point is at or above the limit, this "
    "metric never adds a pod.",
    fix="lower the target, raise the limit, or drop the cpu limit",
    example="Deployment shop/web cannot use more than 100 % of its cpu request (request 500m, limit 500m), but this "
    "metric adds pods only from 105 % on",
    kinds=HPA_ONLY,
)
def target_unreachable(world: InputWorld) -> Iterator[Hit]:
    for use in _of_objects(world):
        template = world.template_of(use.scaler)
        limit = template.limit(use.resource, use.container) if template is not None else None
        if template is None or not limit or use.resource not in SERVED:
            continue
        message = _unreachable(use, template, limit, up_tolerance(world, use.scaler))
        if message:
            yield Hit(use.scaler.item, _target_place(use), message)


def _unreachable(use: ResourceUse, template: Template, limit: int, tolerance: float) -> str:
    whose = f"container {use.container} of {use.scaler.target}" if use.container else str(use.scaler.target)
    binary = use.resource == "memory"
    most = format_milli(limit, binary)
    if use.target.average is not None:
        enough = first_above(max(1, milli(use.target.average)), tolerance)
        if limit >= enough:
            return ""
        stop = f"cannot use more than its {use.resource} limit of {most}"
        return f"{whose} {stop}, but this metric adds pods only from {_readable(enough, use.resource)} on"
    request, percent = template.request(use.resource, use.container), use.target.utilization or 0
    if not request or percent < 1:
        return ""
    reach, enough = utilization(limit, request), first_above(percent, tolerance)
    if reach >= enough:
        return ""
    figures = f"request {format_milli(request, binary)}, limit {most}"
    stop = f"cannot use more than {reach} % of its {use.resource} request ({figures})"
    return f"{whose} {stop}, but this metric adds pods only from {enough} % on"


def _readable(amount: int, resource: str) -> str:
    """An amount for display: memory is rounded up to mebibytes."""
    if resource != "memory" or amount < _MEBIBYTE:
        return format_milli(amount, binary=resource == "memory")
    return f"{-(-amount // _MEBIBYTE)}Mi"


def up_tolerance(world: InputWorld, hpa: Autoscaler[HPA]) -> float:
    """How far above its target usage must be before pods are added. Controller flags are unknown here."""
    return tolerances(hpa.spec, Settings(kubernetes=world.kubernetes))[1]


def _target_place(use: ResourceUse) -> Where:
    return use.where if use.where[-1] == "metrics" else (*use.where, "target")
