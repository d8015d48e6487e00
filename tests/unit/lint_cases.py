"""Manifests that the lint tests share: sound ones to vary, and one breach of every rule of the kinds themselves."""

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


def hpa(name="web", *, target=None, annotations=None, api_version="autoscaling/v2", owners=None, **spec) -> Manifest:
    """A HorizontalPodAutoscaler with nothing to say against it, and these fields; None takes one away."""
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


def band(kind="External", **changes):
    source = {"highWatermark": "50", "lowWatermark": "40", "metricSelector": {"matchLabels": {"app": "web"}}}
    source |= (
        {"metricName": "hits"} if kind == "External" else {"name": "cpu", "highWatermark": "2", "lowWatermark": "1"}
    )
    source |= changes
    return {"type": kind, kind.lower(): {key: value for key, value in source.items() if value is not None}}


def wpa(name="web", *, target=None, annotations=None, **spec) -> Manifest:
    """A WatermarkPodAutoscaler with nothing to say against it, and these fields; None takes one away."""
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


def container(name="app", requests=None, limits=None, **more):
    resources = {"requests": {"cpu": "500m", "memory": "512Mi"} if requests is None else requests}
    if limits is not None:
        resources["limits"] = limits
    return {"name": name, "image": "example/app", "resources": resources} | more


def workload(name="web", *containers, kind="Deployment", labels=None, selector=None, metadata=None, **spec) -> Manifest:
    """A workload whose pods ask for cpu and memory, with these further fields of its spec."""
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


# Rule id of a kind's own -> a manifest that breaks it.
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
}
