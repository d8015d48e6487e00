"""The manifests that end-to-end tests use, and small servers outside the cluster that their autoscalers query."""

import json
import ssl
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

import trustme
from prometheus_client.parser import text_string_to_metric_families

from cluster.plane.api import Api
from cluster.plane.waiting import eventually
from cluster.running.stage import CRDS, Workload, _is_served
from cluster.standins.metricsserver import Query, stamp

Object = dict[str, Any]
WPA = ("WatermarkPodAutoscaler", "datadoghq.com/v1alpha1")
CPU_BAND = {
    "type": "Resource",
    "resource": {"name": "cpu", "metricSelector": {}, "highWatermark": "200m", "lowWatermark": "50m"},
}
QUEUE_BAND = {
    "type": "External",
    "external": {
        "metricName": "queue",
        "metricSelector": {"matchLabels": {"of": "web"}},
        "highWatermark": "20",
        "lowWatermark": "5",
    },
}


def watermarks(**changes: Any) -> Object:
    """Between 50m and 200m of cpu per pod, steps of half of the replicas, with windows of a few seconds."""
    return {
        "algorithm": "average",
        "minReplicas": 1,
        "maxReplicas": 10,
        "scaleUpLimitFactor": "50",
        "scaleDownLimitFactor": "50",
        "upscaleForbiddenWindowSeconds": 2,
        "downscaleForbiddenWindowSeconds": 3,
        "metrics": [CPU_BAND],
        **changes,
    }


class Queue:
    """An external metric in the namespace of a workload; the usage of its pods is still reported."""

    def __init__(self, workload: Workload, length: float) -> None:
        self.length = length
        self.asked: list[Query] = []
        self._others = workload.stage.metrics.answers[workload.namespace]
        workload.stage.metrics.answers[workload.namespace] = self._say

    def _say(self, query: Query) -> list[Object]:
        if query.api != "external.metrics.k8s.io":
            return self._others(query)
        self.asked.append(query)
        value = f"{round(self.length * 1000)}m"
        return [
            {"metricName": query.metric, "metricLabels": {"of": "web"}, "timestamp": stamp(query.at), "value": value}
        ]


class RecommenderService:
    """A user's service that returns a replica count, over TLS."""

    def __init__(self, ca: trustme.CA, answer: Callable[[Object], Object]) -> None:
        self.asked: list[Object] = []
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                service.asked.append(question)
                body = json.dumps(answer(question)).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                """`asked` is the log."""

        class Quiet(ThreadingHTTPServer):
            def handle_error(self, *_: Any) -> None:
                """A client that does not trust the server closes the connection."""

        self._server = Quiet(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        ca.issue_cert("127.0.0.1").configure_cert(tls)
        self._server.socket = tls.wrap_socket(self._server.socket, server_side=True, do_handshake_on_connect=False)

    @property
    def url(self) -> str:
        return f"https://{self.host}/recommend"

    @property
    def host(self) -> str:
        """Its address and port, as an administrator allows it."""
        return f"127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


def definition(group: str, kind: str, plural: str, version: str = "v1", *, scale: bool = False) -> Object:
    """A custom kind that accepts anything."""
    subresources: Object = {"status": {}}
    if scale:
        subresources["scale"] = {
            "specReplicasPath": ".spec.replicas",
            "statusReplicasPath": ".status.replicas",
            "labelSelectorPath": ".status.selector",
        }
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    served = {
        "name": version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": subresources,
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural, "singular": kind.lower()},
            "versions": [served],
        },
    }


def define(api: Api, made: Object) -> None:
    """Create the definition, and wait until it is served."""
    answer = api.call("POST", CRDS, made)
    assert answer.ok or answer.status == 409, answer
    eventually(lambda: _is_served(api, made["metadata"]["name"]))


def pods_of(api: Api, namespace: str, owner: Object, count: int, app: str) -> None:
    """Pods of an object whose controller does not run here."""
    metadata = owner["metadata"]
    reference = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "controller": True}
    reference |= {key: metadata[key] for key in ("name", "uid")}
    container = {"name": "app", "image": "app", "resources": {"requests": {"cpu": "200m", "memory": "128Mi"}}}
    for number in range(count):
        body = {
            "metadata": {"name": f"{app}-{number}", "labels": {"app": app}, "ownerReferences": [reference]},
            "spec": {"nodeName": "node-1", "containers": [container]},
        }
        api.create(f"/api/v1/namespaces/{namespace}/pods", body)


def series(exposed: str, name: str, **labels: str) -> list[tuple[dict[str, str], float]]:
    """The series of one family that have these labels."""
    return [
        (sample.labels, sample.value)
        for family in text_string_to_metric_families(exposed)
        for sample in family.samples
        if sample.name == name and labels.items() <= sample.labels.items()
    ]


VPA = ("VerticalPodAutoscaler", "autoscaling.k8s.io/v1")
# Confident after seconds, not days, and with short half-lives: old usage soon has no weight.
QUICK = {
    "confidenceIntervalCpu": 1,
    "confidenceIntervalMemory": 1,
    "cpuHalfLife": 1,
    "memoryHalfLife": 2,
    "memoryInterval": 2,
    "memoryIntervalCount": 1000,
    "podMinCpu": "10m",
    "podMinMemory": "10Mi",
    "lifetimeThreshold": 1,
}
QUICKLY = {"vpa": QUICK, "downscaleWindow": 2}


def sizer(mode: str, **changes: Any) -> Object:
    """A VerticalPodAutoscaler's spec."""
    return {"updatePolicy": {"updateMode": mode}, **changes}


HVPA = ("Hvpa", "autoscaling.k8s.io/v1alpha1")
# The seed's own table: each replica count has larger pods, so each total has exactly one count.
SEED_INTERVALS = [
    {"maxReplicas": count, "maxResources": {"cpu": cpu, "memory": memory}}
    for count, cpu, memory in ((1, "500m", "2Gi"), (2, "1", "4Gi"), (3, "2", "8Gi"), (4, "4", "16Gi"), (5, "8", "32Gi"))
]


def both_axes(**changes: Any) -> Object:
    """An Hvpa's spec: cpu by hypot's own size recommender, with the seed's intervals and windows of a few seconds."""
    policy = {"containerName": "*", "minAllowed": {"cpu": "50m"}, "controlledResources": ["cpu"]}
    moves = {
        "updatePolicy": {"updateMode": "Auto"},
        "stabilizationDuration": "5s",
        "minChange": {"cpu": {"value": "40m"}, "memory": {"value": "40M"}},
    }
    return {
        "hpa": {"deploy": False},
        "vpa": {"deploy": True, "template": {"spec": {"resourcePolicy": {"containerPolicies": [policy]}}}},
        "scaleUp": moves,
        "scaleDown": moves,
        "scalingIntervals": SEED_INTERVALS,
        **changes,
    }


def by_objects() -> Object:
    """The same, recommended by an HPA and a VPA of the cluster."""
    metric = {
        "type": "Resource",
        "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}},
    }
    counter = {"minReplicas": 1, "maxReplicas": 12, "metrics": [metric]}
    return both_axes(hpa={"deploy": True, "template": {"spec": counter}})
