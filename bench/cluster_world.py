"""Many workloads on a real API server, with pods that do not run and metrics that are made up."""

import json
import ssl
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any, ClassVar
from urllib.parse import parse_qs, urlsplit

from cluster.plane.api import Api
from cluster.plane.controlplane import ControlPlane
from cluster.plane.waiting import eventually
from cluster.standins.metricsserver import (
    NAMESPACE,
    SERVICE,
    VERSIONS,
    MetricsServer,
    _apply,
    _Quiet,
    _resources,
    stamp,
)

Object = dict[str, Any]
PODS_EACH = 5
NAMESPACES = 20
# The usage in millicores: at the target of 70 % of the requested 200, and such that two more pods are needed.
AT_TARGET, GROWN = 140, 182
WRITERS = 24
METRICS = "metrics.k8s.io"
GROUP = "bench"
HEAD = f'{{"kind":"PodMetricsList","apiVersion":"{METRICS}/{VERSIONS[METRICS]}","metadata":{{}},"items":['.encode()
STAMP = b"@stamp@"


class QuietPlane(ControlPlane):
    """A control plane without auditing: writing audit logs would cost the API server more than answering.

    The controllers are not in system:masters, because the requests of that group are not counted by user.
    """

    audited: ClassVar = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": [{"level": "None"}]}
    users: ClassVar = {"admin": "system:masters", "controllers": GROUP, "hypot": GROUP}


@dataclass(frozen=True)
class Workload:
    number: int

    @property
    def namespace(self) -> str:
        return f"bench-{self.number % NAMESPACES}"

    @property
    def name(self) -> str:
        return f"web-{self.number}"

    def deployment(self) -> Object:
        labels = {"app": self.name}
        spec = {"replicas": PODS_EACH, "selector": {"matchLabels": labels}, "template": self._template(labels)}
        return {"metadata": {"name": self.name}, "spec": spec}

    def replica_set(self, uid: str) -> Object:
        labels = {"app": self.name, "pod-template-hash": "abc"}
        owners = [_owner("Deployment", self.name, uid)]
        metadata = {"name": f"{self.name}-abc", "labels": labels, "ownerReferences": owners}
        spec = {"replicas": PODS_EACH, "selector": {"matchLabels": labels}, "template": self._template(labels)}
        return {"metadata": metadata, "spec": spec}

    def pods(self, uid: str) -> list[Object]:
        labels = {"app": self.name, "pod-template-hash": "abc"}
        made = self._template(labels)
        return [
            {
                "metadata": {
                    "name": f"{self.name}-abc-{number}",
                    "labels": labels,
                    "ownerReferences": [_owner("ReplicaSet", f"{self.name}-abc", uid)],
                },
                "spec": made["spec"],
            }
            for number in range(PODS_EACH)
        ]

    def hpa(self) -> Object:
        target = {"type": "Utilization", "averageUtilization": 70}
        return {
            "metadata": {"name": self.name},
            "spec": {
                "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": self.name},
                "minReplicas": 2,
                "maxReplicas": 20,
                "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": target}}],
            },
        }

    @staticmethod
    def _template(labels: Object) -> Object:
        resources = {"requests": {"cpu": "200m", "memory": "128Mi"}, "limits": {"memory": "256Mi"}}
        probe = {"httpGet": {"path": "/ready", "port": 8080}, "periodSeconds": 10}
        container = {
            "name": "app",
            "image": "registry.test/app:1",
            "env": [{"name": f"SETTING_{number}", "value": "of an application"} for number in range(5)],
            "ports": [{"containerPort": 8080}],
            "readinessProbe": probe,
            "resources": resources,
        }
        return {"metadata": {"labels": labels}, "spec": {"nodeName": "node-1", "containers": [container]}}


def _owner(kind: str, name: str, uid: str) -> Object:
    return {"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": uid, "controller": True}


def _pod_status(began: str) -> Object:
    conditions = [
        {"type": kind, "status": "True", "lastTransitionTime": began}
        for kind in ("PodScheduled", "Initialized", "ContainersReady", "Ready")
    ]
    running = {
        "name": "app",
        "image": "registry.test/app:1",
        "imageID": "",
        "ready": True,
        "started": True,
        "restartCount": 0,
        "state": {"running": {"startedAt": began}},
    }
    address = {"podIP": "10.0.0.1", "hostIP": "10.1.0.1"}
    return {"phase": "Running", "startTime": began, "conditions": conditions, "containerStatuses": [running], **address}


class Metrics:
    """metrics.k8s.io for all workloads: prepared text, into which the current time is inserted."""

    def __init__(self, plane: ControlPlane, workloads: Iterable[Workload]) -> None:
        self.asked: list[float] = []
        self._texts = {(each.namespace, f"app={each.name}"): _samples(each, AT_TARGET) for each in workloads}
        self._ca = plane.ca
        self._server = _Quiet(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        plane.ca.issue_cert(f"{SERVICE}.{NAMESPACE}.svc").configure_cert(tls)
        self._server.socket = tls.wrap_socket(self._server.socket, server_side=True, do_handshake_on_connect=False)

    start = MetricsServer.start
    _api_service = MetricsServer._api_service  # noqa: SLF001  the same entry, for another server

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def register(self, api: Api) -> None:
        service = {"metadata": {"name": SERVICE}, "spec": {"type": "ExternalName", "externalName": "localhost"}}
        _apply(api, f"/api/v1/namespaces/{NAMESPACE}/services", {"apiVersion": "v1", "kind": "Service", **service})
        _apply(api, "/apis/apiregistration.k8s.io/v1/apiservices", self._api_service(METRICS))
        eventually(lambda: api.call("GET", f"/apis/{METRICS}/{VERSIONS[METRICS]}/namespaces/none/pods").ok, 30)

    def use(self, workload: Workload, millicores: int) -> None:
        self._texts[workload.namespace, f"app={workload.name}"] = _samples(workload, millicores)

    def body(self, address: str) -> bytes | None:
        """The body of the answer; None if the path is unknown."""
        url = urlsplit(address)
        match url.path.strip("/").split("/"):
            case ["apis", _, version]:
                said = {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": f"{METRICS}/{version}"}
                return json.dumps({**said, "resources": _resources(METRICS)}).encode()
            case ["apis", _, _, "pods"]:
                found = list(self._texts.values())
            case ["apis", _, _, "namespaces", namespace, "pods"]:
                selector = parse_qs(url.query).get("labelSelector", [""])[0]
                found = [self._texts[namespace, selector]] if (namespace, selector) in self._texts else []
            case _:
                return None
        self.asked.append(time.monotonic())
        return HEAD + b",".join(found).replace(STAMP, stamp(time.time()).encode()) + b"]}"


def _samples(workload: Workload, millicores: int) -> bytes:
    items = [
        {
            "metadata": {
                "name": f"{workload.name}-abc-{number}",
                "namespace": workload.namespace,
                "labels": {"app": workload.name, "pod-template-hash": "abc"},
            },
            "timestamp": STAMP.decode(),
            "window": "15s",
            "containers": [{"name": "app", "usage": {"cpu": f"{millicores}m", "memory": "100Mi"}}],
        }
        for number in range(PODS_EACH)
    ]
    return ",".join(json.dumps(item, separators=(",", ":")) for item in items).encode()


def _handler(metrics: Metrics) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = 120

        def do_GET(self) -> None:
            body = metrics.body(self.path)
            text = b"{}" if body is None else body
            head = f"HTTP/1.1 {404 if body is None else 200} \r\nContent-Type: application/json\r\n"
            self.wfile.write(f"{head}Content-Length: {len(text)}\r\n\r\n".encode() + text)

        def log_message(self, *_: Any) -> None:
            """Log nothing."""

    return Handler


@dataclass
class Fleet:
    """Creates and resets all workloads and their HPAs."""

    api: Api
    count: int
    workloads: list[Workload] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.workloads = [Workload(number) for number in range(self.count)]

    def create(self) -> None:
        for number in range(min(NAMESPACES, self.count)):
            self.api.create("/api/v1/namespaces", {"metadata": {"name": f"bench-{number}"}})
        began = stamp(time.time() - 3600)
        self._all(lambda each: self._create(each, began))

    def _create(self, workload: Workload, began: str) -> None:
        apps, pods = f"/apis/apps/v1/namespaces/{workload.namespace}", f"/api/v1/namespaces/{workload.namespace}/pods"
        counts = dict.fromkeys(("replicas", "readyReplicas", "availableReplicas", "updatedReplicas"), PODS_EACH)
        made = self.api.create(f"{apps}/deployments", workload.deployment())
        self.api.patch(f"{apps}/deployments/{workload.name}/status", {"status": counts})
        owner = self.api.create(f"{apps}/replicasets", workload.replica_set(made["metadata"]["uid"]))
        self.api.patch(f"{apps}/replicasets/{workload.name}-abc/status", {"status": {"replicas": PODS_EACH}})
        for pod in workload.pods(owner["metadata"]["uid"]):
            self.api.create(pods, pod)
            self.api.patch(f"{pods}/{pod['metadata']['name']}/status", {"status": _pod_status(began)})

    def add_hpas(self) -> None:
        self._all(lambda each: self.api.create(_hpas(each), each.hpa()))

    def remove_hpas(self) -> None:
        self._all(lambda each: self.api.delete(f"{_hpas(each)}/{each.name}"))

    def put_back(self, workloads: Iterable[Workload]) -> None:
        """Reset workloads to their initial count."""
        for each in workloads:
            path = f"/apis/apps/v1/namespaces/{each.namespace}/deployments/{each.name}/scale"
            self.api.patch(path, {"spec": {"replicas": PODS_EACH}})

    def replicas(self) -> dict[str, int]:
        listed = self.api.get("/apis/apps/v1/deployments", timeout=60)["items"]
        return {each["metadata"]["name"]: each["spec"]["replicas"] for each in listed}

    def _all(self, action: Callable[[Workload], Any]) -> None:
        with ThreadPoolExecutor(WRITERS) as pool:
            for _ in pool.map(action, self.workloads):
                pass


def _hpas(workload: Workload) -> str:
    return f"/apis/autoscaling/v2/namespaces/{workload.namespace}/horizontalpodautoscalers"
