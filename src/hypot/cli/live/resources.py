"""The resources that `decide --live` and `lint --live` read, and why: the reader's role is made from this table."""

from typing import Final, Literal, NamedTuple

from hypot.kinds.catalogue import CATALOGUE
from hypot.kinds.metric_values import RESOURCE, VERSION
from hypot.kinds.vpa.checkpoint import Checkpoint
from hypot.run.observe.watches import (
    CHECKPOINTS,
    LIMIT_RANGES,
    MONITORS,
    NAMESPACES,
    NODES,
    PODS,
    REPLICA_SETS,
    WORKLOADS,
    WORKLOADS_WITHOUT_SCALE,
    ApiResource,
    resource_of,
)
from hypot.serving.component import Component, Manifest, Rule

USAGE: Final = ApiResource(f"{RESOURCE}/{VERSION}", "PodMetrics", "pods")
BUDGETS: Final = ApiResource("policy/v1", "PodDisruptionBudget", "poddisruptionbudgets")
QUOTAS: Final = ApiResource("v1", "ResourceQuota", "resourcequotas")
SCALED_OBJECTS: Final = ApiResource("keda.sh/v1alpha1", "ScaledObject", "scaledobjects")
DATADOG: Final = ApiResource("datadoghq.com/v1alpha2", "DatadogPodAutoscaler", "datadogpodautoscalers")
AUTOSCALERS: Final = tuple([resource_of(kind) for kind in CATALOGUE if kind != Checkpoint.KIND])
# Every kind of workload that is built in, by kind: a target may be written with a version that is no longer served.
BUILT_IN: Final = {one.kind: one for one in (*WORKLOADS, REPLICA_SETS, *WORKLOADS_WITHOUT_SCALE)}

Verb = Literal["list", "get"]
ROLE: Final = "hypot-reader"


class ReadRight(NamedTuple):
    """One resource, how it is read, and why."""

    group: str
    resource: str
    verbs: tuple[Verb, ...]
    why: str


def _listed(resource: ApiResource, why: str) -> ReadRight:
    return ReadRight(resource.group, resource.plural, ("list",), why)


READS: Final = (
    *(_listed(one, "the autoscalers") for one in AUTOSCALERS),
    _listed(CHECKPOINTS, "what the recommender of a VerticalPodAutoscaler has learned"),
    *(_listed(one, "the targets, their counts and sizes") for one in BUILT_IN.values()),
    _listed(PODS, "how many pods are ready, and their sizes"),
    _listed(USAGE, "what pods use"),
    ReadRight("custom.metrics.k8s.io", "*", ("get",), "the metrics that autoscalers name"),
    ReadRight("external.metrics.k8s.io", "*", ("list",), "the metrics that autoscalers name"),
    _listed(LIMIT_RANGES, "what a namespace allows"),
    _listed(QUOTAS, "what a namespace allows"),
    _listed(BUDGETS, "whether pods may be restarted"),
    _listed(NODES, "whether a larger pod fits"),
    ReadRight(NAMESPACES.group, NAMESPACES.plural, ("get",), "the settings of Tortoises"),
    _listed(MONITORS, "monitors that block a WatermarkPodAutoscaler"),
    _listed(SCALED_OBJECTS, "conflicts with KEDA"),
    _listed(DATADOG, "conflicts with Datadog's autoscaler"),
)


def reader_role(targets: tuple[tuple[str, str], ...] = ()) -> Manifest:
    """The ClusterRole that allows all of it; `targets` are custom kinds by group and resource."""
    rules: dict[tuple[str, tuple[Verb, ...]], list[str]] = {}
    for one in READS:
        rules.setdefault((one.group, one.verbs), []).append(one.resource)
    for group, resource in targets:
        rules.setdefault((group, ("get",)), []).extend([resource, f"{resource}/scale"])
    made: list[Rule] = [
        {"apiGroups": [group], "resources": sorted(set(resources)), "verbs": list(verbs)}
        for (group, verbs), resources in sorted(rules.items())
    ]
    role = Component(ROLE, "reader").described("rbac.authorization.k8s.io/v1", "ClusterRole", ROLE)
    return {**role, "rules": made}
