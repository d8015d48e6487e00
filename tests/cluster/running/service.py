"""A stand-in for a service: the ready pods of a workload share its demand, by the law of lateness that replays have."""

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from threading import Event
from typing import Any, NamedTuple

from cluster.running.short_day import FACTOR
from cluster.running.stage import Workload
from cluster.standins.metricsserver import Query, RefusedError
from cluster.standins.podstatus import is_ready
from hypot.core.quantity import milli
from hypot.replay.world.parameters import Demand, Metrics, Pods, ResizeParameters, World
from hypot.replay.world.parameters import Workload as FirstPods
from hypot.replay.world.params import params_of
from hypot.replay.world.service import crowding, usable_cores
from hypot.replay.world.tick import latency_of

Object = dict[str, Any]
USAGE, REQUESTS, LATE = "usage", "requests_per_second", "late_requests_per_second"
# The service of the results that are documented, in days of ten minutes. Requests are as long as ever.
WORLD = World(
    tick=1.0,
    demand=Demand(lead_in=0.0),
    pods=Pods(start=45.0 / FACTOR, create=3.0 / FACTOR, pull=0.0, burn_cpu=0.0, burn_time=0.0, stop=30.0 / FACTOR),
    resize=ResizeParameters(takes=2.0 / FACTOR),
    metrics=Metrics(window=1.0, lag=0.0, names={REQUESTS: "requests", LATE: "late"}),
    workload=FirstPods(replicas=6, cpu=1.0, memory=1 << 30, cpu_limit=1.2, memory_limit=2 << 30),
)
_P = params_of(WORLD, merging=False)


@contextmanager
def serving(*services: "Service") -> Iterator[None]:
    """Serve once a second."""
    over = Event()

    def serve() -> None:
        due = time.monotonic()
        while not over.wait(max(0.0, due - time.monotonic())):
            now = time.time()
            for one in services:
                one.serve(now)
            due = max(due + 1.0, time.monotonic())

    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(serve)
        try:
            yield
        finally:
            over.set()
        done.result()


class Totals(NamedTuple):
    """What pods requested, and how many requests came and were late."""

    core_seconds: float = 0.0
    requests: float = 0.0
    late: float = 0.0

    def since(self, before: "Totals") -> "Totals":
        return Totals(*[now - then for now, then in zip(self, before, strict=True)])


class Service:
    """Adds up what its pods request, and how many requests come and are late."""

    def __init__(self, web: Workload, demand: Sequence[float], since: float) -> None:
        """The demand is in cores, one value for each second."""
        self.web, self._demand, self._since = web, demand, since
        # The work that waits in each pod, in core-seconds.
        self._waiting: dict[str, float] = {}
        # What the pods reported last, by metric.
        self._reported: dict[str, list[Object]] = {}
        self._served, self.totals = since, Totals()
        web.stage.metrics.answers[web.namespace] = self.say

    def serve(self, now: float) -> None:
        """Serve what has come since the last time."""
        pods = self._all_pods()
        seconds, self._served = now - self._served, now
        demand = float(self._demand[int(now - self._since)])
        requests = late = demand * seconds * _P.rate
        ready = [pod for pod in pods if is_ready(pod) and "deletionTimestamp" not in pod["metadata"]]
        self._waiting = {uid: self._waiting.get(uid, 0.0) for uid in map(_uid, ready)}
        reported: dict[str, list[Object]] = {USAGE: [], REQUESTS: [], LATE: []}
        if ready:
            late = 0.0
        for pod in ready:
            load = demand / len(ready)
            use, share, lost = self._serve(pod, load, seconds)
            late += (share * load * seconds + lost) * _P.rate
            reported[USAGE].append(_sample(pod, use, now))
            reported[REQUESTS].append(_value(pod, REQUESTS, load * _P.rate, now))
            reported[LATE].append(_value(pod, LATE, share * load * _P.rate, now))
        self._reported = reported
        before = self.totals
        asked = seconds * sum(map(_requested, pods))
        self.totals = Totals(before.core_seconds + asked, before.requests + requests, before.late + late)

    def _serve(self, pod: Object, load: float, seconds: float) -> tuple[float, float, float]:
        """The cores that the pod uses, which share of its requests is late, and the work that waited for too long."""
        cap = _cores(pod, "limits")
        cores = usable_cores(cap, _P.base_cpu, _P.parallel)
        offered = load + self._waiting[_uid(pod)] / seconds
        waiting = max(0.0, (offered - cores) * seconds)
        left = self._waiting[_uid(pod)] = min(waiting, cores * _P.timeout)
        _, _, late = latency_of(_P, cores, crowding(max(1.0, cores)), offered, left, 1.0)
        return min(cap, _P.base_cpu + min(offered, cores)), late, waiting - left

    def say(self, query: Query) -> list[Object]:
        """What the APIs of metrics report: the last second."""
        metric = USAGE if query.api == "metrics.k8s.io" else query.metric
        if metric not in self._reported:
            raise RefusedError(404, "NotFound")
        return self._reported[metric]

    def _all_pods(self) -> list[Object]:
        found: list[Object] = self.web.stage.api.get(f"/api/v1/namespaces/{self.web.namespace}/pods")["items"]
        return found


def _uid(pod: Object) -> str:
    return str(pod["metadata"]["uid"])


def _cores(pod: Object, kind: str) -> float:
    """What the pod has."""
    return milli(pod["status"]["containerStatuses"][0]["resources"][kind]["cpu"]) / 1000.0


def _requested(pod: Object) -> float:
    """What is reserved for the pod, in cores, from its creation until it is gone."""
    wanted = milli(pod["spec"]["containers"][0]["resources"]["requests"]["cpu"]) / 1000.0
    return max(wanted, _cores(pod, "requests")) if pod["status"].get("containerStatuses") else wanted


def _sample(pod: Object, use: float, at: float) -> Object:
    metadata = {key: pod["metadata"][key] for key in ("name", "namespace", "labels")}
    usage = {"cpu": f"{int(use * 1e9)}n", "memory": "200Mi"}
    return {
        "metadata": metadata,
        **_of_last_second(at),
        "window": "1s",
        "containers": [{"name": "app", "usage": usage}],
    }


def _value(pod: Object, metric: str, value: float, at: float) -> Object:
    described = {"kind": "Pod", "apiVersion": "v1", **{key: pod["metadata"][key] for key in ("name", "namespace")}}
    said = {"metric": {"name": metric}, "value": f"{int(value * 1000)}m", "windowSeconds": 1}
    return {"describedObject": described, **said, **_of_last_second(at)}


def _of_last_second(at: float) -> Object:
    return {"timestamp": datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")}
