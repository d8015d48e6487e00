"""Repeat the decisions of the HPA controller from what it observed, and report the differences."""

import json
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from builders import refused
from cluster.standins.metricsserver import Answered
from cluster.twins.audit import Key, Reconcile, Request, Timeline, metric_objects, reconciles
from cluster.twins.statuses import NEAR, Reported, differences, plain
from hypot.core.instant import read_time, show_time
from hypot.kinds.hpa import HPA
from hypot.policy.continuity import Remembered
from hypot.policy.decide import decide
from hypot.policy.families import seen_by
from hypot.policy.model.decision import Decision
from hypot.policy.model.seen import Seen, metric_key
from hypot.policy.model.settings import Settings
from hypot.policy.model.state import State, TimedValues
from hypot.policy.observe.read_values import MetricValues
from hypot.policy.observe.snapshot import Snapshot

Object = dict[str, Any]
# How far the controller's reading of its clock may be from the requests around it, beyond what those show.
JITTER = 0.2
# How many reconciles are within the longest window or period of the shapes.
REMEMBERED = 12
# In addition to the status: the replica count that was written, if any.
ASKED = "asked for"


class View(NamedTuple):
    """What the controller may have observed, and when."""

    hpa: Object
    objects: list[Object]
    now: float


@dataclass
class Case:
    """What hypot and Kubernetes reported in one reconcile, with everything that is needed to repeat it."""

    key: Key
    number: int
    view: View
    hypot: Reported
    kubernetes: Reported
    state: State
    settings: Settings
    # How long the reconcile of the controller took.
    took: float

    @property
    def differences(self) -> list[str]:
        return differences(self.hypot, self.kubernetes, NEAR + self.took)

    @property
    def status(self) -> Reported:
        """What Kubernetes reported, without the replica count that it asked for."""
        return {name: value for name, value in self.kubernetes.items() if name != ASKED}

    def write(self, folder: Path) -> list[str]:
        """Write the files; returns the command that decides on them."""
        place = folder / f"{'-'.join(self.key)}-{self.number}"
        place.mkdir(parents=True, exist_ok=True)
        (place / "dump.yaml").write_text(yaml.safe_dump_all(self.view.objects), encoding="utf-8")
        entry = Remembered(self.state, self.kubernetes.get("currentReplicas")).to_dict()
        known = {"version": 1, "autoscalers": {f"HorizontalPodAutoscaler/{self.key[0]}/{self.key[1]}": entry}}
        (place / "state.json").write_text(json.dumps(known, indent=1), encoding="utf-8")
        (place / "settings.yaml").write_text(yaml.safe_dump(self.settings.to_dict()), encoding="utf-8")
        (place / "reported.json").write_text(json.dumps({"hypot": self.hypot, "kubernetes": self.kubernetes}, indent=1))
        files = ["-f", f"{place}/dump.yaml", "--state", f"{place}/state.json", "--settings", f"{place}/settings.yaml"]
        return ["hypot", "decide", *files, "--now", datetime.fromtimestamp(self.view.now, UTC).isoformat()]

    def __str__(self) -> str:
        lines = [
            f"  {name}: hypot {self.hypot.get(name)}, Kubernetes {self.kubernetes.get(name)}"
            for name in self.differences
        ]
        return "\n".join([f"{'/'.join(self.key)}, reconcile {self.number} at {show_time(self.view.now)}:", *lines])


@dataclass
class Outcome:
    """The results of one twin, or of all."""

    reconciles: int = 0
    writes: int = 0
    rescales: int = 0
    # Where the controller's caches showed an earlier state, or its clock another second.
    other_views: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    disagreements: list[Case] = field(default_factory=list)
    # The last case in which both agreed.
    latest: Case | None = None

    def count(self, reconcile: Reconcile, case: Case) -> None:
        self.reconciles += 1
        self.writes += bool(reconcile.reported)
        self.rescales += reconcile.replicas_written is not None and not reconcile.write_refused
        self.reasons.update(case.kubernetes["conditions"].values())

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
    """The reconciles of every HPA, in order, each with the state that the previous ones left."""
    namespaces = {request.namespace for request in requests}
    timelines = {name: Timeline(r for r in requests if r.namespace == name) for name in namespaces}
    by_target = reconciles(requests, journal)
    return {
        key: _Replay(key, timelines[key[0]], _neighbours(by_target, key), settings).run(mine)
        for key, mine in by_target.items()
    }


def _neighbours(by_target: dict[Key, list[Reconcile]], key: Key) -> list[Reconcile]:
    return [one for other, mine in by_target.items() if other != key and other[0] == key[0] for one in mine]


class Look(NamedTuple):
    """One reconcile, and everything that it may have observed."""

    number: int
    reconcile: Reconcile
    views: list[View]


class Alike(NamedTuple):
    """A case in which both agreed, and the state after it."""

    case: Case
    after: State
    likeliest: bool


class _Replay:
    """The reconciles of one HPA, each decided with the state that the previous one left."""

    def __init__(self, key: Key, timeline: Timeline, neighbours: list[Reconcile], settings: Settings) -> None:
        self.key, self.timeline, self.neighbours, self.settings = key, timeline, neighbours, settings
        self.state, self.uid = State(), ""
        self.doubts: deque[float] = deque(maxlen=REMEMBERED)
        self.past: deque[tuple[Look, State]] = deque(maxlen=REMEMBERED)
        self.outcome = Outcome()

    def run(self, mine: list[Reconcile]) -> Outcome:
        for number, reconcile in enumerate(mine[:-1]):  # The last one may be incomplete.
            views = list(self._views(reconcile))
            if views and not self._lost_its_hpa(reconcile):
                self._forget_a_former_one(views[0].hpa)
                self._compare(Look(number, reconcile, views))
        return self.outcome

    def _lost_its_hpa(self, reconcile: Reconcile) -> bool:
        """The HPA was deleted during the reconcile, with the controller's state: this cannot be decided again."""
        live = {obj["metadata"]["uid"] for obj in self.timeline.at(reconcile.over).values()}
        return reconcile.seen_as is not None and reconcile.seen_as[0] not in live

    def _compare(self, look: Look) -> None:
        found = next(self._alike(look, self.state), None) or self._on_second_thoughts(look)
        self.past.append((look, self.state))
        if found:
            case, self.state, likeliest = found
            self.outcome.other_views += not likeliest
            self.outcome.latest = case
        else:
            case, self.state = self._case(look, look.views[0], self.state)
            self.outcome.disagreements.append(case)
            self.past.clear()
        self.outcome.count(look.reconcile, case)

    def _alike(self, look: Look, state: State) -> Iterator[Alike]:
        """Every view in which hypot reports what Kubernetes reported, the likeliest first."""
        for tried, view in enumerate(look.views):
            case, after = self._case(look, view, state)
            if not case.differences:
                yield Alike(case, after, likeliest=tried == 0)

    def _on_second_thoughts(self, look: Look) -> Alike | None:
        """Try other states that may have been remembered: a window can hide a recommendation until later."""
        states = {_gist(state): state for _, state in list(self.past)[:1]}
        for before, _ in self.past:
            after = [found.after for state in states.values() for found in self._alike(before, state)]
            states = {_gist(state): state for state in reversed(after)}
        found = (found for state in states.values() for found in self._alike(look, state))
        return next((each._replace(likeliest=False) for each in found), None)

    def _case(self, look: Look, view: View, known: State) -> tuple[Case, State]:
        """What was written, or the previous status if nothing was, next to what hypot would write."""
        state, reconcile = _as_stored(known, view.hpa), look.reconcile
        decision, after = self._decide(view, state, reconcile)
        written = reconcile.status_written
        reported = plain(view.hpa.get("status") or {} if written is None else written)
        reported = {**reported, ASKED: reconcile.replicas_written}
        took = reconcile.over - reconcile.knew
        return Case(self.key, look.number, view, _reported(decision), reported, state, self.settings, took), after

    def _forget_a_former_one(self, hpa: Object) -> None:
        """An HPA that was deleted and created again starts without state."""
        if hpa["metadata"]["uid"] != self.uid:
            self.state, self.uid = State(), hpa["metadata"]["uid"]
            self.past.clear()

    def _views(self, reconcile: Reconcile) -> Iterator[View]:
        """What the controller may have observed, and when: the likeliest first."""
        metrics, times = metric_objects(reconcile.answers), self._times(reconcile)
        for state in self.timeline.around(reconcile.knew, reconcile.acted):
            hpas = {_target(obj): obj for (kind, _), obj in state.items() if kind == "horizontalpodautoscalers"}
            hpa = self._hpa(reconcile, hpas.get(self.key[1]))
            if hpa is None:
                continue
            others = [other for target, other in hpas.items() if target != self.key[1]]
            pods = [{"apiVersion": "v1", "kind": "Pod", **obj} for (kind, _), obj in state.items() if kind == "pods"]
            for scales in self._scales(reconcile, {target: _created(other) for target, other in hpas.items()}):
                for now in times:
                    yield View(hpa, [hpa, *others, *scales, *pods, *metrics], now)

    def _hpa(self, reconcile: Reconcile, live: Object | None) -> Object | None:
        """The exact version that it worked on, if its write shows it."""
        return self.timeline.hpa(reconcile.seen_as[1]) if reconcile.seen_as else live

    def _times(self, reconcile: Reconcile) -> tuple[float, ...]:
        """When it may have read its clock; the times in its state are as uncertain."""
        self.doubts.append(reconcile.acted - reconcile.knew)
        early, late = reconcile.knew - JITTER - max(self.doubts), reconcile.acted + JITTER + max(self.doubts)
        return (reconcile.acted, reconcile.knew, early, late)

    def _scales(self, reconcile: Reconcile, since: dict[str, float]) -> list[list[Object]]:
        """The scale it read, and those read for other HPAs before: their pods are known only from then on."""
        others = [one for one in self.neighbours if one.began >= since.get(one.target, reconcile.over)]
        likely = [one for one in others if one.read < reconcile.read]
        surely = [one for one in others if one.acted < reconcile.began]
        perhaps = [one for one in others if one.began < reconcile.acted]
        views: list[list[Object]] = []
        for known in (likely, surely, perhaps):
            latest = {one.target: one.scale for one in known}
            view = [scale for scale in (reconcile.scale, *latest.values()) if scale is not None]
            if view not in views:
                views.append(view)
        return views

    def _decide(self, view: View, state: State, reconcile: Reconcile) -> tuple[Decision, State]:
        snapshot = Snapshot(view.objects)
        hpa = next(
            a for a in snapshot.autoscalers() if isinstance(a, HPA) and a.target and a.target.name == self.key[1]
        )
        seen = _with_all_values(seen_by(snapshot, hpa, view.now, self.settings), hpa, reconcile)
        decision, after = decide(hpa, seen, state, self.settings)
        if not decision.rescales:
            return decision, after
        if reconcile.write_refused:
            failed = refused(hpa, decision, after, "refused")
            return failed, after.reported(failed)
        return decision, after.acted(decision, reconcile.scaled_at if reconcile.scaled else view.now)


def _as_stored(state: State, hpa: Object) -> State:
    """What a controller remembers of a status is what it reads from it."""
    stored = State.from_status(hpa.get("status"))
    return state._replace(conditions=stored.conditions, desired=stored.desired, last_scale=stored.last_scale)


def _gist(state: State) -> tuple[tuple[int, ...], ...]:
    """What was recommended and done, without the times."""
    return (state.recommendations or TimedValues()).values, state.ups.values, state.downs.values


def _target(hpa: Object) -> str:
    return str(hpa["spec"]["scaleTargetRef"]["name"])


def _created(hpa: Object) -> float:
    return read_time(hpa["metadata"]["creationTimestamp"]) or 0.0


def _with_all_values(seen: Seen, hpa: HPA, reconcile: Reconcile) -> Seen:
    """Add values of pods that are already gone.

    A dump cannot distinguish them from pods of other workloads, but the controller was given them as its own.
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


def _reported(decision: Decision) -> Reported:
    """What a decision would write."""
    moves = decision.desired != decision.current
    return {**plain(decision.status), ASKED: decision.desired if moves else None}
