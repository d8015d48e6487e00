"""Resource and ContainerResource metrics, and what they need of the pods: requests, and containers that exist."""

from collections.abc import Iterator
from typing import NamedTuple

from hypot.kinds.hpa.defaults import DEFAULT_METRICS
from hypot.kinds.hpa.fields import HPASpec, Metric, Target
from hypot.kinds.pod_template import Template, unknown_container
from hypot.kinds.problem import Problem, Where, did_you_mean, some

SERVED = frozenset({"cpu", "memory"})


class ResourceMetric(NamedTuple):
    """A Resource or ContainerResource metric of an HPA or of an Hvpa's HPA template."""

    where: Where
    resource: str
    # Empty if all containers count.
    container: str
    target: Target

    @property
    def is_utilization(self) -> bool:
        """Whether it is a percentage of the request."""
        return self.target.average is None and self.target.utilization is not None

    @property
    def is_default(self) -> bool:
        """Whether the API server added it because no metrics are written."""
        return self.where[-1] == "metrics"


class Missing(NamedTuple):
    """What the pods do not have, and what to do."""

    message: str
    hint: str


def effective_metrics(written: HPASpec, readable: HPASpec, root: Where = ("spec",)) -> Iterator[tuple[Where, Metric]]:
    """The effective metrics with their paths. If none is written, the API server adds a default."""
    if not written.metrics:
        yield (*root, "metrics"), DEFAULT_METRICS[0]
        return
    for i, metric in enumerate(readable.metrics or ()):
        yield (*root, "metrics", i), metric


def resource_metric(where: Where, metric: Metric) -> ResourceMetric | None:
    """The metric if it is one of the pods' resources."""
    resource, container = metric.resource, metric.container_resource
    if metric.type == "Resource" and resource is not None:
        at = where if where[-1] == "metrics" else (*where, "resource")
        return ResourceMetric(at, resource.name or "", "", resource.target or Target())
    if metric.type == "ContainerResource" and container is not None and container.container:
        at = (*where, "containerResource")
        return ResourceMetric(at, container.name or "", container.container, container.target or Target())
    return None


def missing_request(metric: ResourceMetric, template: Template, of: object, others: int) -> Missing | None:
    """Which request a utilization needs and the pods do not have; `others` is how many other metrics there are."""
    if not metric.is_utilization or metric.resource not in SERVED:
        return None
    missing = template.without_request(metric.resource, metric.container)
    if missing:
        places = "the container" if len(missing) == 1 else "each of them"
        hint = f"set resources.requests.{metric.resource} on {places}, or use an averageValue target"
        return Missing(_missing_request(metric, of, missing, others), hint)
    if template.request(metric.resource, metric.container) == 0:
        message = f"the {metric.resource} requests of {of} add up to 0, so utilisation cannot be computed"
        return Missing(message, f"request more than 0 {metric.resource}")
    return None


def _missing_request(metric: ResourceMetric, of: object, missing: list[str], others: int) -> str:
    whose = f"{'container' if len(missing) == 1 else 'containers'} {some(missing)} of {of}"
    has = "has" if len(missing) == 1 else "have"
    reason = "FailedGetContainerResourceMetric" if metric.container else "FailedGetResourceMetric"
    outcome = "load never changes the replica count"
    if others:
        outcome = "the autoscaler can add pods on its other metrics but, while this one fails, never removes one"
    default = " (no metrics are set, so the default is 80 % of cpu)" if metric.is_default else ""
    target = f"{metric.target.utilization} % of it cannot be computed ({reason})"
    return f"{whose} {has} no {metric.resource} request, so {target}: {outcome}{default}"


def missing_container(metric: ResourceMetric, template: Template, of: object) -> str:
    """Why the container that the metric names cannot be measured; empty if it can."""
    if not metric.container or template.may_have(metric.container):
        return ""
    if any(one.name == metric.container for one in template.before):
        return f"{metric.container} of {of} is an init container and has ended when pods are measured"
    return unknown_container(metric.container, template, of)


def metric_problems(hpa: HPASpec, template: Template) -> Iterator[Problem]:
    """The metrics that never work with these pods."""
    metrics = list(effective_metrics(hpa, hpa))
    for where, metric in metrics:
        one = resource_metric(where, metric)
        if one is None:
            continue
        lacks = missing_request(one, template, hpa.target, len(metrics) - 1)
        if lacks is not None:
            yield Problem("request-missing", "", one.where, lacks.message, hint=lacks.hint)
        yield from _container_problems(one, template, hpa.target)


def container_problems(hpa: HPASpec, template: Template, root: Where) -> Iterator[Problem]:
    """The metrics of containers that these pods do not have."""
    for where, metric in effective_metrics(hpa, hpa, root):
        one = resource_metric(where, metric)
        yield from _container_problems(one, template, hpa.target) if one is not None else ()


def _container_problems(metric: ResourceMetric, template: Template, of: object) -> Iterator[Problem]:
    absent = missing_container(metric, template, of)
    if absent:
        hint = did_you_mean(metric.container, template.names)
        yield Problem("container-missing", "", (*metric.where, "container"), absent, hint=hint)
