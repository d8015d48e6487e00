"""A stand-in for the kubelet: runs nothing, but reports to the API server what a kubelet would.

It manages every pod that has a node. A `Rule` per namespace says what happens to the pods; it may change at any
time. The rest is done by method calls. A pod whose readiness was set by a call keeps it, whatever the rule says.
"""

import heapq
import http.client
import threading
import time
from collections import UserDict
from collections.abc import Callable
from dataclasses import dataclass
from json import JSONDecodeError
from typing import Literal

from cluster.plane.api import Api, ApiError, Object
from cluster.plane.cuttable import CuttableApi
from cluster.standins import podstatus
from cluster.standins.podstatus import IN_PROGRESS, PENDING, address, condition, now, path, started

PODS = "/api/v1/pods"
AWAY = (OSError, http.client.HTTPException, JSONDecodeError)
BUSY, OVERTAKEN, CONFLICT = {429, 503, 504}, {404, 409, 410}, 409
AGAIN_AFTER = 0.2
# A write mostly waits; with fewer workers, controllers that write a lot at once would starve us.
WORKERS = 6
REASONS = {"defer": "Deferred", "refuse": "Infeasible"}


@dataclass(frozen=True, slots=True)
class Rule:
    """How the pods of a namespace behave; None is never."""

    starts: bool = True
    ready_after: float | None = 0.5
    gone_after: float | None = 0
    resize: Literal["acknowledge", "defer", "refuse"] = "acknowledge"
    resize_after: float = 0
    # Pods have the address of the machine, or one in this network, such as 10.244: nobody can connect to that one, but
    # an EndpointSlice may have it.
    network: str = ""

    def address_of(self, pod: Object) -> str:
        number = int(pod["metadata"]["uid"][:4], 16)
        return f"{self.network}.{number >> 8}.{number & 255}" if self.network else podstatus.LOOPBACK


class Kubelet:
    """Runs from `start` to `stop`: one thread follows the pods, the others do what is due."""

    def __init__(self, api: Api) -> None:
        self.rules = _Rules(self._wake)
        self.errors: list[Exception] = []
        self.worst_lag = 0.0
        self._api, self._line = api, CuttableApi(api)
        self._pods: dict[str, Object] = {}
        self._due: list[tuple[float, str]] = []
        self._since: dict[tuple[str, str], float] = {}
        self._by_hand: set[str] = set()
        self._changed, self._stopped = threading.Condition(), threading.Event()
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        self._stopped.clear()
        loops = [self._follow, *[self._work] * WORKERS]
        self._threads = [threading.Thread(target=loop, daemon=True) for loop in loops]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Stop within a second, whether or not the API server still answers; then report the errors."""
        self._stopped.set()
        with self._changed:
            self._changed.notify_all()
        ends = time.monotonic() + 0.9
        while (alive := [each for each in self._threads if each.is_alive()]) and time.monotonic() < ends:
            self.drop_connections()
            alive[0].join(0.02)
        assert not self.errors, self.errors

    def drop_connections(self) -> None:
        """Break the connections as a network does: the watch ends in the middle, and has to be restarted."""
        self._line.cut()

    def add_node(self, name: str = "node-1", cpu: str = "64", memory: str = "256Gi", pods: int = 1000) -> None:
        """A node with this capacity; an existing node gets this capacity."""
        created = self._api.call("POST", "/api/v1/nodes", {"metadata": {"name": name}})
        assert created.ok or created.status == CONFLICT, created
        room = {"cpu": cpu, "memory": memory, "pods": str(pods)}
        ready = {"type": "Ready", "status": "True", "lastHeartbeatTime": now(), "lastTransitionTime": now()}
        status = {"capacity": room, "allocatable": room, "conditions": [ready]}
        self._api.patch(f"/api/v1/nodes/{name}/status", {"status": status})

    def set_ready(self, namespace: str, name: str, ready: bool) -> None:
        """From now on only calls change the readiness of this pod."""

        def by_hand(pod: Object) -> Object:
            self._by_hand.add(pod["metadata"]["uid"])
            return podstatus.readied(started(pod), ready)

        self._change(namespace, name, by_hand)

    def fail(self, namespace: str, name: str) -> None:
        self._change(namespace, name, lambda pod: podstatus.failed(started(pod)))

    def crash(self, namespace: str, name: str, reason: str = "OOMKilled", restarts: int = 1) -> None:
        """The first container ended and runs again; it becomes ready again as the rule says."""
        self._change(namespace, name, lambda pod: podstatus.crashed(started(pod), reason, restarts))

    def _change(self, namespace: str, name: str, change: Callable[[Object], Object]) -> None:
        """Write in the thread of the caller, and retry until there is no conflict."""
        while True:
            try:
                self._write(self._api, change(self._api.get(address(namespace, name))))
            except ApiError as error:
                if error.answer.status != CONFLICT:
                    raise
            else:
                return

    def _follow(self) -> None:
        while not self._stopped.is_set():
            self._excused(self._list_and_watch)
            self._stopped.wait(AGAIN_AFTER)
        self._line.close()

    def _list_and_watch(self) -> None:
        listed = self._line.get(PODS)
        with self._changed:
            there = {pod["metadata"]["uid"] for pod in listed["items"]}
            self._pods = {uid: pod for uid, pod in self._pods.items() if uid in there}
        for pod in listed["items"]:
            self._seen(pod)
        for event in self._line.watch(PODS, listed["metadata"]["resourceVersion"]):
            if event["type"] == "ERROR":
                return
            if event["type"] == "DELETED":
                self._forget(event["object"]["metadata"]["uid"])
            else:
                self._seen(event["object"])

    def _seen(self, pod: Object) -> None:
        uid = pod["metadata"]["uid"]
        with self._changed:
            known = self._pods.get(uid)
            if known and _version(known) >= _version(pod):
                return
            self._pods[uid] = pod
            self._later(uid, 0)

    def _forget(self, uid: str) -> None:
        with self._changed:
            self._pods.pop(uid, None)

    def _wake(self, namespace: str) -> None:
        with self._changed:
            for uid, pod in self._pods.items():
                if pod["metadata"]["namespace"] == namespace:
                    self._later(uid, 0)

    def _later(self, uid: str, seconds: float) -> None:
        with self._changed:
            heapq.heappush(self._due, (time.monotonic() + seconds, uid))
            self._changed.notify()

    def _work(self) -> None:
        while uid := self._next():
            if not self._excused(lambda uid=uid: self._advance(uid)):
                self._later(uid, AGAIN_AFTER)
        self._line.close()

    def _next(self) -> str | None:
        """The pod that has been due the longest, as soon as there is such a pod."""
        with self._changed:
            while not self._stopped.is_set():
                wait = self._due[0][0] - time.monotonic() if self._due else None
                if wait is not None and wait <= 0:
                    self.worst_lag = max(self.worst_lag, -wait)
                    return heapq.heappop(self._due)[1]
                self._changed.wait(wait)
        return None

    def _excused(self, action: Callable[[], None]) -> bool:
        """Whether the action is over: done, overtaken by other writes, or failed; it is not if the server was away."""
        try:
            action()
        except AWAY:
            return False
        except ApiError as error:
            if error.answer.status in BUSY:
                return False
            if error.answer.status not in OVERTAKEN:
                self.errors.append(error)
        except Exception as error:  # noqa: BLE001 (`stop` reports it)
            self.errors.append(error)
        return True

    def _advance(self, uid: str) -> None:
        """One step towards what the rule says; its write triggers the next step."""
        pod = self._pods.get(uid)
        if not pod or not pod["spec"].get("nodeName"):
            return
        rule = self.rules.get(pod["metadata"]["namespace"], Rule())
        if "deletionTimestamp" in pod["metadata"]:
            self._remove(pod, rule)
        elif changed := self._changes(pod, rule):
            self._seen(self._write(self._line, changed))

    def _remove(self, pod: Object, rule: Rule) -> None:
        held_by_finalizer = pod["metadata"].get("deletionGracePeriodSeconds") == 0
        if rule.gone_after is None or held_by_finalizer or not self._waited(pod, "deleted", rule.gone_after):
            return
        only_this = {"uid": pod["metadata"]["uid"]}
        self._line.delete(path(pod), body={"gracePeriodSeconds": 0, "preconditions": only_this})

    def _changes(self, pod: Object, rule: Rule) -> Object | None:
        match pod["status"]["phase"]:
            case "Pending":
                return started(pod, rule.address_of(pod)) if rule.starts else None
            case "Running":
                return self._resize(pod, rule) or self._readiness(pod, rule)
        return None

    def _readiness(self, pod: Object, rule: Rule) -> Object | None:
        if rule.ready_after is None or podstatus.is_ready(pod) or pod["metadata"]["uid"] in self._by_hand:
            return None
        if not self._waited(pod, f"start {podstatus.restarts(pod)}", rule.ready_after):
            return None
        return podstatus.readied(pod, ready=True)

    def _resize(self, pod: Object, rule: Rule) -> Object | None:
        generation, settled = pod["metadata"]["generation"], podstatus.without(pod, PENDING, IN_PROGRESS)
        pending, progress = condition(pod, PENDING), condition(pod, IN_PROGRESS)
        if not podstatus.wants_resize(pod):
            return settled if pending or progress else None
        if reason := REASONS.get(rule.resize):
            reported = (pending.get("reason"), pending.get("observedGeneration")) == (reason, generation)
            return None if reported else podstatus.with_condition(pod, PENDING, "True", reason)
        if rule.resize_after and progress.get("observedGeneration") != generation:
            return podstatus.with_condition(podstatus.allocated(settled), IN_PROGRESS, "True")
        if not self._waited(pod, f"resize {generation}", rule.resize_after):
            return None
        return podstatus.resized(settled)

    def _waited(self, pod: Object, what: str, seconds: float) -> bool:
        """Whether this much time has passed; if not, the pod is due again when it has."""
        uid = pod["metadata"]["uid"]
        left = self._since.setdefault((uid, what), time.monotonic()) + seconds - time.monotonic()
        if left > 0:
            self._later(uid, left)
        return left <= 0

    @staticmethod
    def _write(api: Api, pod: Object) -> Object:
        """Write the status; it is refused as a conflict if the pod has changed since it was read."""
        only_this = {key: pod["metadata"][key] for key in ("uid", "resourceVersion")}
        status = {**pod["status"], "observedGeneration": pod["metadata"]["generation"]}
        return api.patch(f"{path(pod)}/status", {"metadata": only_this, "status": status})


class _Rules(UserDict[str, Rule]):
    """Reports which namespace got a rule."""

    def __init__(self, reported: Callable[[str], None]) -> None:
        super().__init__()
        self._reported = reported

    def __setitem__(self, namespace: str, rule: Rule) -> None:
        super().__setitem__(namespace, rule)
        self._reported(namespace)


def _version(pod: Object) -> int:
    return int(pod["metadata"]["resourceVersion"])
