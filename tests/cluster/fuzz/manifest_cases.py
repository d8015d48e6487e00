"""Manifests that are sent to an API server in every run: for each rule, and for each mistake that hypot once made."""

from typing import Any

from cluster.fuzz.manifest_values import OWNER
from cluster.fuzz.manifests import CARRIED, KIND, Object

TARGET = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
METADATA = {"name": "web"}
CONTROLLER = {"controller": True}
SECOND_CONTROLLER = {"controller": True, "uid": "2"}


def manifest(metadata: Any = METADATA, version: str = "v2", status: Any = None, **spec: Any) -> Object:
    made = {"maxReplicas": 5, "scaleTargetRef": TARGET, **spec}
    data = {"apiVersion": f"autoscaling/{version}", "kind": KIND, "metadata": metadata, "spec": made}
    return data if status is None else {**data, "status": status}


def named(**metadata: Any) -> Object:
    return manifest({**METADATA, **metadata})


def metric(kind: Any, **blocks: Any) -> Object:
    return manifest(metrics=[{"type": kind, **blocks}])


def resource(name: Any = "cpu", **target: Any) -> Object:
    return metric("Resource", resource={"name": name, "target": {"type": "Utilization", **target}})


def container(name: Any, of: Any) -> Object:
    target = {"type": "Utilization", "averageUtilization": 50}
    return metric("ContainerResource", containerResource={"name": name, "container": of, "target": target})


def external(name: Any = "queue", selector: Any = None, **target: Any) -> Object:
    asked = {"type": "AverageValue", **(target or {"averageValue": "5"})}
    return metric("External", external={"metric": {"name": name, "selector": selector}, "target": asked})


def up(**pace: Any) -> Object:
    return manifest(behavior={"scaleUp": pace})


def policy(**changes: Any) -> Object:
    return up(policies=[{"type": "Pods", "value": 4, "periodSeconds": 15, **changes}])


def owned(*changes: Object) -> Object:
    return named(ownerReferences=[{**OWNER, **one} for one in changes])


def carried(key: str, text: str) -> Object:
    return manifest({**METADATA, "annotations": {CARRIED + key: text}}, version="v1")


CONTAINER_NAME, RESOURCE_NAME = container("cpu", "App"), container("storage", "app")

# Rule id -> manifests that break it.
BY_RULE: dict[str, list[Object]] = {
    "name": [manifest({}), named(name="Web"), named(name="a" * 254), manifest({"generateName": "W"}), manifest(None)],
    "namespace": [named(namespace="Shop")],
    "labels": [named(labels={"a b": "c"}), named(labels={"a": "b" * 64}), named(labels={"a": "-"})],
    "annotations": [named(annotations={"a/b/c": "d"}), named(annotations={"a": "x" * 2**18})],
    "owner-references": [
        owned({"uid": ""}),
        owned({"apiVersion": "a/b/c"}),
        owned(CONTROLLER, {**CONTROLLER, "uid": "2"}),
    ],
    "finalizers": [named(finalizers=["a b"]), named(finalizers=["mine"]), named(finalizers=["/x"])],
    "not-negative": [named(generation=-1)],
    "type": [manifest(maxReplicas="5"), manifest([]), named(name=5), manifest(status=5), manifest(metrics={})],
    "quantity": [external(averageValue="512MB"), external(averageValue=""), up(tolerance=True)],
    "unknown-field": [manifest(maxReplica=5), named(clusterName="x"), {**manifest(), "data": {}}],
    "reference-kind": [
        manifest(scaleTargetRef={**TARGET, "kind": ""}),
        manifest(scaleTargetRef={**TARGET, "kind": "a/b"}),
    ],
    "reference-name": [
        manifest(scaleTargetRef={**TARGET, "name": None}),
        manifest(scaleTargetRef={**TARGET, "name": ".."}),
    ],
    "reference-version": [manifest(scaleTargetRef={**TARGET, "apiVersion": word}) for word in ("v1", "", "a/b/c")],
    "min-replicas": [manifest(minReplicas=-1)],
    "max-replicas": [manifest(maxReplicas=0), manifest(maxReplicas=-1), manifest(maxReplicas=None)],
    "min-over-max": [manifest(minReplicas=6)],
    "zero-needs-outside-metric": [manifest(minReplicas=0)],
    "metric-type": [metric(""), metric("Cpu"), manifest(metrics=[None])],
    "metric-source": [metric("Pods"), metric("External", pods={}, resource={})],
    "resource-name": [resource(""), RESOURCE_NAME, container("requests.nvidia.com/gpu", "app"), container("gpu", "a")],
    "container-name": [CONTAINER_NAME, container("cpu", ""), container("cpu", "a" * 64)],
    "metric-name": [external(""), external(".."), external("a/%")],
    "metric-target": [resource(), resource(averageUtilization=5, averageValue=5), external(value=5, averageValue=5)],
    "target-type": [external(type="", value=5), external(type="Percent", value=5)],
    "target-value": [external(averageValue="0"), external(value="-1"), external(averageValue="-0.1n")],
    "utilization": [resource(averageUtilization=0)],
    "window": [up(stabilizationWindowSeconds=3601), up(stabilizationWindowSeconds=-1)],
    "select-policy": [up(selectPolicy=""), up(selectPolicy="Median")],
    "policies": [up(policies=[])],
    "tolerance": [up(tolerance="-0.1"), up(tolerance=-1)],
    "policy-type": [policy(type="Nodes"), policy(type=None), up(policies=[None])],
    "policy-value": [policy(value=0)],
    "policy-period": [policy(periodSeconds=0), policy(periodSeconds=1801)],
}

# Cases where hypot and the API server once disagreed, named by what was wrong in hypot.
REGRESSIONS: dict[str, Object] = {
    "a null in a list of metrics is an empty metric": manifest(metrics=[None]),
    "a null in a list of policies is an empty policy": up(policies=[None]),
    "a null label is an empty one": named(labels={"a": None}),
    "labels are counted in bytes": named(labels={"a": "\u00e4" * 32}),
    "annotations are counted in bytes": named(annotations={"a": "\u00e4" * 2**17}),
    "an owner without anything": named(ownerReferences=[None]),
    "an owner of an invalid version": owned({"apiVersion": "apps/"}),
    "an owner that may be none": owned({"apiVersion": "v1", "kind": "Event"}),
    "an owner with a field that there is not": owned({"namespace": "x"}),
    "an owner with a number for a uid": owned({"uid": 5}),
    "two controllers": owned(CONTROLLER, SECOND_CONTROLLER),
    "one controller, named twice": owned(CONTROLLER, CONTROLLER),
    "a finalizer that is no name": named(finalizers=["a b"]),
    "a finalizer that nobody knows": named(finalizers=["mine"]),
    "finalizers that contradict each other": named(finalizers=["orphan", "foregroundDeletion"]),
    "a finalizer that is a number": named(finalizers=[5]),
    "a negative generation": named(generation=-1),
    "a generation beyond 64 bits": named(generation=2**63),
    "a uid that is a number": named(uid=5),
    "a link that is a number": named(selfLink=5),
    "an invalid time": named(creationTimestamp="now"),
    "a day that does not exist": named(deletionTimestamp="2026-02-29T00:00:00Z"),
    "a time as only Go reads it": named(creationTimestamp="2026-03-02T9:30:00,5+24:60"),
    "managed fields of an unknown operation are dropped": named(managedFields=[{"operation": "Replace"}]),
    "managed fields that are nothing are dropped": named(managedFields=[None, {}]),
    "managed fields of the wrong type": named(managedFields=[{"operation": 5}]),
    "managed fields with a field that there is not": named(managedFields=[{"operation": "Apply", "extra": 1}]),
    "a beginning of a name, past whose dash nobody looks": named(generateName="a.-"),
    "an invalid generated name": manifest({"generateName": "a_-"}),
    "an invalid beginning of a generated name": manifest({"generateName": "Web"}),
    "a long beginning of a generated name": manifest({"generateName": "a" * 253}),
    "a status of the wrong type": manifest(status=5),
    "a count in a status of the wrong type": manifest(status={"currentReplicas": "1"}),
    "a field in a status that there is not": manifest(status={"replicas": 1}),
    "a selector in a status of the wrong type": manifest(
        status={"currentMetrics": [{"external": {"metric": {"selector": {"matchLabels": 5}}}}]}
    ),
    "an invalid time in a status": manifest(status={"lastScaleTime": ""}),
    "a field in a selector that there is not": external(selector={"matchLabel": {}}),
    "a label in a selector that is a number": external(selector={"matchLabels": {"a": 5}}),
    "a selector that is not checked any further": external(selector={"matchLabels": {"a b": "/"}}),
    "a selector with nothing in it": external(selector={"matchLabels": {}, "matchExpressions": []}),
    "a selector with nulls": external(selector={"matchLabels": {"a": None}, "matchExpressions": [None]}),
    "spaces around a quantity": external(averageValue=" 5\u00a0"),
    "a tab before a quantity": external(averageValue="\t5"),
    "a line separator after a quantity": external(averageValue="5\u2028"),
    "a quantity that is printed as it came": external(averageValue="+1.500"),
    "an exponent that is printed as it came": external(averageValue="1E3"),
    "a quantity with zeros before it": up(tolerance="007Ki"),
    "bytes that come back as a decimal amount": external(averageValue="1562.5Ki"),
    "an empty version of a target": manifest(
        scaleTargetRef={**TARGET, "apiVersion": "", "kind": "ReplicationController"}
    ),
    "metrics in version 1": manifest(version="v1", metrics=[]),
    "a behavior in version 1": manifest(version="v1", behavior={}),
    "conditions in a status of version 1": manifest(version="v1", status={"conditions": []}),
    "a percentage of the wrong type in a status of version 1": manifest(
        version="v1", status={"currentCPUUtilizationPercentage": "5"}
    ),
    "a status of the wrong type in version 1": manifest(version="v1", status=5),
    "an annotation of version 1 with an odd name": carried("x y", "z"),
    "metrics carried by version 1 without a spec": {
        **carried("metrics", '[{"type": "Resource", "resource": {"name": "cpu", "targetAverageUtilization": 0}}]'),
        "spec": None,
    },
    "a behavior carried by version 1 that is empty": carried("behavior", '{"ScaleUp": null}'),
    "a behavior carried by version 1 is not completed": carried("behavior", '{"ScaleUp": {"SelectPolicy": "Max"}}'),
}
