"""The environment of the controller: a control plane with definitions, controllers, a kubelet and metrics."""

import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import yaml

from cluster.plane.api import Api
from cluster.plane.controlplane import ControlPlane
from cluster.plane.waiting import eventually
from cluster.standins.kubelet import Kubelet, Rule
from cluster.standins.metricsserver import MetricsServer, Query, RefusedError, stamp

Object = dict[str, Any]
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
PATHS = {
    "WatermarkPodAutoscaler": "/apis/datadoghq.com/v1alpha1/namespaces/{}/watermarkpodautoscalers",
    "Hvpa": "/apis/autoscaling.k8s.io/v1alpha1/namespaces/{}/hvpas",
    "Tortoise": "/apis/autoscaling.mercari.com/v1beta3/namespaces/{}/tortoises",
    "Autoscaler": "/apis/hypot.dev/v1alpha1/namespaces/{}/autoscalers",
    "VerticalPodAutoscaler": "/apis/autoscaling.k8s.io/v1/namespaces/{}/verticalpodautoscalers",
    "HorizontalPodAutoscaler": "/apis/autoscaling/v2/namespaces/{}/horizontalpodautoscalers",
    "Deployment": "/apis/apps/v1/namespaces/{}/deployments",
}


class Stage:
    """Started once for a module; each test has its own namespace."""

    def __init__(self, plane: ControlPlane, *controllers: str) -> None:
        self.plane, self.api, self._flags = plane, plane.admin, controllers
        self.kubelet = Kubelet(plane.client("kubelet"))
        self.metrics = MetricsServer(plane.ca)

    def start(self) -> "Stage":
        install_definitions(self.api)
        self.metrics.start()
        self.metrics.register(self.api)
        self.kubelet.start()
        self.kubelet.add_node("node-1")
        self.plane.start_controllers(*self._flags)
        self.api.call("POST", "/api/v1/namespaces", {"metadata": {"name": "hypot-system"}})
        return self

    def stop(self) -> None:
        self.plane.stop_controllers()
        self.kubelet.stop()
        self.metrics.stop()


def install_definitions(api: Api) -> None:
    """What `hypot crds` prints, as a user would apply it."""
    command = [sys.executable, "-c", "from hypot.cli.main import main; main()", "crds"]
    printed = subprocess.run(command, capture_output=True, check=True).stdout
    for definition in filter(None, yaml.safe_load_all(printed)):
        made = api.call("POST", CRDS, definition)
        assert made.ok or made.status == 409, made
        eventually(lambda name=definition["metadata"]["name"]: _is_served(api, name))


def _is_served(api: Api, name: str) -> bool:
    conditions = api.get(f"{CRDS}/{name}").get("status", {}).get("conditions") or []
    return any(c["type"] == "Established" and c["status"] == "True" for c in conditions)


@dataclass
class Workload:
    """A Deployment, the total usage of its pods, and how the pods behave."""

    stage: Stage
    namespace: str
    name: str = "web"
    # Millicores of all pods together, and bytes of each pod.
    load: float = 400.0
    memory: int = 100 << 20
    # Changes a sample before it is reported; raises where no samples are to be reported.
    bend: Callable[[Object], Object] = field(default=lambda item: item)

    def create(
        self, replicas: int, cpu: str = "200m", memory: str = "128Mi", limits: Object | None = None
    ) -> "Workload":
        """Create it and wait until all pods are ready; without cpu the pods have no requests."""
        resources: Object = {"requests": {"cpu": cpu, "memory": memory}} if cpu else {}
        if limits:
            resources["limits"] = limits
        container = {"name": "app", "image": "app", "resources": resources}
        labels = {"app": self.name}
        template = {"metadata": {"labels": labels}, "spec": {"nodeName": "node-1", "containers": [container]}}
        spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
        self.stage.kubelet.rules.setdefault(self.namespace, Rule(ready_after=0.2))
        before = self.stage.metrics.answers.get(self.namespace)
        self.stage.metrics.answers[self.namespace] = self._beside(before) if before else self.say
        self.stage.api.create(
            PATHS["Deployment"].format(self.namespace), {"metadata": {"name": self.name}, "spec": spec}
        )
        self.until_ready(replicas)
        return self

    def _beside(self, other: Callable[[Query], list[Object]]) -> Callable[[Query], list[Object]]:
        return lambda query: [*other(query), *self.say(query)]

    def say(self, query: Query) -> list[Object]:
        """What metrics.k8s.io reports for these pods."""
        if query.api != "metrics.k8s.io":
            raise RefusedError(404, "NotFound")
        running = [pod for pod in self.pods() if pod["status"]["phase"] == "Running"]
        return [self.bend(self._sample(pod, len(running), query.at)) for pod in running]

    def _sample(self, pod: Object, running: int, at: float) -> Object:
        # Rounded down to a millicore: readers round up, and six pods of 117m would be more than a load of 700m.
        usage = {"cpu": f"{int(self.load / running)}000000n", "memory": str(self.memory)}
        metadata = {key: pod["metadata"][key] for key in ("name", "namespace", "labels")}
        return {
            "metadata": metadata,
            "timestamp": stamp(at),
            "window": "15s",
            "containers": [{"name": "app", "usage": usage}],
        }

    def deployment(self) -> Object:
        return self.stage.api.get(f"{PATHS['Deployment'].format(self.namespace)}/{self.name}")

    def replicas(self) -> int:
        return int(self.deployment()["spec"]["replicas"])

    def pods(self) -> list[Object]:
        query = {"labelSelector": f"app={self.name}"}
        found = self.stage.api.get(f"/api/v1/namespaces/{self.namespace}/pods", query=query)["items"]
        return [pod for pod in found if "deletionTimestamp" not in pod["metadata"]]

    def requests(self) -> list[Object]:
        """The actual requests of each running pod."""
        return [
            status["resources"]["requests"]
            for pod in self.pods()
            for status in pod["status"].get("containerStatuses", ())
        ]

    def until_ready(self, replicas: int) -> None:
        eventually(lambda: self.deployment().get("status", {}).get("readyReplicas") == replicas, 20)

    def scale(self, replicas: int) -> None:
        """Scale it manually, as a user does."""
        path = f"{PATHS['Deployment'].format(self.namespace)}/{self.name}"
        self.stage.api.patch(path, {"spec": {"replicas": replicas}})

    def autoscaler(self, kind: str, api_version: str, spec: Object, **annotations: str) -> "Autoscaler":
        target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": self.name}
        key = "targetRef" if kind in {"Hvpa", "VerticalPodAutoscaler", "Autoscaler"} else "scaleTargetRef"
        body = {
            "apiVersion": api_version,
            "kind": kind,
            "metadata": {"name": self.name, "namespace": self.namespace, "annotations": annotations},
            "spec": {key: target, **spec},
        }
        self.stage.api.create(PATHS[kind].format(self.namespace), body)
        return Autoscaler(self.stage.api, kind, self.namespace, self.name)


@dataclass(frozen=True)
class Autoscaler:
    """An autoscaler in the cluster."""

    api: Api
    kind: str
    namespace: str
    name: str

    @property
    def path(self) -> str:
        return f"{PATHS[self.kind].format(self.namespace)}/{self.name}"

    def get(self) -> Object:
        return self.api.get(self.path)

    def status(self) -> Object:
        return self.get().get("status", {})

    def condition(self, kind: str) -> Object:
        return next((c for c in self.status().get("conditions", []) if c["type"] == kind), {})

    def annotate(self, **annotations: str | None) -> None:
        self.api.patch(self.path, {"metadata": {"annotations": annotations}})

    def events(self) -> list[tuple[str, str]]:
        """Reason and message of the events that hypot wrote about it."""
        query = {"fieldSelector": f"involvedObject.name={self.name},involvedObject.kind={self.kind}"}
        found = self.api.get(f"/api/v1/namespaces/{self.namespace}/events", query=query)["items"]
        return [(e["reason"], e["message"]) for e in found if e.get("reportingComponent") == "hypot"]


def stays(value: Callable[[], Any], seconds: float) -> Any:
    """The value, if it does not change for this long."""
    first = value()
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        now = value()
        assert now == first, f"{first} became {now}"
        time.sleep(0.1)
    return first
