"""Manifests that the lint tests share: valid ones to vary, and a violation of every rule of the kinds themselves."""

import copy
from typing import Any

Manifest = dict[str, Any]


def cpu(utilization=70, **target):
    target = target or {"type": "Utilization", "averageUtilization": utilization}
    return {"type": "Resource", "resource": {"name": "cpu", "target": target}}


def memory(**target):
    target = target or {"type": "Utilization", "averageUtilization": 70}
    return {"type": "Resource", "resource": {"name": "memory", "target": target}}


def of_container(container, name="cpu", **target):
    target = target or {"type": "Utilization", "averageUtilization": 70}
    source = {"name": name, "container": container, "target": target}
    return {"type": "ContainerResource", "containerResource": source}


def pods(amount="100", name="hits"):
    target = {"type": "AverageValue", "averageValue": amount}
    return {"type": "Pods", "pods": {"metric": {"name": name}, "target": target}}


def external(name="queue", **target):
    target = target or {"type": "AverageValue", "averageValue": "30"}
    return {"type": "External", "external": {"metric": {"name": name}, "target": target}}


def metric_rules(namespaces=None, **scrape) -> Manifest:
    """Rules of the metrics server that serve `hits` of the pods of an app."""
    served = [{"counter": "hits_total", "names": ["hits"]}]
    rule = {"name": "web", "pods": {"matchLabels": {"app": "web"}}, "scrape": {"port": 80, **scrape}, "metrics": served}
    if namespaces:
        rule["namespaces"] = namespaces
    head = {"apiVersion": "metrics.hypot.dev/v1alpha1", "kind": "MetricRules", "metadata": {"name": "shop"}}
    return {**head, "spec": {"rules": [rule]}}


def hpa(name="web", *, target=None, annotations=None, api_version="autoscaling/v2", owners=None, **spec) -> Manifest:
    """A HorizontalPodAutoscaler without findings, with these fields; None removes a field."""
    metadata = {"name": name, "namespace": "shop"}
    if annotations:
        metadata["annotations"] = annotations
    if owners:
        metadata["ownerReferences"] = owners
    body = {
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"} | (target or {}),
        "minReplicas": 2,
        "maxReplicas": 10,
        "metrics": [cpu()],
    } | spec
    body = {key: value for key, value in body.items() if value is not None}
    return {"apiVersion": api_version, "kind": "HorizontalPodAutoscaler", "metadata": metadata, "spec": body}


def tortoise(name="web", *, refs=None, annotations=None, **spec) -> Manifest:
    """A Tortoise without findings, with these fields."""
    target = {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}}
    metadata = {"name": name, "namespace": "shop", **({"annotations": annotations} if annotations else {})}
    body = {"targetRefs": target | (refs or {}), "updateMode": "Auto", **spec}
    return {"apiVersion": "autoscaling.mercari.com/v1beta3", "kind": "Tortoise", "metadata": metadata, "spec": body}


def band(kind="External", **changes):
    source = {"highWatermark": "50", "lowWatermark": "40", "metricSelector": {"matchLabels": {"app": "web"}}}
    source |= (
        {"metricName": "hits"} if kind == "External" else {"name": "cpu", "highWatermark": "2", "lowWatermark": "1"}
    )
    source |= changes
    return {"type": kind, kind.lower(): {key: value for key, value in source.items() if value is not None}}


def wpa(name="web", *, target=None, annotations=None, **spec) -> Manifest:
    """A WatermarkPodAutoscaler without findings, with these fields; None removes a field."""
    metadata = {"name": name, "namespace": "shop"}
    if annotations:
        metadata["annotations"] = annotations
    body = {
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"} | (target or {}),
        "minReplicas": 2,
        "maxReplicas": 10,
        "algorithm": "average",
        "metrics": [band()],
    } | spec
    body = {key: value for key, value in body.items() if value is not None}
    return {
        "apiVersion": "datadoghq.com/v1alpha1",
        "kind": "WatermarkPodAutoscaler",
        "metadata": metadata,
        "spec": body,
    }


WEB = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}


def vpa(name="web", *, target=None, annotations=None, **spec) -> Manifest:
    """A VerticalPodAutoscaler without findings, with these fields; None removes a field."""
    body = {"targetRef": WEB | (target or {}), "updatePolicy": {"updateMode": "InPlaceOrRecreate"}} | spec
    made = thing("autoscaling.k8s.io/v1", "VerticalPodAutoscaler", name, **_without_none(body))
    return changed(made, "metadata", "annotations", to=annotations) if annotations else made


def sized(*policies, **more) -> Manifest:
    """A VerticalPodAutoscaler with these container policies."""
    return vpa(resourcePolicy={"containerPolicies": [{"containerName": "app"} | policy for policy in policies]}, **more)


def autoscaler(name="web", *, annotations=None, **spec) -> Manifest:
    """An Autoscaler without findings, with these fields."""
    metadata = {"name": name, "namespace": "shop", **({"annotations": annotations} if annotations else {})}
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    head = {"apiVersion": "hypot.dev/v1alpha1", "kind": "Autoscaler", "metadata": metadata}
    return {**head, "spec": {"targetRef": target, **spec}}


def hvpa(name="web", *, annotations=None, **spec) -> Manifest:
    """An Hvpa without findings, with these fields; None removes a field."""
    body = {
        "targetRef": WEB,
        "hpa": hpa_block(cpu(100)),
        "vpa": vpa_block({"minAllowed": {"cpu": "100m"}}),
        "scalingIntervals": [
            {"maxReplicas": 2, "maxResources": {"cpu": "1", "memory": "2Gi"}},
            {"maxReplicas": 4, "maxResources": {"cpu": "2", "memory": "4Gi"}},
        ],
    } | spec
    made = thing("autoscaling.k8s.io/v1alpha1", "Hvpa", name, **_without_none(body))
    return changed(made, "metadata", "annotations", to=annotations) if annotations else made


def hpa_block(*metrics, deploy=True, **spec):
    body = {"minReplicas": 2, "maxReplicas": 4, "metrics": list(metrics) or None} | spec
    return {"deploy": deploy, "template": {"spec": _without_none(body)}}


def vpa_block(*policies, deploy=True, **metadata):
    policies = [{"containerName": "app"} | policy for policy in policies]
    template = {"spec": {"resourcePolicy": {"containerPolicies": policies}}}
    return {"deploy": deploy, "template": template | ({"metadata": metadata} if metadata else {})}


def ending(*intervals) -> Manifest:
    """An Hvpa with intervals of count, cpu and memory."""
    keys = ("maxReplicas", "cpu", "memory")
    rows = [dict(zip(keys, one, strict=True)) for one in intervals]
    return hvpa(scalingIntervals=[{"maxReplicas": row.pop("maxReplicas"), "maxResources": row} for row in rows])


def weighted(*weights, **spec) -> Manifest:
    """An Hvpa of the released controller: weight, first and last count."""
    keys = ("vpaWeight", "startReplicaCount", "lastReplicaCount")
    intervals = [dict(zip(keys, one, strict=True)) for one in weights or [(0, 2, 3), (100, 4, 4)]]
    largest = {"maxAllowed": {"cpu": "2", "memory": "4Gi"}}
    body = {"scalingIntervals": None, "weightBasedScalingIntervals": intervals, "vpa": vpa_block(largest)} | spec
    return hvpa(**body)


def checkpoint(status=None, **spec) -> Manifest:
    body = _without_none({"vpaObjectName": "web", "containerName": "app"} | spec)
    return thing("autoscaling.k8s.io/v1", "VerticalPodAutoscalerCheckpoint", "web-app", **body) | {
        "status": status or {"version": "v3"}
    }


def _without_none(body):
    return {key: value for key, value in body.items() if value is not None}


def container(name="app", requests=None, limits=None, **more):
    resources = {"requests": {"cpu": "500m", "memory": "512Mi"} if requests is None else requests}
    if limits is not None:
        resources["limits"] = limits
    return {"name": name, "image": "example/app", "resources": resources} | more


def workload(name="web", *containers, kind="Deployment", labels=None, selector=None, metadata=None, **spec) -> Manifest:
    """A workload whose pods request cpu and memory, with these further fields of its spec."""
    labels = labels or {"app": name}
    pod = {"containers": list(containers) or [container()]} | spec.pop("pod", {})
    body = {
        "selector": {"matchLabels": selector or labels},
        "template": {"metadata": {"labels": labels}, "spec": pod},
    } | spec
    api_version = "batch/v1" if kind in {"Job", "CronJob"} else "apps/v1"
    about = {"name": name, "namespace": "shop"} | (metadata or {})
    return {"apiVersion": api_version, "kind": kind, "metadata": about, "spec": body}


def thing(api_version, kind, name="web", **spec) -> Manifest:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "namespace": "shop"}, "spec": spec}


def changed(manifest, *path, to) -> Manifest:
    """A copy with another value at a path."""
    made = copy.deepcopy(manifest)
    here = made
    for key in path[:-1]:
        here = here[key]
    here[path[-1]] = to
    return made


def paced(**rules):
    return hpa(behavior={"scaleDown": {"policies": [{"type": "Pods", "value": 1, "periodSeconds": 60}]} | rules})


def limited(**policy):
    return paced(policies=[{"type": "Pods", "value": 1, "periodSeconds": 60} | policy])


def recommended(**recommender):
    given = {"url": "http://recommender", "highWatermark": "50", "lowWatermark": "40"} | recommender
    return wpa(metrics=None, recommender=given)


def requiring(**requirement):
    return vpa(updatePolicy={"updateMode": "Off", "evictionRequirements": [requirement]})


# Id of a kind's own rule -> a manifest that breaks it.
OWN = {
    "name": hpa("Web"),
    "namespace": changed(hpa(), "metadata", "namespace", to="Shop"),
    "labels": changed(hpa(), "metadata", "labels", to={"app": "a b"}),
    "annotations": hpa(annotations={"a b": "c"}),
    "owner-references": changed(hpa(), "metadata", "ownerReferences", to=[{"apiVersion": "apps/v1"}]),
    "finalizers": changed(hpa(), "metadata", "finalizers", to=["a b"]),
    "not-negative": changed(hpa(), "metadata", "generation", to=-1),
    "type": hpa(maxReplicas="ten"),
    "quantity": hpa(metrics=[memory(type="AverageValue", averageValue="512MB")]),
    "unknown-field": hpa(maxReplica=5),
    "reference-kind": hpa(target={"kind": ""}),
    "reference-name": hpa(target={"name": ""}),
    "reference-version": hpa(target={"apiVersion": "v1"}),
    "min-replicas": hpa(minReplicas=-1),
    "max-replicas": hpa(maxReplicas=0, minReplicas=None),
    "min-over-max": hpa(minReplicas=12),
    "zero-needs-outside-metric": hpa(minReplicas=0),
    "metric-type": hpa(metrics=[cpu() | {"type": "Cpu"}]),
    "metric-source": hpa(metrics=[{"type": "Resource"}]),
    "resource-name": hpa(metrics=[of_container("app", name="storage")]),
    "container-name": hpa(metrics=[of_container("")]),
    "metric-name": hpa(metrics=[pods(name="a/b")]),
    "metric-target": hpa(metrics=[cpu(type="Value", value="1")]),
    "target-type": hpa(metrics=[cpu(type="Percent", averageUtilization=70)]),
    "target-value": hpa(metrics=[cpu(type="AverageValue", averageValue="0")]),
    "utilization": hpa(metrics=[cpu(0)]),
    "window": paced(stabilizationWindowSeconds=7200),
    "select-policy": paced(selectPolicy="Median"),
    "policies": paced(policies=[]),
    "tolerance": paced(tolerance="-0.1"),
    "policy-type": limited(type="Pod"),
    "policy-value": limited(value=0),
    "policy-period": limited(periodSeconds=3600),
    "limit-factor": wpa(scaleDownLimitFactor=100),
    "range": wpa(minAvailableReplicaPercentage=120),
    "algorithm": wpa(algorithm="mean"),
    "converge": wpa(convergeTowardsWatermark="middle"),
    "metrics-or-recommender": wpa(metrics=None),
    "metric-selector": wpa(metrics=[band(metricSelector=None)]),
    "selector": wpa(metrics=[band(metricSelector={"matchExpressions": [{"key": "app", "operator": "Within"}]})]),
    "metric-count": wpa(metrics=[band(metricName=f"hits_{i}") for i in range(16)]),
    "watermark": wpa(metrics=[band(highWatermark="30")]),
    "recommender-url": recommended(url="ftp://recommender"),
    "tls-version": recommended(tlsConfig={"minVersion": "SSL3"}),
} | {
    "target-ref": vpa() | {"spec": {}},
    "update-mode": vpa(updatePolicy={"updateMode": "Always"}),
    "auto-mode": vpa(updatePolicy={"updateMode": "Auto"}),
    "in-place-version": vpa(updatePolicy={"updateMode": "InPlace"}),
    "eviction-requirement": requiring(resources=["cpu"], changeRequirement="Higher"),
    "eviction-never": requiring(resources=[], changeRequirement="TargetHigherThanRequests"),
    "recommender": vpa(recommenders=[{"name": "a"}, {"name": "b"}]),
    "startup-boost": vpa(startupBoost={"cpu": {"type": "Factor"}}),
    "policy-count": sized(*({"containerName": f"c{i}"} for i in range(16))),
    "duplicate-policy": sized({}, {}),
    "container-mode": sized({"mode": "auto"}),
    "controlled-values": sized({"mode": "Off", "controlledValues": "RequestsAndLimits"}),
    "controlled-resources": sized({"controlledResources": ["disk"]}),
    "allowed-range": sized({"minAllowed": {"cpu": "2"}, "maxAllowed": {"cpu": "1"}}),
    "resource-count": sized({"minAllowed": {f"r{i}": 1 for i in range(21)}}),
    "ignored-resource": sized({"maxAllowed": {"mem": "1Gi"}}),
    "whole-amount": sized({"minAllowed": {"cpu": "1500u"}}),
    "oom-bump-up": sized({"oomBumpUpRatio": "0.5"}),
    "knob": vpa(annotations={"hypot.dev/target-cpu-percentile": "0"}),
    "knob-order": vpa(annotations={"hypot.dev/target-cpu-percentile": "0.97"}),
    "checkpoint-subject": checkpoint(vpaObjectName=None),
    "checkpoint-ignored": checkpoint(status={"version": "v2"}),
    "scaling-intervals": hvpa(scalingIntervals=[]),
    "interval-replicas": ending((2, "1", "1Gi"), (2, "2", "2Gi")),
    "interval-size": hvpa(scalingIntervals=[{"maxReplicas": 4, "maxResources": {"cpu": "1"}}]),
    "interval-resource": hvpa(
        scalingIntervals=[{"maxReplicas": 4, "maxResources": {"cpu": "1", "memory": "1Gi", "disk": "3Gi"}}]
    ),
    "interval-bounds": changed(ending((4, "500m", "1Gi")), "spec", "vpa", to=vpa_block({"minAllowed": {"cpu": "1"}})),
    "interval-total": ending((2, "1", "1Gi"), (4, "400m", "2Gi")),
    "extrapolation": hvpa(
        scalingIntervals=[
            {
                "maxReplicas": 4,
                "maxResources": {"cpu": "1", "memory": "1Gi"},
                "effectiveIntervalExtrapolation": "logarithmic",
            }
        ]
    ),
    "overlap": changed(
        ending((2, "250m", "1Gi"), (4, "500m", "2Gi")),
        "spec",
        "scalingIntervalsOverlap",
        to={"cpu": {"value": "500m"}},
    ),
    "overlap-of-all": hvpa(scalingIntervalsOverlap={"memory": {"percentage": 100}}),
    "base-load": hvpa(baseResourcesPerReplica={"cpu": {"value": "1"}}),
    "percentage": hvpa(scalingIntervalsOverlap={"cpu": {"percentage": 101}}),
    "stabilization": hvpa(scaleUp={"stabilizationDuration": "3 minutes"}),
    "maintenance-window": hvpa(scaleUp={"updatePolicy": {"updateMode": "MaintenanceWindow"}}),
    "weight": weighted((101, 2, 4)),
    "weights-and-intervals": hvpa(weightBasedScalingIntervals=[{"vpaWeight": 0}]),
    "recommendations": hvpa(annotations={"hypot.dev/recommendations": "theirs"}),
    "last-interval": changed(hvpa(), "spec", "hpa", "template", "spec", "maxReplicas", to=10),
    "deploy-absent": hvpa(vpa={}),
    "no-source": hvpa(hpa=hpa_block(deploy=False), vpa=vpa_block(deploy=False)),
    "min-change": changed(hvpa(), "spec", "scaleDown", to={"minChange": {"cpu": {"percentage": 0}}}),
    "autoscaling-policy": tortoise(autoscalingPolicy=[{"containerName": "app", "policy": {"cpu": "Both"}}]),
    "deletion-policy": tortoise(deletionPolicy="Delete"),
    "hpa-name": tortoise(refs={"horizontalPodAutoscalerName": ""}),
    "hpa-unused": tortoise(
        refs={"horizontalPodAutoscalerName": "web"},
        autoscalingPolicy=[{"containerName": "app", "policy": {"cpu": "Vertical"}}],
    ),
    "decide": tortoise(annotations={"hypot.dev/decide": "yes please"}),
    "tortoise-setting": tortoise(annotations={"hypot.dev/tortoise-slot-hours": "none"}),
    "old-field": tortoise(resourcePolicy=[{"containerName": "app", "autoscalingPolicy": {"cpu": "Off"}}]),
    "axes": autoscaler(axes="Pods"),
    "other-axis": autoscaler(axes="Size", minReplicas=3),
    "late-after": autoscaler(objective={"late": {"after": "soon"}}),
    "late-price": autoscaler(objective={"late": {"price": 0}}),
    "late-metric": autoscaler(metrics={"late": {"name": "late_requests"}}),
    "unread-field": changed(hvpa(), "spec", "vpa", "scaleUp", to={"stabilizationDuration": "3m"}),
}
# Rule id -> the version of Kubernetes in which the manifest breaks it.
OWN_KUBERNETES = {"in-place-version": "1.32"}
