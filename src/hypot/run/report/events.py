"""Events: the single table of their reasons, and the requests that write them."""

from collections import OrderedDict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, NamedTuple

import msgspec

from hypot.cluster.port import JSON, MERGE_PATCH, Answer, Method, Request, encoded
from hypot.core.instant import show_time
from hypot.policy.hold import CONFLICT
from hypot.policy.model.decision import Event, Hold
from hypot.policy.report import HELD_EVENT
from hypot.policy.stages.report import sentence
from hypot.run.observe.conflicts import OTHER_LEADER
from hypot.run.outcome import WEBHOOK_UNAVAILABLE, Outcome
from hypot.run.requests import MANAGER, WRITE_WITHIN
from hypot.serving.event_object import LONGEST_MESSAGE, EventSubject, Occurrences, cut, event_name, event_object

# Reason -> what it means. The reasons of the policies are those of the controllers that people know.
REASONS: dict[str, str] = {
    # A move.
    "SuccessfulRescale": "The replicas of an HPA's target changed.",
    "Scaling": "The replicas of a WatermarkPodAutoscaler's target changed.",
    "NotScaling": "A WatermarkPodAutoscaler leaves its target as it is; decided, and not written as an event.",
    "Scaled": "The replicas of the target of an Hvpa, Tortoise or Autoscaler changed, or its size, or both.",
    "EmergencyModeFailed": "A Tortoise cannot raise the replicas to its maximum, because it has learned no bounds yet.",
    "SaturatedWhileGathering": "The pods of a Tortoise are saturated at the maximum of the HPA that it names.",
    "SettingIgnored": "An annotation with a setting of a Tortoise is wrong, or contradicts another one.",
    "HPACreated": "An HPA was made for a Tortoise.",
    "HPADeleted": "The HPA of a Tortoise was deleted, because no resource is Horizontal any more.",
    "HPAUpdated": "The bounds, targets or behavior of the HPA of a Tortoise changed.",
    "HistoryRead": "A Tortoise or Autoscaler learned from the usage that Prometheus has of its pods, or there is none.",
    "InPlaceResizedByVPA": "A running pod was resized in place, without a restart of the pod.",
    "EvictedPod": "A pod was evicted, so that it comes back with another size.",
    # A write that was refused.
    "FailedRescale": "The scale of an HPA's target could not be written.",
    "FailedScale": "The scale of a WatermarkPodAutoscaler's target could not be written.",
    "FailedScaling": "The decision for an Hvpa, Tortoise or Autoscaler could not be written.",
    "FailedUpdateHPA": "The HPA of a Tortoise could not be written.",
    "FailedUpdate": "The status of a VerticalPodAutoscaler could not be written.",
    "FailedResize": "A pod could not be resized or evicted: the API server or a disruption budget refused it.",
    # Something that could not be read, so nothing is scaled, or at least not down.
    "FailedGetScale": "The scale of the target could not be read.",
    "ReconcileError": "A Tortoise could not be decided, or the HPA that it names does not exist.",
    "FailedReadHistory": "Prometheus could not be asked for earlier usage; until it can, only what is observed counts.",
    "FailedProcessWPA": "The scale of a WatermarkPodAutoscaler's target could not be read.",
    "FailedComputeMetricsReplicas": "No number of replicas could be computed from the metrics.",
    "FailedGetResourceMetric": "Usage of the pods, or a recommender's answer, could not be read.",
    "FailedGetContainerResourceMetric": "Usage of one container of the pods could not be read.",
    "FailedGetPodsMetric": "A custom metric of the pods could not be read.",
    "FailedGetObjectMetric": "A custom metric of another object could not be read.",
    "FailedGetExternalMetric": "An external metric could not be read.",
    "FailedGetDatadogMonitor": "The monitor that guards a WatermarkPodAutoscaler could not be read.",
    # An invalid object.
    "FailedSpecCheck": "The spec of a WatermarkPodAutoscaler has errors; nothing is done until they are fixed.",
    "InvalidSpec": "The spec of an HPA, VPA, Hvpa, Tortoise or Autoscaler has errors; nothing is done meanwhile.",
    "DecisionFailed": "An internal error prevented a decision, so the object is left alone; the log has the details.",
    "InvalidMetricSourceType": "A metric has an unknown type.",
    "InvalidSelector": "The selector of the target cannot be read.",
    "SelectorRequired": "The target has no selector, so its pods are unknown.",
    "AmbiguousSelector": "Another autoscaler selects the same pods.",
    # The controller.
    "ScheduleBegan": "A planned minimum holds from now on.",
    "ScheduleEnded": "A planned minimum is over.",
    "ScalingHeld": "The object is held in one or both directions: paused, by the governor, or without fresh metrics.",
    "Conflict": "Another controller scales the same target, so hypot does not act, or does not scale down.",
    "PlanEnded": "A move on both axes was abandoned before it was done: no node has room, or it is held as a whole.",
    WEBHOOK_UNAVAILABLE: "New pods start with the size of their template, because the webhook does not work.",
}
# These occur in every reconcile that changes nothing, and would flood the events.
SILENT = frozenset({"NotScaling"})

# A repetition within this time counts up the same event; the count is written at most this often.
SAME_WITHIN = 600.0
PATCH_EVERY = 60.0
# One object may have this many different messages for one reason within that time; further ones become one event.
MOST_ALIKE = 10
COMBINED = "(combined from similar events): "
# Events kept, and events written per reconcile.
MOST_KNOWN = 4096
MOST_AT_ONCE = 100


def hpa_created(name: str, low: int, high: int) -> Event:
    return Event("Normal", "HPACreated", f"HorizontalPodAutoscaler {name} was made, for {low} to {high} replicas.")


def hpa_updated(name: str, low: int, high: int) -> Event:
    return Event("Normal", "HPAUpdated", f"HorizontalPodAutoscaler {name} has {low} to {high} replicas.")


def hpa_deleted(name: str) -> Event:
    return Event("Normal", "HPADeleted", f"HorizontalPodAutoscaler {name} was deleted: no resource is Horizontal.")


def hpa_refused(name: str, message: str) -> Event:
    text = f"HorizontalPodAutoscaler {name} could not be written: {message}"
    return Event("Warning", "FailedUpdateHPA", sentence(text))


def history_read(message: str) -> Event:
    return Event("Normal", "HistoryRead", sentence(message))


def history_failed(message: str) -> Event:
    return Event("Warning", "FailedReadHistory", sentence(message))


def table() -> str:
    """All reasons as a table for the documentation."""
    lines = ["| reason | what it means |", "| --- | --- |"]
    return "\n".join([*lines, *[f"| `{reason}` | {text} |" for reason, text in REASONS.items()]])


class PostedEvent(NamedTuple):
    about: EventSubject
    event: Event


def subject_of(outcome: Outcome) -> EventSubject:
    metadata = outcome.autoscaler.metadata
    uid, version = (str(metadata.get(key) or "") for key in ("uid", "resourceVersion"))
    return EventSubject(*outcome.decision.autoscaler, uid, version)


def reported_events(outcome: Outcome) -> Iterator[PostedEvent]:
    """The events of one object's outcome; objects that are only observed have none.

    Objects in mode recommend have only warnings: nothing is done for them, and nothing is held back.
    """
    if outcome.acting == "observe" or not (outcome.decision.events or outcome.holds):
        return
    about, acts = subject_of(outcome), outcome.acting == "act"
    lasting = {event.reason: event for event in _lasting(outcome.holds)}
    own = [event for event in outcome.decision.events if event.reason not in lasting]
    for event in dict.fromkeys((*own, *lasting.values())):
        if event.reason not in SILENT and (acts or event.type == "Warning"):
            yield PostedEvent(about, event)


def _lasting(holds: Sequence[Hold]) -> Iterator[Event]:
    """Events of holds that people have to lift: reported while they last, others only when they hold back a move."""
    if any(hold.reason in {"Paused", "Held"} for hold in holds):
        yield scaling_held(holds)
    yield from [conflict(hold.message) for hold in holds if hold.reason in {CONFLICT, OTHER_LEADER}]


def scaling_held(holds: Iterable[Hold]) -> Event:
    """The event with the text of the condition, which names all holds; a decision's own event has only some."""
    return Event("Normal", HELD_EVENT, sentence("; ".join(dict.fromkeys(hold.message for hold in holds))))


def conflict(text: str) -> Event:
    return Event("Warning", "Conflict", sentence(text))


def resize_failed(pod: str, text: str) -> Event:
    return Event("Warning", "FailedResize", f"{pod}: {text}")


def plan_ended(text: str) -> Event:
    return Event("Warning", "PlanEnded", text)


def webhook_unavailable(text: str) -> Event:
    return Event("Warning", WEBHOOK_UNAVAILABLE, text)


@dataclass(slots=True)
class _Note:
    """One event: its content, how often it occurred (`count`), and the count in the cluster (`written`)."""

    about: EventSubject
    event: Event
    first: float
    last: float
    seen: float
    count: int = 0
    written: int = 0
    tried: float = -inf
    # Empty before it is posted, and again once it is gone from the cluster.
    name: str = ""
    posted: bool = False
    version: str = ""

    def is_due(self, now_boot: float) -> bool:
        return self.count > self.written and now_boot - self.tried >= PATCH_EVERY

    def said(self, event: Event, now_wall: float, now_boot: float) -> None:
        self.event, self.last, self.seen = event, now_wall, now_boot
        self.count += 1


class EventRecorder:
    """Combines events: a repeated event counts up, and many similar events become one. It never blocks.

    Events expire in a cluster and may be lost; nothing depends on them, so refused writes are tried again later.
    """

    def __init__(self, instance: str = "") -> None:
        self._instance = instance
        self._notes: OrderedDict[tuple[Hashable, ...], _Note] = OrderedDict()
        self._alike: OrderedDict[tuple[Hashable, ...], dict[str, float]] = OrderedDict()
        self._by_name: dict[str, _Note] = {}
        self._names = 0

    def __len__(self) -> int:
        return len(self._notes)

    def requests(self, reported: Iterable[PostedEvent], now_wall: float, now_boot: float) -> list[Request]:
        """Take all of these events, and return the writes that are due."""
        for each in reported:
            self.hear(each, now_wall, now_boot)
        return self.due(now_wall, now_boot)

    def due(self, now_wall: float, now_boot: float) -> list[Request]:
        """The writes that are due now: events never written first, then the oldest."""
        self._forget(now_boot)
        due = [note for note in self._notes.values() if note.is_due(now_boot)]
        due.sort(key=lambda note: note.tried)
        return [self._request(note, now_wall, now_boot) for note in due[:MOST_AT_ONCE]]

    def answered(self, request: Request, answer: Answer) -> None:
        """Take the answer to a write; a write without an answer is tried again."""
        body = msgspec.json.decode(request.body or b"{}")
        name = body["metadata"]["name"] if request.method == "POST" else request.path.rpartition("/")[2]
        note = self._by_name.get(name)
        if note is None:
            return
        if answer.ok:
            metadata = answer.json().get("metadata") or {}
            note.posted, note.written, note.version = True, body["count"], str(metadata.get("resourceVersion") or "")
        elif request.method == "POST" and answer.conflict:
            # An earlier attempt succeeded.
            note.posted = True
        elif answer.gone or answer.conflict:
            del self._by_name[note.name]
            note.posted, note.name, note.version, note.tried = False, "", "", -inf

    def hear(self, reported: PostedEvent, now_wall: float, now_boot: float) -> None:
        """Take one event, so that the caller can let other tasks run in between."""
        about, event = reported
        who: tuple[Hashable, ...] = (about.uid,) if about.uid else about[:4]
        message = cut(event.message, LONGEST_MESSAGE)
        key = (*who, event.reason, message)
        if self._is_one_of_many((*who, event.reason), message, now_boot):
            key, message = (*who, event.reason), cut(f"{COMBINED}{message}", LONGEST_MESSAGE)
        note = self._notes.get(key)
        if note is None or now_boot - note.seen > SAME_WITHIN:
            self._drop(key)
            note = self._notes[key] = _Note(about, event, now_wall, now_wall, now_boot)
        self._notes.move_to_end(key)
        note.said(event._replace(message=message), now_wall, now_boot)

    def _is_one_of_many(self, key: tuple[Hashable, ...], message: str, now_boot: float) -> bool:
        """Whether the object recently had too many different messages for this reason."""
        known = {text: at for text, at in self._alike.get(key, {}).items() if now_boot - at <= SAME_WITHIN}
        many = message not in known and len(known) >= MOST_ALIKE
        if not many:
            known[message] = now_boot
        self._alike[key] = known
        self._alike.move_to_end(key)
        return many

    def _forget(self, now_boot: float) -> None:
        """Drop events that did not occur for long, and the oldest if there are too many."""
        while self._notes:
            key, note = next(iter(self._notes.items()))
            if len(self._notes) <= MOST_KNOWN and now_boot - note.seen <= SAME_WITHIN:
                break
            self._drop(key)
        while len(self._alike) > MOST_KNOWN:
            self._alike.popitem(last=False)

    def _drop(self, key: tuple[Hashable, ...]) -> None:
        note = self._notes.pop(key, None)
        if note is not None:
            self._by_name.pop(note.name, None)

    def _request(self, note: _Note, now_wall: float, now_boot: float) -> Request:
        note.tried = now_boot
        path = f"/api/v1/namespaces/{note.about.namespace or 'default'}/events"
        if note.posted:
            return _write("PATCH", f"{path}/{note.name}", _again(note), MERGE_PATCH)
        if not note.name:
            self._names += 1
            note.name = event_name(note.about.name, int(now_wall * 1e6) + self._names)
            self._by_name[note.name] = note
        return _write("POST", path, _whole(note, self._instance), JSON)


def _write(method: Method, path: str, body: dict[str, Any], content: str) -> Request:
    return Request(method, path, {"fieldManager": MANAGER}, encoded(body), content, timeout=WRITE_WITHIN)


def _whole(note: _Note, instance: str) -> dict[str, Any]:
    seen = Occurrences(note.first, note.last, note.count)
    return event_object(note.about, note.name, note.event.type, note.event.reason, note.event.message, seen, instance)


def _again(note: _Note) -> dict[str, Any]:
    """The patch for a repeated event; the message of a combined event changes."""
    known = {"metadata": {"resourceVersion": note.version}} if note.version else {}
    reported = {"count": note.count, "lastTimestamp": show_time(note.last), "message": note.event.message}
    return {**known, **reported}
