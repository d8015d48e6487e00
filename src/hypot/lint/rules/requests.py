"""Rules for resource metrics and the requests and limits of the pods."""

from collections.abc import Iterator

from hypot.core.amount import CPU
from hypot.core.quantity import format_milli, milli
from hypot.core.replicas.ratio import first_above, utilization
from hypot.kinds.hpa import HPA
from hypot.kinds.hpa.controller import TOLERANCE, tolerances_of
from hypot.kinds.hpa.resource_metric import SERVED, missing_container, missing_request
from hypot.kinds.pod_template import Template
from hypot.kinds.problem import Where
from hypot.kinds.values.names import container_resource
from hypot.kinds.values.nested import amount
from hypot.kinds.values.version import gate_open
from hypot.lint.input.item import Item, dig
from hypot.lint.input.world import Autoscaler, InputWorld, ResourceUse, metrics_of
from hypot.lint.rule import AUTOSCALER_ONLY, BOTH, HPA_ONLY, HVPA_ONLY, MEASURING, Hit, RuleFamily

REQUESTS = RuleFamily("Resources", "Resource metrics, and the requests and limits of the target's pods.")

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
        template, others = world.template_of(use.scaler), sum(1 for _ in metrics_of(use.scaler)) - 1
        lacks = None if template is None else missing_request(use.metric, template, use.scaler.target, others)
        if lacks is not None:
            message = f"{lacks.message}{_pod_level_message(world, use)}"
            hint = f"{lacks.hint}; a LimitRange that sets it is used if it is in the input"
            yield Hit(use.scaler.item, use.metric.where, message, hint, _workload(world, use))


def _workload(world: InputWorld, use: ResourceUse) -> tuple[Item, ...]:
    """Where the pods of the target are defined: in a repository, it may be far away, or another one than was meant."""
    workload = world.target_of(use.scaler)
    return () if workload is None else (workload.item,)


def _of_objects(world: InputWorld) -> Iterator[ResourceUse]:
    """The metrics of HPA objects only. An Hvpa has other sources and adapts the sizes."""
    return (use for use in world.resource_uses if use.scaler.item.kind == HPA.KIND)


def _pod_level_message(world: InputWorld, use: ResourceUse) -> str:
    workload = world.target_of(use.scaler)
    resources = dig(workload.item.spec, "template", "spec", "resources") if workload is not None else None
    if not resources or use.metric.container or gate_open("PodLevelResources", world.kubernetes):
        return ""
    return "; the pod's own requests count from Kubernetes 1.34 on"


@REQUESTS.rule(
    "container-missing",
    "error",
    title="A ContainerResource metric names a container that the pods do not have",
    why="The metric is read for that container alone. Without it there is no sample, the metric fails "
    "(FailedGetContainerResourceMetric), and while it fails nothing is scaled down. Ordinary init containers have "
    "ended before anything is measured. Known sidecars, such as those that Istio, Linkerd or Dapr inject, are not "
    "reported.",
    fix="name a container of the pod template; a container that is injected later is not visible here, so silence "
    "the rule for it",
    example="Deployment shop/web has no container api; its containers are app and proxy",
    kinds=MEASURING,
)
def container_missing(world: InputWorld) -> Iterator[Hit]:
    for use in world.resource_uses:
        template = world.template_of(use.scaler)
        absent = "" if template is None else missing_container(use.metric, template, use.scaler.target)
        if absent:
            yield Hit(use.scaler.item, (*use.metric.where, "container"), absent, others=_workload(world, use))


@REQUESTS.rule(
    "needs-cpu-request",
    "error",
    title="An Autoscaler whose pods have no container with a cpu request that it may size",
    why="The demand, the size of pods and what they cost are all in terms of the cpu request of one container: the one "
    "with the largest request, among those that the policies do not leave alone. Without it nothing is decided and "
    "nothing is learned (NoRequest).",
    fix="set a cpu request in the pod template; or let a policy control the cpu of a container that has one, or write "
    "axes: Replicas",
    example="no container of Deployment shop/web has a cpu request, so nothing is decided (NoRequest)",
    kinds=AUTOSCALER_ONLY,
)
def needs_cpu_request(world: InputWorld) -> Iterator[Hit]:
    for one in world.workload_autoscalers:
        template = world.template_of(one)
        if template is None or template.pod is not None:
            continue
        from hypot.policy.autoscaler.rule import sized_name  # noqa: PLC0415  only where there is an Autoscaler

        found = {each.name: {CPU: amount(each.requests.get(CPU)) or 0} for each in template.running}
        if sized_name(one.spec, found):
            continue
        lacks = "no container" if not any(each[CPU] for each in found.values()) else "no container that may be sized"
        message = f"{lacks} of {one.target} has a cpu request, so nothing is decided (NoRequest)"
        yield Hit(one.item, ("spec", "targetRef"), message)


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
        refused = use.metric.container and any(container_resource(use.metric.resource))
        if use.metric.resource and use.metric.resource not in SERVED and not refused:
            yield Hit(use.scaler.item, (*use.metric.where, "name"), _not_served(use.metric.resource))
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
        limit = template.limit(use.metric.resource, use.metric.container) if template is not None else None
        if template is None or not limit or use.metric.resource not in SERVED:
            continue
        message = _unreachable(use, template, limit, up_tolerance(world, use.scaler))
        if message:
            yield Hit(use.scaler.item, _target_place(use), message, others=_workload(world, use))


def _unreachable(use: ResourceUse, template: Template, limit: int, tolerance: float) -> str:
    whose = (
        f"container {use.metric.container} of {use.scaler.target}" if use.metric.container else str(use.scaler.target)
    )
    binary = use.metric.resource == "memory"
    most = format_milli(limit, binary)
    if use.metric.target.average is not None:
        enough = first_above(max(1, milli(use.metric.target.average)), tolerance)
        if limit >= enough:
            return ""
        stop = f"cannot use more than its {use.metric.resource} limit of {most}"
        return f"{whose} {stop}, but this metric adds pods only from {_readable(enough, use.metric.resource)} on"
    request, percent = template.request(use.metric.resource, use.metric.container), use.metric.target.utilization or 0
    if not request or percent < 1:
        return ""
    reach, enough = utilization(limit, request), first_above(percent, tolerance)
    if reach >= enough:
        return ""
    figures = f"request {format_milli(request, binary)}, limit {most}"
    stop = f"cannot use more than {reach} % of its {use.metric.resource} request ({figures})"
    return f"{whose} {stop}, but this metric adds pods only from {enough} % on"


def _readable(amount: int, resource: str) -> str:
    """An amount for display: memory is rounded up to mebibytes."""
    if resource != "memory" or amount < _MEBIBYTE:
        return format_milli(amount, binary=resource == "memory")
    return f"{-(-amount // _MEBIBYTE)}Mi"


def up_tolerance(world: InputWorld, hpa: Autoscaler[HPA]) -> float:
    """How far above its target usage must be before pods are added. Controller flags are unknown here."""
    return tolerances_of(hpa.spec, TOLERANCE, world.kubernetes)[1]


def _target_place(use: ResourceUse) -> Where:
    return use.metric.where if use.metric.where[-1] == "metrics" else (*use.metric.where, "target")
