"""`hypot metrics` as the pods of its Deployment: bound, probed, and found by the EndpointSlice of its Service."""

import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

from cluster.plane.api import Api, ApiError
from cluster.plane.waiting import eventually
from cluster.running.metrics import ACCOUNT, OWN, SERVICE, FrontedPlane, MetricsProcess
from cluster.running.stage import PATHS, Stage
from cluster.standins.kubelet import Rule

Object = dict[str, Any]
PODS = f"/api/v1/namespaces/{OWN}/pods"
SLICES = f"/apis/discovery.k8s.io/v1/namespaces/{OWN}/endpointslices"
LONG = 60


class Replicas:
    """A process for each pod of the Deployment. Each is probed as its Deployment says, and the pod gets the result."""

    def __init__(self, stage: Stage, plane: FrontedPlane, rules: Path) -> None:
        self._stage, self._plane, self._rules = stage, plane, rules
        self._followed = plane.client("admin")
        self._stopped = threading.Event()
        self._probing: list[threading.Thread] = []
        self.by_pod: dict[str, MetricsProcess] = {}

    def start(self, **config: Any) -> "Replicas":
        """Bind the pods, as there is no scheduler, and start a process for each."""
        self._stopped.clear()
        self._stage.kubelet.rules[OWN] = Rule(ready_after=None, network="10.244")
        for pod in eventually(self._all_pods, LONG):
            name = pod["metadata"]["name"]
            if not pod["spec"].get("nodeName"):
                binding = {"metadata": {"name": name}, "target": {"kind": "Node", "name": "node-1"}}
                self._stage.api.create(f"{PODS}/{name}/binding", binding)
            eventually(lambda name=name: self._stage.api.get(f"{PODS}/{name}")["status"]["phase"] == "Running", LONG)
            self.by_pod[name] = MetricsProcess(self._plane, name, self._rules, ACCOUNT, **config)
            self.by_pod[name].start()
        self._probing = [threading.Thread(target=self._probe, args=(each,), daemon=True) for each in self.by_pod]
        for thread in self._probing:
            thread.start()
        return self

    def stop(self) -> None:
        self._stopped.set()
        for thread in self._probing:
            thread.join(LONG)
        for replica in self.by_pod.values():
            replica.stop()
        for name in self.by_pod:
            self._stage.kubelet.set_ready(OWN, name, ready=False)
        self.by_pod.clear()

    def endpoints(self, api: Api | None = None) -> dict[str, bool]:
        """The pods in the EndpointSlices of the Service, and whether they are ready."""
        asked = {"labelSelector": f"kubernetes.io/service-name={SERVICE}"}
        slices = (api or self._stage.api).get(SLICES, query=asked)["items"]
        found = [endpoint for each in slices for endpoint in each.get("endpoints") or ()]
        return {each["targetRef"]["name"]: each["conditions"]["ready"] for each in found}

    def ready(self) -> list[MetricsProcess]:
        """Those to which the Service leads."""
        found = self.endpoints(self._followed)
        return [replica for name, replica in list(self.by_pod.items()) if found.get(name)]

    def leaders(self) -> list[str]:
        """The pods whose process says that it leads."""
        return [
            name
            for name, replica in self.by_pod.items()
            if not replica.has_ended and "\nhypot_metrics_leader 1\n" in replica.get("/metrics")[1]
        ]

    def _all_pods(self) -> list[Object] | None:
        deployment = self._stage.api.get(f"{PATHS['Deployment'].format(OWN)}/{SERVICE}")
        found = self._stage.api.get(PODS, query={"labelSelector": f"app.kubernetes.io/name={SERVICE}"})["items"]
        return found if len(found) == deployment["spec"]["replicas"] else None

    def _probe(self, name: str) -> None:
        """As the kubelet: ready with one success, not ready after some failures or as soon as the process has ended."""
        deployment = self._stage.api.get(f"{PATHS['Deployment'].format(OWN)}/{SERVICE}")
        probe = deployment["spec"]["template"]["spec"]["containers"][0]["readinessProbe"]
        replica, known, failures = self.by_pod[name], False, 0
        while not self._stopped.wait(0.2 if replica.has_ended else probe["periodSeconds"]):
            is_ready = replica.is_ready()
            failures = 0 if is_ready else failures + 1
            if is_ready == known or (not is_ready and failures < probe["failureThreshold"] and not replica.has_ended):
                continue
            with suppress(ApiError):
                self._stage.kubelet.set_ready(OWN, name, is_ready)
                known = is_ready


class Load:
    """Asks for values several times a second: when, whether there was an answer, and how many values it had."""

    def __init__(self, api: Api, path: str, replicas: Replicas) -> None:
        self.answers: list[tuple[float, bool, int]] = []
        # The numbers of ready endpoints that were seen.
        self.endpoints: set[int] = set()
        self._api, self._path, self._replicas = api, path, replicas
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._ask, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join(LONG)

    def _ask(self) -> None:
        while not self._stopped.wait(0.1):
            answer = self._api.call("GET", self._path)
            self.answers.append((time.monotonic(), answer.ok, len(answer.body["items"]) if answer.ok else 0))
            self.endpoints.add(sum(self._replicas.endpoints(self._api).values()))

    def again(self, since: float) -> float | None:
        """The seconds until it was answered again, after requests that failed; None as long as it is not."""
        after = [(at, ok) for at, ok, _ in self.answers if at > since]
        failed = [at for at, ok in after if not ok]
        found = [at for at, ok in after if failed and ok and at > failed[-1]]
        return found[0] - since if found else None

    def values_again(self, since: float, count: int) -> float | None:
        """The seconds until there were so many values again, after an answer that did not have them."""
        after = [(at, values) for at, _, values in self.answers if at > since]
        less = [at for at, values in after if values < count]
        found = [at for at, values in after if less and values >= count and at > less[-1]]
        return found[0] - since if found else None
