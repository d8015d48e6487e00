"""Many HorizontalPodAutoscalers in one cluster, with the same demand whichever controller scales them."""

import sys
import threading
import time
from base64 import b64encode
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any, ClassVar

from cluster.plane.api import Api
from cluster.plane.controlplane import ControlPlane
from cluster.plane.cuttable import CuttableApi
from cluster.plane.waiting import eventually
from cluster.running.controller import Controller
from cluster.standins import podstatus
from cluster.standins.kubelet import AWAY, Kubelet, Rule
from cluster.standins.metricsserver import MetricsServer, Query, RefusedError
from cluster.twins.shapes import (
    SELECTOR,
    SERVICE,
    Metric,
    Shape,
    average,
    external,
    of_container,
    of_object,
    pods,
    utilisation,
)
from cluster.twins.twin import _asks, _pod_metrics, _totals, _value
from hypot.core.instant import show_time
from hypot.run.store.shard_text import VERSION, pack
from hypot.run.store.shards import LABELS, PREFIX

Object = dict[str, Any]
SYNC_PERIOD = 1.0
# Every window here lasts either longer than the run or no time at all.
FOR_EVER = 3600
DEPLOYMENTS = "/apis/apps/v1/deployments"
MIB = 2**20 * 1000

_AT_ONCE = {"type": "Pods", "value": 100, "periodSeconds": 1}
FREELY = {
    "scaleUp": {"stabilizationWindowSeconds": 0, "policies": [_AT_ONCE]},
    "scaleDown": {"stabilizationWindowSeconds": 0, "policies": [_AT_ONCE]},
}
BY_STEPS = {
    "scaleUp": {
        "stabilizationWindowSeconds": 0,
        "selectPolicy": "Min",
        "policies": [
            {"type": "Pods", "value": 2, "periodSeconds": 1},
            {"type": "Percent", "value": 100, "periodSeconds": 1},
        ],
    },
    "scaleDown": {
        "stabilizationWindowSeconds": 0,
        "policies": [{"type": "Percent", "value": 40, "periodSeconds": 1}],
    },
}
TOLERANT = {
    "scaleUp": {**FREELY["scaleUp"], "tolerance": "0.02"},
    "scaleDown": {**FREELY["scaleDown"], "tolerance": "0.4"},
}
NEVER_DOWN = {**FREELY, "scaleDown": {**FREELY["scaleDown"], "stabilizationWindowSeconds": FOR_EVER}}
NEVER_UP = {**FREELY, "scaleUp": {**FREELY["scaleUp"], "stabilizationWindowSeconds": FOR_EVER}}
ONLY_UP = {**FREELY, "scaleDown": {"selectPolicy": "Disabled"}}

QUEUE = external("queue", 30_000, per_pod=True)
# Shapes that depend on windows, tolerances and steps get totals: these do not depend on which pod is ready when.
SHAPES = (
    Shape("cpu-share", (utilisation("cpu", 80, 1000),), behavior=FREELY),
    Shape("cpu-amount", (average("cpu", 200),), behavior=FREELY),
    Shape("memory-share", (utilisation("memory", 75, 128 * MIB),), behavior=FREELY),
    Shape("memory-amount", (average("memory", 100 * MIB),), behavior=FREELY),
    Shape("one-container", (of_container("cpu", "app", 90, 1000),), behavior=FREELY),
    Shape("of-pods", (pods("requests_per_second", 10_000, SELECTOR),), behavior=FREELY),
    Shape("of-object", (of_object("hits", 500_000, SERVICE),), behavior=FREELY),
    Shape("of-object-per-pod", (of_object("hits", 100_000, SERVICE, per_pod=True),), behavior=FREELY),
    Shape("from-outside", (external("lag", 100_000, SELECTOR),), behavior=FREELY),
    Shape("from-outside-per-pod", (QUEUE,), behavior=FREELY),
    Shape("two-metrics", (average("cpu", 200), external("lag", 30_000, per_pod=True)), behavior=FREELY),
    Shape("by-steps", (QUEUE,), behavior=BY_STEPS),
    Shape("tolerant", (QUEUE,), behavior=TOLERANT),
    Shape("never-down", (QUEUE,), behavior=NEVER_DOWN, high=20),
    Shape("never-up", (QUEUE,), behavior=NEVER_UP, high=20, replicas=16),
    Shape("only-up", (QUEUE,), behavior=ONLY_UP, high=20),
    Shape("plain", (QUEUE,), high=20),
)
# These follow demand in one direction only: their demand moves slowly, or one step would be the last.
ONE_WAY = {"never-down", "never-up", "only-up", "plain"}
REQUESTED = {"cpu": "1", "memory": "128Mi"}


def demands(shape: Shape, random: Random, steps: int) -> Iterator[tuple[float, ...]]:
    """Demand for each metric of a shape, step by step; the unit is the demand of one pod."""
    for number in range(steps):
        if shape.name not in ONE_WAY:
            yield tuple(worth(random) for _ in shape.metrics)
            continue
        drawn = random.uniform(0.3, 1.0) * (4 + number / 4)
        yield (shape.replicas + 2 - drawn if shape.name == "never-up" else drawn,)


def worth(random: Random) -> float:
    """Demand for which exactly one replica count is right, whatever the current count is.

    With a tolerance of a tenth, demand between 1.1 times one less and the count itself allows no second answer.
    """
    count = random.choice((0, 1, 1, 2, 2, 3, 3, 4, 5, 6, 7, 12))
    if count == 0:
        return 0.0
    least = 1.1 * (count - 1)
    return count if count > 9 else least + (count - least) * random.uniform(0.4, 0.8)


@dataclass
class Fed:
    """One workload under one HPA, and its demand."""

    shape: Shape
    namespace: str
    demand: tuple[float, ...] = ()
    # How often the first of its metrics was read.
    asked: int = 0
    replicas: int = 0
    ready: int = 0

    def state(self) -> tuple[int, int]:
        return self.replicas, self.ready


@dataclass
class World:
    """A control plane with Deployments, their HPAs, simulated pods, and metrics that report the demand."""

    plane: ControlPlane
    fed: dict[str, Fed] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.api = self.plane.admin
        self.kubelet = Kubelet(self.plane.client("kubelet"))
        self.metrics = MetricsServer(self.plane.ca)
        self._line = CuttableApi(self.api)
        self._stopped = threading.Event()
        self._follower = threading.Thread(target=self._follow, daemon=True)

    def start(self) -> "World":
        self.metrics.start()
        self.metrics.register(self.api)
        self.kubelet.start()
        self.kubelet.add_node("node-1")
        self._follower.start()
        return self

    def stop(self) -> None:
        self._stopped.set()
        while self._follower.is_alive():
            self._line.cut()
            self._follower.join(0.05)
        self._line.close()
        self.kubelet.stop()
        self.metrics.stop()

    def create(self, shapes: Iterable[Shape]) -> None:
        """Create the workloads first; create their HPAs when all pods are ready."""
        for shape in shapes:
            namespace = f"many-{shape.name}"
            fed = self.fed[shape.name] = Fed(shape, namespace, tuple(shape.replicas - 0.2 for _ in shape.metrics))
            self.api.create("/api/v1/namespaces", {"metadata": {"name": namespace}})
            self.kubelet.rules[namespace] = Rule(ready_after=0.1)
            self.metrics.answers[namespace] = lambda query, fed=fed: self.say(fed, query)
            self.api.create(f"/apis/apps/v1/namespaces/{namespace}/deployments", _deployment(shape))
        eventually(lambda: all(fed.state() == (fed.shape.replicas,) * 2 for fed in self.fed.values()), 60)
        for fed in self.fed.values():
            path = f"/apis/autoscaling/v2/namespaces/{fed.namespace}/horizontalpodautoscalers"
            self.api.create(path, fed.shape.hpa())

    def say(self, fed: Fed, query: Query) -> list[Object]:
        """The same function of demand and pods in every world."""
        for number, metric in enumerate(fed.shape.metrics):
            if not _asks(query, metric):
                continue
            fed.asked += number == 0
            return self._said(fed, query, metric, fed.demand[number])
        raise RefusedError(404, "NotFound")

    def _said(self, fed: Fed, query: Query, metric: Metric, demand: float) -> list[Object]:
        running = [pod for pod in self._pods(fed) if pod["status"]["phase"] == "Running"]
        if metric.kind in {"cpu", "memory", "pods"}:
            each = round(metric.at_target * demand / max(len(running), 1))
            return [_of_pod(pod, query, metric, each) for pod in running]
        if "AverageValue" in str(metric.spec):
            # A shape defines its target as the demand of four pods.
            return _totals(query, metric, round(metric.at_target / 4 * demand))
        ready = sum(map(podstatus.is_ready, running))
        return _totals(query, metric, round(metric.at_target * demand / max(ready, 1)))

    def _pods(self, fed: Fed) -> list[Object]:
        return [
            pod
            for pod in list(self.kubelet._pods.values())
            if pod["metadata"]["namespace"] == fed.namespace and "deletionTimestamp" not in pod["metadata"]
        ]

    def _follow(self) -> None:
        """Follow the replica counts of all Deployments."""
        while not self._stopped.is_set():
            try:
                listed = self._line.get(DEPLOYMENTS)
                for item in listed["items"]:
                    self._saw(item)
                for event in self._line.watch(DEPLOYMENTS, listed["metadata"]["resourceVersion"]):
                    self._saw(event["object"])
            except AWAY:
                self._stopped.wait(0.2)

    def _saw(self, deployment: Object) -> None:
        fed = self.fed.get(deployment.get("metadata", {}).get("name", ""))
        if fed is not None and deployment["metadata"]["namespace"] == fed.namespace:
            fed.replicas = deployment["spec"]["replicas"]
            fed.ready = deployment.get("status", {}).get("readyReplicas", 0)


def remembering(api: Api, namespace: str) -> None:
    """The state of a hypot that has observed nothing: without state, nothing scales down for the longest window."""
    reported = {"version": str(VERSION), "written": show_time(time.time()), "count": "1 of 1", "generation": "1"}
    body = {
        "metadata": {"name": f"{PREFIX}-0", "labels": LABELS},
        "data": reported,
        "binaryData": {"state": b64encode(pack({})).decode()},
    }
    api.create(f"/api/v1/namespaces/{namespace}/configmaps", body)


UNGOVERNED = """\
import hypot.policy.governor as governor
from hypot.cli.main import main
from hypot.cluster.lease import Lease

governor.LEAST = 10**9
Lease.__init__.__kwdefaults__.update(duration=300.0, deadline=240.0)
main()
"""


class Ungoverned(Controller):
    """hypot without the governor, which would allow only some of so many workloads to scale down in five minutes.

    Its Lease lasts for minutes: no recommendations may be lost when a busy machine stalls for 15 s.
    """

    command: ClassVar = [sys.executable, "-c", UNGOVERNED]


def _deployment(shape: Shape) -> Object:
    made = shape.deployment()
    for container in made["spec"]["template"]["spec"]["containers"]:
        container["resources"] = {"requests": REQUESTED}
    return made


def _of_pod(pod: Object, query: Query, metric: Metric, amount: int) -> Object:
    if metric.kind == "pods":
        metadata = pod["metadata"]
        described = {"kind": "Pod", "apiVersion": "v1", "namespace": metadata["namespace"], "name": metadata["name"]}
        return _value(query, described, amount)
    return _pod_metrics(pod, query, {"cpu": 50, "memory": 5 * MIB, metric.kind: amount})


@dataclass
class Settling:
    """Waits until a workload has not changed while its autoscaler checked it often enough."""

    fed: Fed
    looks: int
    _state: tuple[int, int] = (-1, -1)
    _asked: int = 0

    def restart(self) -> None:
        self._state, self._asked = (-1, -1), self.fed.asked

    def over(self) -> bool:
        state = self.fed.state()
        if state != self._state or state[0] != state[1]:
            self._state, self._asked = state, self.fed.asked
        return self.fed.asked - self._asked >= self.looks


def visited(counts: Iterable[int]) -> int:
    return len(Counter(counts))
