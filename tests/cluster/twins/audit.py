"""What the HPA controller did, from the API server's audit log and the metrics stand-in's journal.

A reconcile begins when the controller reads a scale. The metrics that it was given, the pods that existed, and what
it wrote until it next read that scale belong to it.
"""

import json
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from cluster.standins.metricsserver import KINDS, VERSIONS, Answered

Object = dict[str, Any]
Key = tuple[str, str]
CONTROLLER = "horizontal-pod-autoscaler"
# How long it may take until the controller's caches show a change.
CACHE_LAG = 2.0


@dataclass(frozen=True)
class Request:
    """The relevant parts of one line of the audit log."""

    verb: str
    resource: str
    namespace: str
    name: str
    began: float
    ended: float
    status: int
    by_controller: bool
    sent: Object | None
    answer: Object | None


@dataclass
class Reconcile:
    """One reconcile of one HPA by the controller."""

    namespace: str
    target: str
    scale: Object | None
    began: float
    read: float
    answers: list[Answered] = field(default_factory=list)
    scaled: list[Request] = field(default_factory=list)
    reported: list[Request] = field(default_factory=list)

    @property
    def knew(self) -> float:
        """When it had read everything that it decides on."""
        return max([self.read, *(answered.at for answered in self.answers)])

    @property
    def acted(self) -> float:
        """When it had decided; shortly after it had read everything, if nothing was written."""
        return min([request.began for request in (*self.scaled, *self.reported)], default=self.knew + 0.02)

    @property
    def over(self) -> float:
        """When it had written everything; on a busy machine a while after it had decided."""
        return max([self.acted, *(request.began for request in self.reported)])

    @property
    def scaled_at(self) -> float:
        """When it knew that its replica count was accepted."""
        return self.scaled[-1].ended

    @property
    def replicas_written(self) -> int | None:
        """The replica count that it wrote; None if it wrote none."""
        return self.scaled[0].sent["spec"].get("replicas", 0) if self.scaled and self.scaled[0].sent else None

    @property
    def write_refused(self) -> bool:
        return bool(self.scaled) and self.scaled[-1].status >= 300

    def tries_again(self, at: float) -> bool:
        """After a refused write the controller reads the scale again, but does not decide again."""
        return self.write_refused and not self.reported and at - self.scaled[-1].ended < 0.5

    @property
    def seen_as(self) -> tuple[str, str] | None:
        """Identity and version of the HPA that it worked on, as its write shows; a cache may be behind."""
        if not self.reported or not self.reported[0].sent:
            return None
        metadata = self.reported[0].sent["metadata"]
        return metadata["uid"], metadata["resourceVersion"]

    @property
    def status_written(self) -> Object | None:
        return self.reported[-1].sent["status"] if self.reported and self.reported[-1].sent else None


def read_audit(path: Path) -> list[Request]:
    with path.open(encoding="utf-8") as lines:
        found = [_request(json.loads(line)) for line in lines]
    return sorted((request for request in found if request.namespace), key=lambda request: request.began)


def reconciles(requests: Iterable[Request], journal: Iterable[Answered]) -> dict[Key, list[Reconcile]]:
    """Reconciles by namespace and name of the target, in order."""
    found: dict[Key, list[Reconcile]] = defaultdict(list)
    targets: dict[Key, str] = {}
    for request in requests:
        if request.resource == "horizontalpodautoscalers" and request.answer and "spec" in request.answer:
            targets[request.namespace, request.name] = request.answer["spec"]["scaleTargetRef"]["name"]
        if request.by_controller:
            _add(found, request, targets)
    for answered in journal:
        _add_answer(found, answered)
    return dict(found)


def _add(found: dict[Key, list[Reconcile]], request: Request, targets: dict[Key, str]) -> None:
    if request.resource == "deployments/scale":
        mine = found[request.namespace, request.name]
        if request.verb == "get":
            if mine and mine[-1].tries_again(request.began):
                return
            scale = request.answer if request.status < 300 else None
            mine.append(Reconcile(request.namespace, request.name, scale, request.began, request.ended))
        elif mine:
            mine[-1].scaled.append(request)
    elif request.resource == "horizontalpodautoscalers/status":
        mine = found[request.namespace, targets.get((request.namespace, request.name), "")]
        if mine:
            mine[-1].reported.append(request)


def _add_answer(found: dict[Key, list[Reconcile]], answered: Answered) -> None:
    """An answer belongs to the reconcile that had last read a scale when it was sent; its selector names the target."""
    asked = answered.query
    for (namespace, _), mine in found.items():
        if namespace != asked.namespace:
            continue
        index = bisect_right(mine, asked.at, key=lambda reconcile: reconcile.began) - 1
        if index < 0 or mine[index].scale is None:
            continue
        selector = mine[index].scale["status"].get("selector")
        if asked.api == "metrics.k8s.io" and asked.labels != selector:
            continue
        mine[index].answers.append(answered)


def metric_objects(answers: Iterable[Answered]) -> list[Object]:
    """The answers as objects of a dump."""
    return [
        {"apiVersion": f"{one.query.api}/{VERSIONS[one.query.api]}", "kind": KINDS[one.query.api], **item}
        for one in answers
        for item in one.items
    ]


class Timeline:
    """The pods and HPAs of one namespace after each change, in the order in which watchers see them."""

    def __init__(self, requests: Iterable[Request]) -> None:
        self._changes = _in_order(request for request in requests if _changes(request))
        self._states: list[dict[Key, Object]] = [{}]
        self._hpas: dict[str, Object] = {}
        for request in self._changes:
            self._states.append(_after(self._states[-1], request))
            if request.answer and request.resource.startswith("horizontalpodautoscalers"):
                self._hpas[str(_version(request.answer))] = request.answer

    def hpa(self, version: str) -> Object | None:
        """The HPA with this version."""
        return self._hpas.get(version)

    def at(self, moment: float) -> dict[Key, Object]:
        """The state after every change that had begun by then."""
        return self._states[max((i for i, change in enumerate(self._changes, 1) if change.began <= moment), default=0)]

    def around(self, read: float, acted: float) -> list[dict[Key, Object]]:
        """What the controller's caches may have shown: the likeliest first, then earlier and later states."""
        ended = [index for index, change in enumerate(self._changes, 1) if change.ended <= read]
        surely = [index for index, change in enumerate(self._changes, 1) if change.ended <= read - CACHE_LAG]
        begun = [index for index, change in enumerate(self._changes, 1) if change.began <= acted]
        likeliest, first, last = (max(indices, default=0) for indices in (ended, surely, begun))
        order = sorted(range(first, max(last, likeliest) + 1), key=lambda index: (abs(index - likeliest), index))
        return [self._states[index] for index in order]


def _in_order(changes: Iterable[Request]) -> list[Request]:
    """By the version that each change made; a response without a version comes after all earlier responses."""
    latest, versions = 0, []
    for change in sorted(changes, key=lambda request: request.ended):
        version = _version(change.answer) or latest
        latest = max(latest, version)
        versions.append((version, change))
    return [change for _, change in sorted(versions, key=lambda pair: pair[0])]


def _changes(request: Request) -> bool:
    kind, _, _ = request.resource.partition("/")
    return request.verb != "get" and request.status < 300 and kind in {"pods", "horizontalpodautoscalers"}


def _after(state: dict[Key, Object], request: Request) -> dict[Key, Object]:
    kind, _, _ = request.resource.partition("/")
    metadata = (request.answer or {}).get("metadata", {})
    if request.verb != "delete" or (kind == "pods" and metadata.get("deletionGracePeriodSeconds") != 0):
        return {**state, (kind, metadata["name"]): request.answer} if request.answer else state
    return {key: each for key, each in state.items() if key != (kind, request.name)}


def _version(answer: Object | None) -> int:
    return int(((answer or {}).get("metadata") or {}).get("resourceVersion") or 0)


def _request(line: Object) -> Request:
    about = line.get("objectRef") or {}
    resource = about.get("resource", "")
    if about.get("subresource"):
        resource = f"{resource}/{about['subresource']}"
    return Request(
        line["verb"],
        resource,
        about.get("namespace", ""),
        about.get("name", ""),
        _time(line["requestReceivedTimestamp"]),
        _time(line["stageTimestamp"]),
        (line.get("responseStatus") or {}).get("code", 0),
        CONTROLLER in line.get("userAgent", ""),
        line.get("requestObject"),
        line.get("responseObject"),
    )


def _time(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()
