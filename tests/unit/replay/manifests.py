"""Manifests for tests of policies and grids, as YAML, and how they are read."""

import json

import yaml

from hypot.kinds.text.load import Reader
from hypot.replay.policies.read import POLICY, read_policies
from hypot.replay.world.parameters import Metrics, World

TARGET = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
MAPPED = World(metrics=Metrics(names={"http_requests": "requests", "queue": "queue"}))


def cpu(percent=70):
    return {
        "type": "Resource",
        "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": percent}},
    }


def custom(name="http_requests", average="50"):
    target = {"type": "AverageValue", "averageValue": average}
    return {"type": "Pods", "pods": {"metric": {"name": name}, "target": target}}


def of(kind, version, name, spec, annotations=None, **metadata):
    given = {"name": name, **({"annotations": annotations} if annotations else {}), **metadata}
    return {"apiVersion": version, "kind": kind, "metadata": given, "spec": spec}


def deployment(name="web", annotations=None, kind="Deployment", containers=None, replicas=3, **metadata):
    """A workload with a pod template; containers are name and resources."""
    resources = {"requests": {"cpu": "500m", "memory": "256Mi"}, "limits": {"memory": "512Mi"}}
    given = containers or [{"name": "app", "resources": resources}]
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": given}}
    spec = {"selector": {"matchLabels": {"app": name}}, "template": template}
    counted = spec if replicas is None else {"replicas": replicas, **spec}
    return of(kind, "apps/v1", name, counted, annotations, **metadata)


def hpa(name="web", annotations=None, metrics=None, target=TARGET, **spec):
    given = {"scaleTargetRef": target, "maxReplicas": 10, "metrics": [cpu()] if metrics is None else metrics, **spec}
    return of("HorizontalPodAutoscaler", "autoscaling/v2", name, given, annotations)


def wpa(name="web", annotations=None, metrics=None, **spec):
    band = {"metricName": "queue", "metricSelector": {}, "highWatermark": 80, "lowWatermark": 40}
    bands = [{"type": "External", "external": band}] if metrics is None else metrics
    given = {"scaleTargetRef": TARGET, "maxReplicas": 10, "metrics": bands, **spec}
    return of("WatermarkPodAutoscaler", "datadoghq.com/v1alpha1", name, given, annotations)


def vpa(name="web", annotations=None, policies=None, **spec):
    given = {"targetRef": TARGET, **spec}
    if policies is not None:
        given["resourcePolicy"] = {"containerPolicies": policies}
    return of("VerticalPodAutoscaler", "autoscaling.k8s.io/v1", name, given, annotations)


def hvpa(name="web", annotations=None, **spec):
    intervals = [
        {"maxReplicas": 2, "maxResources": {"cpu": "1", "memory": "2Gi"}},
        {"maxReplicas": 6, "maxResources": {"cpu": "4", "memory": "8Gi"}},
    ]
    given = {"targetRef": TARGET, "scalingIntervals": intervals, **spec}
    return of("Hvpa", "autoscaling.k8s.io/v1alpha1", name, given, annotations)


def weighted(name="web", annotations=None):
    """An Hvpa of the released form."""
    blocks = {"hpa": {"deploy": True, "template": {"spec": {"maxReplicas": 4}}}, "vpa": {"deploy": True}}
    weights = [{"vpaWeight": 50, "startReplicaCount": 1, "lastReplicaCount": 4}]
    spec = {"targetRef": TARGET, **blocks, "weightBasedScalingIntervals": weights}
    return of("Hvpa", "autoscaling.k8s.io/v1alpha1", name, spec, annotations)


def in_policy(*names):
    """The annotation that puts an object into these policies."""
    return {POLICY: ", ".join(names)}


def loaded(folder, *objects):
    """The objects as a file gives them, one document each."""
    path = folder / "policies.yaml"
    # Through JSON, so that equal parts are written out and not made aliases.
    texts = [yaml.safe_dump(json.loads(json.dumps(one)), sort_keys=False) for one in objects]
    path.write_text("---\n".join(texts), encoding="utf-8")
    return list(Reader().read([str(path)]))


def policies(folder, *objects, world=MAPPED):
    return read_policies(loaded(folder, *objects), world)
