"""Decide again what the HPA controller decided, from what it saw, and say where the two differ."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from cluster.standins.metricsserver import Answered
from cluster.twins.audit import Key, Reconcile, Request, Timeline, metric_objects, reconciles
from cluster.twins.statuses import Told, differences, plain
from hypot.kinds.hpa import HPA
from hypot.policy.continuity import Remembered
from hypot.policy.decide import decide, write_failed
from hypot.policy.decision import Decision, show_time
from hypot.policy.memory import Memory, read_time
from hypot.policy.seen import Seen, metric_key
from hypot.policy.settings import Settings
from hypot.policy.snapshot import Snapshot
from hypot.policy.valuerow import MetricValues

Object = dict[str, Any]
# How far a busy machine may put the controller's look at its clock from the requests around it.
JITTER = 0.2


@dataclass
class Disagreement:
    """A reconcile in which hypot and Kubernetes differ, with all that is needed to look at it again."""

    key: Key
    number: int
    at: float
    hypot: Told
    kubernetes: Told
    objects: list[Object]
    memory: Memory
    replicas: int | None
    settings: Settings

    def write(self, folder: Path) -> str:
        """Files, and the command that decides on them."""
        place = folder / f"{'-'.join(self.key)}-{self.number}"
        place.mkdir(parents=True, exist_ok=True)
        (place / "dump.yaml").write_text(yaml.safe_dump_all(self.objects), encoding="utf-8")
        entry = Remembered(self.memory, self.replicas, self.at).to_dict()
        known = {"version": 1, "autoscalers": {f"HorizontalPodAutoscaler/{self.key[0]}/{self.key[1]}": entry}}
        (place / "memory.json").write_text(json.dumps(known, indent=1), encoding="utf-8")
        (place / "settings.yaml").write_text(yaml.safe_dump(self.settings.to_dict()), encoding="utf-8")
        (place / "told.json").write_text(json.dumps({"hypot": self.hypot, "kubernetes": self.kubernetes}, indent=1))
        files = f"-f {place}/dump.yaml --memory {place}/memory.json --settings {place}/settings.yaml"
        return f"hypot decide {files} --now {show_time(self.at)}"

    def __str__(self) -> str:
        differ = differences(self.hypot, self.kubernetes)
        lines = [f"  {name}: hypot {self.hypot.get(name)}, Kubernetes {self.kubernetes.get(name)}" for name in differ]
        return "\n".join([f"{'/'.join(self.key)}, reconcile {self.number} at {show_time(self.at)}:", *lines])


@dataclass
class Outcome:
    """What came of one twin, or of all."""

    reconciles: int = 0
    writes: int = 0
    rescales: int = 0
    # Where the controller's caches showed what had been a moment before, or its clock another second.
    other_views: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    disagreements: list[Disagreement] = field(default_factory=list)

    @classmethod
    def of_all(cls, outcomes: Iterable["Outcome"]) -> "Outcome":
        total = cls()
        for one in outcomes:
            total.reconciles += one.reconciles
            total.writes += one.writes
            total.rescales += one.rescales
            total.other_views += one.other_views
            total.reasons += one.reasons
            total.disagreements += one.disagreements
        return total

    def __str__(self) -> str:
        counts = f"{self.reconciles:5} reconciles, {self.writes:4} statuses written, {self.rescales:3} rescales"
        return f"{counts}, {self.other_views} by another view, {len(self.disagreements)} disagreements"


def replay(requests: list[Request], journal: list[Answered], settings: Settings) -> dict[Key, Outcome]:
    """Every HPA's reconciles, in order, each with the memory that the ones before it left."""
    namespaces = {request.namespace for request in requests}
    timelines = {name: Timeline(r for r in requests if r.namespace == name) for name in namespaces}
    by_target = reconciles(requests, journal)
    return {
        key: _Replay(key, timelines[key[0]], _neighbours(by_target, key), settings).run(mine)
        for key, mine in by_target.items()
    }


def _neighbours(by_target: dict[Key, list[Reconcile]], key: Key) -> list[Reconcile]:
    return [one for other, mine in by_target.items() if other != key and other[0] == key[0] for one in mine]


class _Replay:
    def __init__(self, key: Key, timeline: Timeline, neighbours: list[Reconcile], settings: Settings) -> None:
        self.key, self.timeline, self.neighbours, self.settings = key, timeline, neighbours, settings
        self.memory = Memory()
        self.known: Told = {}
        self.uid = ""
        self.outcome = Outcome()

    def run(self, mine: list[Reconcile]) -> Outcome:
        for number, reconcile in enumerate(mine[:-1]):  # The last one may have been cut short.
            self._compare(number, reconcile)
        return self.outcome

    def _compare(self, number: int, reconcile: Reconcile) -> None:
        views = list(self._views(reconcile))
        if not views or reconcile.came_too_late:
            return
        self.outcome.reconciles += 1
        self._forget_a_former_one(views[0][0])
        told = self._told_by_kubernetes(reconcile)
        for tried, (objects, now) in enumerate(views):
            decision, after = self._decide(objects, now, reconcile)
            if differences(_told(decision), told) == []:
                self.outcome.other_views += tried > 0
                break
        else:
            objects, now = views[0]
            decision, after = self._decide(objects, now, reconcile)
            replicas = None if reconcile.scale is None else reconcile.scale["spec"].get("replicas", 0)
            lost = Disagreement(
                self.key, number, now, _told(decision), told, objects, self.memory, replicas, self.settings
            )
            self.outcome.disagreements.append(lost)
            after = _corrected(after, reconcile.status_written)
        self._go_on(reconcile, after, told)

    def _forget_a_former_one(self, objects: list[Object]) -> None:
        """An HPA that was deleted and made anew begins anew."""
        uid = next(
            each["metadata"]["uid"]
            for each in objects
            if "scaleTargetRef" in each["spec"] and _target(each) == self.key[1]
        )
        if uid != self.uid:
            self.uid, self.memory, self.known = uid, Memory(), {}

    def _views(self, reconcile: Reconcile) -> Iterator[tuple[list[Object], float]]:
        """What the controller may have seen, and when: the likeliest first."""
        metrics = metric_objects(reconcile.answers)
        for state in self.timeline.around(reconcile.knew, reconcile.acted):
            hpas = [obj for (kind, _), obj in state.items() if kind == "horizontalpodautoscalers"]
            if not any(_target(hpa) == self.key[1] for hpa in hpas):
                continue
            pods = [{"apiVersion": "v1", "kind": "Pod", **obj} for (kind, _), obj in state.items() if kind == "pods"]
            for scales in self._scales(reconcile, {_target(hpa): _created(hpa) for hpa in hpas}):
                for now in (reconcile.acted, reconcile.knew, reconcile.knew - JITTER, reconcile.acted + JITTER):
                    yield [*hpas, *scales, *pods, *metrics], now

    def _scales(self, reconcile: Reconcile, since: dict[str, float]) -> list[list[Object]]:
        """The scale it read, and those that were read for others before: their pods are known only from then on."""
        views = []
        for before in (reconcile.read, reconcile.knew):
            known = [one for one in self.neighbours if since.get(one.target, before) <= one.began < before]
            latest = {one.target: one.scale for one in known}
            views.append([scale for scale in (reconcile.scale, *latest.values()) if scale is not None])
        return views if views[0] != views[1] else views[:1]

    def _decide(self, objects: list[Object], now: float, reconcile: Reconcile) -> tuple[Decision, Memory]:
        snapshot = Snapshot(objects)
        hpa = next(
            a for a in snapshot.autoscalers() if isinstance(a, HPA) and a.target and a.target.name == self.key[1]
        )
        seen = _with_all_values(snapshot.seen(hpa, now, self.settings), hpa, reconcile)
        decision, after = decide(hpa, seen, self.memory, self.settings)
        if not decision.rescales:
            return decision, after
        if reconcile.write_refused:
            refused = write_failed(hpa, decision, after, "refused")
            return refused, after.failed(refused)
        return decision, after.acted(decision, now)

    def _told_by_kubernetes(self, reconcile: Reconcile) -> Told:
        """What was written, or what had been before where nothing was."""
        status = reconcile.status_written
        asked = {"asked for": reconcile.replicas_written}
        return {**(self.known if status is None else plain(status)), **asked}

    def _go_on(self, reconcile: Reconcile, after: Memory, told: Told) -> None:
        if reconcile.told and not reconcile.status_stored:
            before = self.memory
            after = replace(after, conditions=before.conditions, desired=before.desired, last_scale=before.last_scale)
        elif reconcile.told:
            self.outcome.writes += 1
            self.known = {name: value for name, value in told.items() if name != "asked for"}
        self.outcome.rescales += reconcile.replicas_written is not None and not reconcile.write_refused
        self.outcome.reasons.update(told.get("conditions", {}).values())
        self.memory = after


def _target(hpa: Object) -> str:
    return str(hpa["spec"]["scaleTargetRef"]["name"])


def _created(hpa: Object) -> float:
    return read_time(hpa["metadata"]["creationTimestamp"]) or 0.0


def _with_all_values(seen: Seen, hpa: HPA, reconcile: Reconcile) -> Seen:
    """With values of pods that are gone already.

    A dump cannot tell them from pods of other workloads, but the controller was told that they are its own.
    """
    values, names = MetricValues(), set()
    for item in metric_objects(reconcile.answers):
        if item["kind"] == "MetricValue":
            values.add_custom(item)
            names.add(item["describedObject"]["name"])
    asked = [metric.pods.metric for metric in hpa.metrics or () if metric.pods]
    found = {
        metric_key(one.name, one.selector): values.of_pods(one.name, one.selector, reconcile.namespace, names, "")
        for one in asked
    }
    return replace(seen, pods_metrics=found)


def _corrected(memory: Memory, written: Object | None) -> Memory:
    """After a disagreement go on from what Kubernetes wrote, so that one does not make others."""
    if written is None:
        return memory
    told = Memory.from_status(written)
    return replace(memory, conditions=told.conditions, desired=told.desired, last_scale=told.last_scale)


def _told(decision: Decision) -> Told:
    """What a decision would write."""
    moves = decision.desired != decision.current
    return {**plain(decision.status), "asked for": decision.desired if moves else None}
