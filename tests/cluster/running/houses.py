"""A controller for one namespace, with its own Lease and state: many can run side by side."""

import signal
import sys
import uuid
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

from cluster.plane.waiting import eventually
from cluster.running.controller import Controller
from cluster.running.proxy import Call, Fault, Proxy, When
from cluster.running.stage import Autoscaler, Object, Stage, Workload

WPA = ("WatermarkPodAutoscaler", "datadoghq.com/v1alpha1")
VPA = ("VerticalPodAutoscaler", "autoscaling.k8s.io/v1")
UP_FACTOR, DOWN_FACTOR, UP_WINDOW, DOWN_WINDOW = 50, 30, 2, 4
ANY_PORTS = {"probePort": 0, "metricsPort": 0}
# For a busy machine that is shared.
LONG = 120.0


class House:
    """A namespace, hypot's own namespace next to it, and replicas of hypot behind proxies."""

    def __init__(self, stage: Stage, name: str, **config: Any) -> None:
        self.stage = stage
        self.namespace = f"{name}-{uuid.uuid4().hex[:6]}"
        self.own = f"{self.namespace}-hypot"
        for each in (self.namespace, self.own):
            stage.api.create("/api/v1/namespaces", {"metadata": {"name": each}})
        self.config = {"namespace": self.own, "watchNamespaces": [self.namespace], **ANY_PORTS, **config}
        self.proxies: list[Proxy] = []
        self.controllers: list[Controller] = []

    def hire(self, controller: type[Controller] = Controller) -> Controller:
        """Start one more replica, behind a proxy of its own."""
        name = f"{self.namespace}-{len(self.controllers)}"
        proxy = Proxy(self.stage.plane, name).start()
        made = controller(self.stage.plane, name, **self.config)
        made.kubeconfig = proxy.kubeconfig()
        self.proxies.append(proxy)
        self.controllers.append(made)
        return made.start()

    def close(self) -> None:
        with ExitStack() as stack:
            # The last is stopped first, and each is stopped whatever happens to the others.
            for running in [*self.proxies, *self.controllers]:
                stack.callback(running.stop)
        for each in (self.namespace, self.own):
            self.stage.api.call("DELETE", f"/api/v1/namespaces/{each}")
        self.stage.metrics.answers.pop(self.namespace, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def journal(self) -> list[Call]:
        """The calls of all replicas, by time."""
        return sorted((call for proxy in self.proxies for call in list(proxy.journal)), key=lambda call: call.at)

    def kill_at(self, kind: str, when: When, **how: Any) -> Fault:
        """Kill the last replica at its next such write."""
        controller = self.controllers[-1]
        return self.proxies[-1].arm(kind, when, lambda _: controller.signal(signal.SIGKILL), **how)

    def states(self) -> list[Object]:
        found: list[Object] = self.stage.api.get(f"/api/v1/namespaces/{self.own}/configmaps")["items"]
        return [each for each in found if each["metadata"]["name"].startswith("hypot-state-")]


class Jumpy(Controller):
    """A controller whose wall clock is off by the seconds in a file."""

    at_first = 0.0

    @property
    def offset(self) -> Path:
        return self.plane.folder / f"{self.name}.offset"

    def start(self) -> "Controller":
        self.offset.write_text(str(self.at_first), encoding="utf-8")
        shift = (
            "import time; from pathlib import Path; real, given = time.time, Path({!r}); "
            "time.time = lambda: real() + float(given.read_text() or 0); from hypot.cli.main import main; main()"
        )
        self.command = [sys.executable, "-c", shift.format(str(self.offset))]
        return super().start()


def watermarks(high: str = "200m", low: str = "100m", **more: Any) -> Object:
    """A WatermarkPodAutoscaler on average cpu, with steps and windows that a test can wait for."""
    labels = {"matchLabels": {"app": "web"}}
    metric = {"name": "cpu", "metricSelector": labels, "highWatermark": high, "lowWatermark": low}
    return {
        "algorithm": "average",
        "minReplicas": 1,
        "maxReplicas": 12,
        "scaleUpLimitFactor": UP_FACTOR,
        "scaleDownLimitFactor": DOWN_FACTOR,
        "upscaleForbiddenWindowSeconds": UP_WINDOW,
        "downscaleForbiddenWindowSeconds": DOWN_WINDOW,
        "metrics": [{"type": "Resource", "resource": metric}],
        **more,
    }


def watermarked(stage: Stage, namespace: str, replicas: int = 2, load: float = 300.0) -> tuple[Workload, Autoscaler]:
    """A workload whose load is between its watermarks, and its autoscaler."""
    web = Workload(stage, namespace, load=load).create(replicas)
    return web, web.autoscaler(*WPA, watermarks())


def reaches(web: Workload, replicas: int, within: float = LONG) -> None:
    """Wait until there are so many replicas, and all are ready."""
    eventually(lambda: _has(web, replicas), within)


def _has(web: Workload, replicas: int) -> bool:
    found = web.deployment()
    counts = found["spec"]["replicas"], found.get("status", {}).get("readyReplicas")
    assert counts == (replicas, replicas), f"{web.namespace} has {counts}"
    return True


def side_by_side(cases: dict[Any, Callable[[], Any]], workers: int) -> dict[Any, Future[Any]]:
    """Start them all, some at a time; each test asks for its own result."""
    pool = ThreadPoolExecutor(workers)
    return {case: pool.submit(work) for case, work in cases.items()}
