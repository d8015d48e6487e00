"""Calls of HPA with arguments around every rule."""

from typing import Any

from hypothesis import strategies as st

from cluster.fuzz.calls import Call, Values, calls, durations, mostly
from cluster.fuzz.manifest_values import (
    CONTAINERS,
    KIND_NAMES,
    METADATA,
    METRIC_NAMES,
    QUANTITIES,
    REFERENCE_NAMES,
    TEXT_MAPS,
    VERSIONS,
    WHOLE,
)
from hypot import HPA, Ref, ScalingRules, cpu, external, limit, memory, on, pods

INFINITE = (float("inf"), float("nan"), -float("inf"))


def odd(*values: Any) -> Values:
    return st.sampled_from(values)


def workload(*containers: Any, **metadata: Any) -> dict[str, Any]:
    """A whole manifest, so that the constructor knows its pods."""
    spec = {"selector": {"matchLabels": {"app": "web"}}, "template": {"spec": {"containers": list(containers)}}}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", **metadata}, "spec": spec}


SIZED = {"name": "app", "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}}}
BARE = {"name": "app"}
whole = mostly(st.integers(1, 200), st.sampled_from(WHOLE))
amounts = mostly(st.sampled_from(["1", "500m", "1.5Gi", "1e3", 7, 0.25]), odd(*QUANTITIES, *INFINITE))
containers = mostly(st.sampled_from([None, None, "app"]), st.sampled_from(CONTAINERS))
names = mostly(st.sampled_from(["requests", "queue_depth"]), odd(*METRIC_NAMES, None, 1))
labels = mostly(
    st.sampled_from([None, {}, {"queue": "mail"}]),
    odd({"a b": "/"}, {"a": 1}, {"a": None}, {"": ""}, {"a": ["b"]}, {1: "b"}),
)
references = st.builds(
    lambda version, kind, name: Call(Ref, (version, kind, name)),
    mostly(st.sampled_from(["apps/v1", "example.com/v1"]), odd(*VERSIONS, None, 1)),
    mostly(st.just("Deployment"), odd(*KIND_NAMES, None, 1)),
    mostly(st.just("web"), odd(*REFERENCE_NAMES, None, 1)),
)
targets = mostly(
    st.one_of(
        st.sampled_from(["deployment/web", "sts/db", "Rollout/web", "rc/web", "deploy/web", workload(SIZED)]),
        references,
    ),
    odd(
        *(
            "",
            "/",
            "web",
            "deployment/",
            "/web",
            "deployment/a/b",
            "DEPLOYMENT/web",
            "deploymnt/web",
            "pod/web",
            7,
            None,
        ),
        *(
            {},
            {"kind": "Deployment", "name": "web"},
            workload(BARE),
            workload(SIZED, namespace=1),
            workload(SIZED, name=None),
        ),
    ),
)
described = mostly(
    st.one_of(st.sampled_from(["service/web", "ingress/shop", "namespace/x"]), references),
    odd("Thing/x", "", "service", {"kind": "Service"}, None),
)


def metrics_with(amounts: Values) -> Values:
    """Every source, with these amounts as targets."""
    return st.one_of(
        *(calls(make, container=containers, utilization_=whole) for make in (cpu, memory)),
        *(calls(make, container=containers, average_=amounts) for make in (cpu, memory)),
        calls(pods, names, average_=amounts, labels=labels),
        calls(on, described, names, value_=amounts, labels=labels),
        calls(on, described, names, average_=amounts, labels=labels),
        calls(external, names, value_=amounts, labels=labels),
        calls(external, names, average_=amounts, labels=labels),
    )


metrics = metrics_with(amounts)
# Two targets at once, or none. Two of `on` are in the table below.
doubled = st.one_of(
    calls(cpu, utilization=whole, average=amounts, container=containers),
    calls(external, names, value=amounts, average=amounts),
    calls(on, described, names),
)
several_metrics = mostly(
    st.one_of(metrics, st.lists(metrics, max_size=3)),
    st.one_of(doubled, odd([None], ["cpu"], "cpu", (), [[]], {})),
)
limits = st.one_of(calls(limit, pods_=whole, per=durations), calls(limit, percent_=whole, per=durations))


def paces_with(tolerances: Values) -> Values:
    return calls(
        ScalingRules,
        limits=mostly(st.lists(limits, min_size=1, max_size=2), odd([], None, [None], ["Pods"], "Pods", 3, {})),
        window=mostly(st.sampled_from([0, 300, "5m", "1h"]), durations),
        select=mostly(st.sampled_from(["Max", "Min", "Disabled"]), odd("", "max", "Median", None, 1)),
        tolerance=mostly(st.sampled_from(["0", "0.1", "50m", 0.05, 2]), tolerances),
    )


paces = paces_with(odd(*QUANTITIES, *INFINITE, None))
directions = mostly(paces, odd(None, "fast", [], 3))
outer = {
    "name": mostly(st.sampled_from([None, "web"]), odd(*METADATA["name"])),
    "labels": mostly(st.sampled_from([None, {"team": "web"}]), odd(*TEXT_MAPS, "x", 7, ["x"], {1: "x"})),
    "annotations": mostly(st.sampled_from([None, {"a.b/c": "any\ntext"}]), odd(*TEXT_MAPS, "x", 7, ["x"], {1: "x"})),
}
hpas = calls(
    HPA,
    targets,
    max_replicas_=mostly(st.integers(3, 50), st.sampled_from(WHOLE)),
    min_replicas=mostly(st.integers(1, 3), odd(0, 0, 0, 60, *WHOLE)),
    metrics=several_metrics,
    scale_up=directions,
    scale_down=directions,
    **outer,
)

# What hypot refuses on purpose although the API server accepts it: by rule, the reason, and a call that shows it.
ADDED: dict[str, tuple[str, Call]] = {
    "request-missing": (
        "the controller would report FailedGetResourceMetric for ever, and the pods of this target are known",
        Call(HPA, (workload(BARE),), {"max_replicas": 3, "metrics": [Call(cpu, (), {"utilization": 70})]}),
    ),
    "container-missing": (
        "the same, of a container that these pods do not have",
        Call(
            HPA,
            (workload(SIZED),),
            {"max_replicas": 3, "metrics": [Call(cpu, (), {"utilization": 70, "container": "nope"})]},
        ),
    ),
    "keyword": (
        "of an Object metric with two targets the controller uses one and says nothing of the other",
        Call(
            HPA,
            ("deployment/web",),
            {"max_replicas": 3, "metrics": [Call(on, ("service/web", "hits"), {"value": 5, "average": 5})]},
        ),
    ),
}
