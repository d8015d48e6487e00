"""A tenant who may do everything in one namespace, and uses it against the others."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from cluster.plane.api import Answer, Api
from cluster.running.shapes import HVPA, VPA, WPA, both_axes, sizer, watermarks
from cluster.running.stage import PATHS, Stage

Object = dict[str, Any]
HPA = ("HorizontalPodAutoscaler", "autoscaling/v2")
RBAC = "rbac.authorization.k8s.io"
LEASES = ("hypot", "watermarkpodautoscaler-lock", "vpa-updater")
FAR = "2099-01-01T00:00:00.000000Z"
# What the API server accepts: one object, and all annotations of one.
LARGE, MOST_ANNOTATIONS = 1_000_000, 256 * 1024
SPECS = {HPA: {"maxReplicas": 10}, WPA: watermarks(), VPA: sizer("Recreate"), HVPA: both_axes()}


class Tenant:
    """Everything is created with an account that has all rights in this namespace and none elsewhere."""

    def __init__(self, stage: Stage, namespace: str) -> None:
        self.namespace = namespace
        stage.metrics.answers[namespace] = lambda _: []
        self.api = _account(stage, namespace)

    def attack(self, objects: int = 300) -> None:
        """All that a namespace can contain against a controller; `objects` is how many autoscalers have no target."""
        self._forge_leases()
        self._ask_for_all_cores()
        with ThreadPoolExecutor(8) as pool:
            for answer in pool.map(lambda one: self.api.call("POST", *one, timeout=120), self._objects(objects)):
                assert answer.ok, answer

    def _forge_leases(self) -> None:
        spec = {"holderIdentity": "tenant", "leaseDurationSeconds": 2**31 - 1, "acquireTime": FAR, "renewTime": FAR}
        path = f"/apis/coordination.k8s.io/v1/namespaces/{self.namespace}/leases"
        for name in LEASES:
            self.api.create(path, {"metadata": {"name": name, "annotations": {"hypot.dev/acts-in": "*"}}, "spec": spec})

    def _ask_for_all_cores(self) -> None:
        """Pods of one workload that run nowhere, and the same for a node that cannot run them."""
        labels = {"app": "greedy"}
        box = {"name": "app", "image": "app", "resources": {"requests": {"cpu": "1E", "memory": "1E"}}}
        pods = {"metadata": {"labels": labels}, "spec": {"containers": [box]}}
        spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": pods}
        self.api.create(PATHS["Deployment"].format(self.namespace), {"metadata": {"name": "greedy"}, "spec": spec})
        elsewhere = {**pods["spec"], "nodeName": "node-9"}
        path = f"/api/v1/namespaces/{self.namespace}/pods"
        self.api.create(path, {"metadata": {"name": "greedy-0", "labels": labels}, "spec": elsewhere})

    def _objects(self, count: int) -> Iterator[tuple[str, Object]]:
        """Paths and bodies."""
        yield self._made(WPA, "greedy", watermarks())
        for number in range(count):
            kind = list(SPECS)[number % len(SPECS)]
            yield self._made(kind, f"missing-{number}", SPECS[kind])
        for name, metrics in _hpa_metrics().items():
            yield self._made(HPA, name, {"maxReplicas": 10, "metrics": metrics})
        for name, spec in _recommended().items():
            yield self._made(WPA, name, spec)
        for kind, spec in SPECS.items():
            yield self._made(kind, f"annotated-{kind[0].lower()}", spec, **_annotations())
        yield self._made(WPA, "selecting", watermarks(metrics=[_by_queue(_expressions(60_000))]))

    def _made(self, kind: tuple[str, str], name: str, spec: Object, **annotations: str) -> tuple[str, Object]:
        target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": name}
        key = "targetRef" if kind in {VPA, HVPA} else "scaleTargetRef"
        metadata = {"name": name, "namespace": self.namespace, "annotations": annotations}
        body = {"apiVersion": kind[1], "kind": kind[0], "metadata": metadata, "spec": {key: target, **spec}}
        return PATHS[kind[0]].format(self.namespace), body


def _account(stage: Stage, namespace: str) -> Api:
    roles = f"/apis/{RBAC}/v1/namespaces/{namespace}"
    everything = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]
    account = {"kind": "ServiceAccount", "name": "tenant", "namespace": namespace}
    role = {"kind": "Role", "name": "tenant", "apiGroup": RBAC}
    accounts = f"/api/v1/namespaces/{namespace}/serviceaccounts"
    stage.api.create(accounts, {"metadata": {"name": "tenant"}})
    stage.api.create(f"{roles}/roles", {"metadata": {"name": "tenant"}, "rules": everything})
    stage.api.create(f"{roles}/rolebindings", {"metadata": {"name": "tenant"}, "subjects": [account], "roleRef": role})
    api = stage.plane.client("admin")
    api.token = stage.api.create(f"{accounts}/tenant/token", {"spec": {}})["status"]["token"]
    refused: Answer = api.call("GET", "/api/v1/namespaces/hypot-system/configmaps")
    assert refused.status == 403, refused
    return api


def _hpa_metrics() -> dict[str, list[Object]]:
    """As many metrics as fit into one object, and selectors that are as long."""
    target = {"type": "AverageValue", "averageValue": "1"}
    many = [{"type": "Pods", "pods": {"metric": {"name": f"m{number}"}, "target": target}} for number in range(8000)]
    by_values = {"matchExpressions": _expressions(LARGE // 2)}
    by_labels = {"matchLabels": {f"key-{number}": "a" * 63 for number in range(3000)}}
    return {
        "metrics": many,
        "values": [_external(by_values, target)],
        "labels": [_external(by_labels, target)],
    }


def _external(selector: Object, target: Object) -> Object:
    return {"type": "External", "external": {"metric": {"name": "queue", "selector": selector}, "target": target}}


def _expressions(size: int) -> list[Object]:
    """One expression with about so many bytes."""
    return [{"key": "of", "operator": "NotIn", "values": [f"{number:063}" for number in range(size // 66)]}]


def _by_queue(expressions: list[Object]) -> Object:
    queue = {"metricName": "queue", "metricSelector": {"matchExpressions": expressions}}
    return {"type": "External", "external": {**queue, "highWatermark": "20", "lowWatermark": "5"}}


def _recommended() -> dict[str, Object]:
    """Recommenders with the longest addresses, with combining marks, and with files that never end."""
    start = "https://web.other.svc/"
    urls = {
        "long-url": start + "a" * (2048 - len(start)),
        "marked-url": start + "\u0301\u0323" * ((2048 - len(start)) // 2),
        "marked-host": "https://" + "a\u0323\u0301" * 600 + ".svc/",
        "ports-url": "https://[::1]:99999/",
    }
    tls = {
        "device": {"caFile": "/dev/zero"},
        "random": {"certFile": "/dev/urandom", "keyFile": "/dev/stdin"},
        "outside": {"caFile": "../../../../etc/passwd"},
        "self": {"caFile": "/proc/self/mem", "keyFile": "/proc/self/environ"},
        "server-name": {"serverName": "a\u0323\u0301" * 100_000},
    }
    recommenders = {name: {"url": url} for name, url in urls.items()}
    recommenders |= {name: {"url": start, "tlsConfig": each} for name, each in tls.items()}
    return {name: _by_recommender(each) for name, each in recommenders.items()}


def _by_recommender(recommender: Object) -> Object:
    marks = {"targetType": "cpu", "highWatermark": "80", "lowWatermark": "50"}
    spec = watermarks(recommender={**marks, **recommender})
    del spec["metrics"]
    return spec


def _annotations() -> dict[str, str]:
    """As many bytes as the API server accepts, in those that hypot reads and in others."""
    read = {
        f"hypot.dev/{name}": "9" * 20_000 for name in ("paused", "hold", "resize", "recommendations", "horizontal-step")
    }
    return {**read, "note": "x" * (MOST_ANNOTATIONS - 110_000)}
