"""What `/metrics` says about the costs of requests."""

from collections.abc import Iterable, Iterator, Sequence
from heapq import nlargest
from math import isfinite, log

from hypot.core.scraping.cost_change import CostWatch
from hypot.core.scraping.request_cost import CostFit
from hypot.metricsapi.served_pods import PodOwner
from hypot.serving.text_format import MetricFamily, Sample, labelled

COST = "hypot_metrics_request_cost_cpu_seconds"
COST_ERROR = "hypot_metrics_request_cost_error_cpu_seconds"
SHARED = "hypot_metrics_request_cost_shared"
WEIGHT = "hypot_metrics_request_weight"
IDLE = "hypot_metrics_idle_cores"
OBSERVATIONS = "hypot_metrics_cost_observations"
EXPLAINED = "hypot_metrics_cost_explained_ratio"
CHANGE = "hypot_metrics_request_cost_change_ratio"
# Series of workloads whose cost changed, for each rule: the largest changes.
MOST_CHANGED = 50

FAMILIES = (
    MetricFamily(COST, "gauge", "What a request costs; absent until it is known.", ("rule", "class")),
    MetricFamily(COST_ERROR, "gauge", "The standard error of the cost; absent without data.", ("rule", "class")),
    MetricFamily(
        SHARED,
        "gauge",
        "1 if requests of the class always moved together with others, or never varied: its cost is a common one.",
        ("rule", "class"),
    ),
    MetricFamily(
        WEIGHT, "gauge", "The cost in relation to the mean of all requests: the suggested weight.", ("rule", "class")
    ),
    MetricFamily(IDLE, "gauge", "The cores that a pod uses without requests; absent until known.", ("rule",)),
    MetricFamily(OBSERVATIONS, "gauge", "How many observations the costs were learned from.", ("rule",)),
    MetricFamily(EXPLAINED, "gauge", "The share of the variance of cpu that the costs explain, 0 to 1.", ("rule",)),
    MetricFamily(
        CHANGE,
        "gauge",
        "The recent cpu of a request in relation to the usual one; present only while it has changed.",
        ("rule", "kind", "object_namespace", "object_name"),
    ),
)


def samples_of(
    rule: str, classes: Sequence[str], fit: CostFit, changed: Iterable[tuple[PodOwner, CostWatch]]
) -> Iterator[Sample]:
    """What is known by one rule: `classes` are the names of those in the fit."""
    own = labelled(rule=rule)
    yield Sample(OBSERVATIONS, own, fit.observations)
    yield Sample(EXPLAINED, own, fit.explained)
    if fit.knows_idle:
        yield Sample(IDLE, own, fit.costs[0])
    weights = fit.weights()
    for column in range(1, len(fit.costs)):
        labels = labelled(rule=rule, **{"class": classes[column - 1]})
        if fit.requests[column] <= 0:
            continue
        yield Sample(SHARED, labels, int(fit.shared[column]))
        if isfinite(fit.errors[column]):
            yield Sample(COST_ERROR, labels, fit.errors[column])
        weight = weights[column - 1]
        if weight is not None:
            yield Sample(COST, labels, fit.costs[column])
            yield Sample(WEIGHT, labels, weight)
    for workload, watch in nlargest(MOST_CHANGED, changed, key=lambda each: abs(log(each[1].ratio))):
        named = {"kind": workload.kind, "object_namespace": workload.namespace, "object_name": workload.name}
        yield Sample(CHANGE, labelled(rule=rule, **named), watch.ratio)
