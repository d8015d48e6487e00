"""Events: which reasons exist, and how many events are combined."""

import ast
import json
from dataclasses import replace
from pathlib import Path

import pytest

import hypot.policy
import hypot.run
from hypot.cluster.port import MERGE_PATCH, Answer, encoded
from hypot.policy.hold import Hold
from hypot.policy.model.decision import Event
from hypot.run.report import events
from hypot.run.report.events import (
    COMBINED,
    MOST_ALIKE,
    MOST_AT_ONCE,
    MOST_KNOWN,
    PATCH_EVERY,
    REASONS,
    SAME_WITHIN,
    SILENT,
    EventRecorder,
    PostedEvent,
    reported_events,
)
from hypot.serving.event_object import EventSubject
from unit.run.outcomes import PAUSED, between, items, outcome, representative, with_metadata

OUTCOMES = representative()
WEB = EventSubject("datadoghq.com/v1alpha1", "WatermarkPodAutoscaler", "shop", "web", "u-1", "7")
WALL, BOOT = 1_800_000_000.0, 5000.0
# Calls that name the reason of an event, and the position of the reason among their arguments.
NAMING = {"Event": 1, "warn": 0, "no_scale": 1, "Refusal": 2, "_bad_selector": 1, "_failed": 1}
# Names of a reason that is given elsewhere.
HANDED_ON = {"reason", "event", "refusal.event", "reading.failed_reason", "HELD_EVENT"}


def said(message="no metrics", reason="FailedGetResourceMetric", about=WEB):
    return PostedEvent(about, Event("Warning", reason, message))


def made(name="web.1", version="8"):
    return Answer(201, encoded({"metadata": {"name": name, "resourceVersion": version}}))


def body(request):
    return json.loads(request.body)


def after(recorder, seconds, *reported):
    """What is written so many seconds after the first time."""
    return recorder.requests(reported, WALL + seconds, BOOT + seconds)


def posted(*reported):
    """A recorder whose first events were accepted."""
    recorder = EventRecorder()
    for request in after(recorder, 0, *reported):
        recorder.answered(request, made())
    return recorder


# The table.


def reasons_in(source):
    """Every expression by which a file names a reason."""
    for call in ast.walk(ast.parse(source)):
        if not isinstance(call, ast.Call):
            continue
        function = call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")
        place = NAMING.get(function)
        if place is not None and len(call.args) > place:
            yield call.args[place]


def spelt(node):
    """The reasons that an expression can have."""
    if isinstance(node, ast.Constant):
        return {node.value}
    if isinstance(node, ast.JoinedStr):
        assert ast.unparse(node) == "f'FailedGet{kind}Metric'"
        return {f"FailedGet{kind}Metric" for kind in ("Resource", "ContainerResource", "Pods", "Object", "External")}
    assert ast.unparse(node) in HANDED_ON
    return set()


OF_POLICIES = {
    reason
    for path in Path(hypot.policy.__file__).parent.rglob("*.py")
    for node in reasons_in(path.read_text(encoding="utf-8"))
    for reason in spelt(node)
}
# Reasons that are passed as values.
OF_OUTCOMES = {event.reason for one in OUTCOMES.values() for event in one.decision.events}


def test_every_reason_of_a_policy_is_in_the_table():
    """A reason without an explanation cannot be added."""
    found = OF_POLICIES
    assert {"SuccessfulRescale", "Scaled", "FailedSpecCheck", "FailedGetPodsMetric", "FailedScaling"} <= found
    assert found <= REASONS.keys()


def test_every_reported_reason_is_in_the_table():
    """Reasons that are passed as values are included."""
    assert {"EvictedPod", "InPlaceResizedByVPA", "ScalingHeld", "FailedGetDatadogMonitor"} <= OF_OUTCOMES
    assert REASONS.keys() >= OF_OUTCOMES


# Each constructor that has a caller, and the event it makes.
MADE = {
    "scaling_held": events.scaling_held([PAUSED]),
    "conflict": events.conflict("somebody scales the same pods"),
    "resize_failed": events.resize_failed("web-0", "a disruption budget spares none"),
    "plan_ended": events.plan_ended("a resize was put off for too long"),
    "hpa_created": events.hpa_created("web", 3, 9),
    "hpa_deleted": events.hpa_deleted("web"),
    "hpa_updated": events.hpa_updated("web", 3, 9),
    "hpa_refused": events.hpa_refused("web", "403 forbidden"),
    "history_read": events.history_read("learned from 28 days of usage"),
    "history_failed": events.history_failed("Prometheus did not answer"),
    "webhook_unavailable": events.webhook_unavailable("its certificate is not trusted"),
}


def nodes_of(*paths):
    for path in paths:
        yield from ast.walk(ast.parse(path.read_text(encoding="utf-8")))


def called_in(folder):
    """The names of all functions that are called in the files of a folder."""
    calls = [node for node in nodes_of(*folder.rglob("*.py")) if isinstance(node, ast.Call)]
    return {call.func.id for call in calls if isinstance(call.func, ast.Name)}


def test_every_reason_of_the_table_can_be_made():
    """A policy, a judge or a called constructor makes it: the page lists no reason that is never written."""
    folder = Path(hypot.run.__path__[0])
    assert called_in(folder) >= MADE.keys()
    deciding = nodes_of(*Path(hypot.policy.__file__).parent.rglob("*.py"), folder / "judge.py")
    values = {node.value for node in deciding if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    assert REASONS.keys() <= OF_POLICIES | OF_OUTCOMES | values | {event.reason for event in MADE.values()}


@pytest.mark.parametrize("event", MADE.values(), ids=lambda event: event.reason)
def test_the_controller_s_own_events_are_in_the_table(event):
    """Each has a constructor and a message."""
    assert event.reason in REASONS
    assert event.message


def test_the_table_explains_in_sentences():
    """They are shown as they are."""
    assert all(message.endswith(".") and message[0].isupper() for message in REASONS.values())


# What an outcome reports.


def test_an_outcome_reports_the_events_of_its_decision():
    """They have the identity by which `kubectl describe` finds them."""
    spec = with_metadata(between(), uid="u-9", resourceVersion="12")
    (reported,) = reported_events(outcome(spec, items(80_000)))
    assert reported.about == EventSubject(
        "datadoghq.com/v1alpha1", "WatermarkPodAutoscaler", "default", "web", "u-9", "12"
    )
    assert (reported.event.type, reported.event.reason) == ("Normal", "Scaling")


def test_recommend_mode_reports_no_actions():
    """Nothing is reported as done or held back that was not going to be done; problems are reported."""
    moves = replace(OUTCOMES["vpa resizes"], acting="recommend")
    assert moves.decision.events
    assert list(reported_events(moves)) == []
    conflict = replace(moves, holds=(Hold("Conflict", "another one writes here"),))
    assert [reported.event.reason for reported in reported_events(conflict)] == ["Conflict"]


def test_no_change_is_not_an_event():
    """It would be one event for each object and reconcile."""
    assert {event.reason for event in OUTCOMES["wpa stays"].decision.events} == SILENT
    assert list(reported_events(OUTCOMES["wpa stays"])) == []


def test_a_hold_is_one_event_whether_it_stops_a_move_or_not():
    """Both events have the same message while the object is paused."""
    moving = {reported.event for reported in reported_events(OUTCOMES["wpa paused"])}
    resting = {reported.event for reported in reported_events(outcome(between(), items(30_000), holds=(PAUSED,)))}
    assert moving == resting == {events.scaling_held([PAUSED])}


def test_all_holds_of_a_reconcile_are_one_event():
    """The event of the decision names only the annotation, because the other holds come later."""
    cold = Hold("ColdStart", "hypot started without saved state: no scale-down for 300 s", "down")
    pinned = between(annotations={"hypot.dev/paused": "true"})
    held = outcome(pinned, items(80_000), holds=(PAUSED, cold))
    assert [event.message for event in held.decision.events if event.reason == "ScalingHeld"] != []
    assert [reported.event for reported in reported_events(held)] == [events.scaling_held([PAUSED, cold])]


def test_a_conflict_is_reported():
    """It is a warning, in addition to the event of the hold."""
    reasons = {reported.event.reason: reported.event.type for reported in reported_events(OUTCOMES["wpa in conflict"])}
    assert reasons == {"ScalingHeld": "Normal", "Conflict": "Warning"}


def test_what_is_only_observed_has_no_events():
    """Logs and gauges report it."""
    assert list(reported_events(outcome(between(), items(80_000), acting="observe"))) == []


# What is written.


def test_a_new_event_is_posted_whole():
    """It is a core/v1 event, so that kubectl shows it."""
    (request,) = after(EventRecorder("hypot-0"), 0, said())
    assert (request.method, request.path) == ("POST", "/api/v1/namespaces/shop/events")
    written = body(request)
    assert written.pop("metadata")["namespace"] == "shop"
    assert written == {
        "apiVersion": "v1",
        "kind": "Event",
        "involvedObject": {
            "apiVersion": "datadoghq.com/v1alpha1",
            "kind": "WatermarkPodAutoscaler",
            "namespace": "shop",
            "name": "web",
            "uid": "u-1",
            "resourceVersion": "7",
        },
        "type": "Warning",
        "reason": "FailedGetResourceMetric",
        "message": "no metrics",
        "count": 1,
        "firstTimestamp": "2027-01-15T08:00:00Z",
        "lastTimestamp": "2027-01-15T08:00:00Z",
        "source": {"component": "hypot"},
        "reportingComponent": "hypot",
        "reportingInstance": "hypot-0",
    }


def test_the_same_again_is_counted_and_patched_once_a_minute():
    """Four reconciles make one write."""
    recorder = posted(said())
    assert [after(recorder, seconds, said()) for seconds in (15, 30, 45)] == [[], [], []]
    (request,) = after(recorder, PATCH_EVERY, said())
    assert (request.method, request.content) == ("PATCH", MERGE_PATCH)
    assert request.path.startswith("/api/v1/namespaces/shop/events/web.")
    assert body(request) == {
        "metadata": {"resourceVersion": "8"},
        "count": 5,
        "lastTimestamp": "2027-01-15T08:01:00Z",
        "message": "no metrics",
    }


def test_what_is_not_said_again_is_not_written_again():
    """A patch is sent only for a new count."""
    recorder = posted(said())
    assert [after(recorder, seconds) for seconds in (60, 120, 300)] == [[], [], []]


def test_said_long_after_it_is_another_event():
    """It has its own name and count."""
    recorder = posted(said())
    (request,) = after(recorder, SAME_WITHIN + 1, said())
    assert (request.method, body(request)["count"]) == ("POST", 1)
    assert body(request)["firstTimestamp"] == "2027-01-15T08:10:01Z"


def test_objects_reasons_and_messages_are_distinguished():
    """A recreated object is another object, too."""
    reported = [said(), said("other"), said(reason="Scaling"), said(about=WEB._replace(uid="u-2"))]
    assert len(after(EventRecorder(), 0, *reported, *reported)) == 4


def test_too_many_messages_of_one_reason_become_one_event():
    """Messages with changing numbers would fill the cluster."""
    recorder = EventRecorder()
    requests = after(recorder, 0, *[said(f"message {i}") for i in range(25)])
    messages = [body(request)["message"] for request in requests]
    assert len(messages) == MOST_ALIKE + 1
    assert messages[-1] == f"{COMBINED}message 24"
    assert body(requests[-1])["count"] == 15
    for request in requests:
        recorder.answered(request, made())
    (request,) = after(recorder, PATCH_EVERY, said("message 25"))
    assert (body(request)["message"], body(request)["count"]) == (f"{COMBINED}message 25", 16)


def test_after_a_quiet_time_messages_are_single_events_again():
    """Messages from ten minutes ago do not count."""
    recorder = posted(*[said(f"message {i}") for i in range(MOST_ALIKE)])
    (request,) = after(recorder, SAME_WITHIN + 1, said("message 99"))
    assert body(request)["message"] == "message 99"


@pytest.mark.parametrize("status", [404, 409])
def test_an_event_that_is_gone_is_posted_again(status):
    """Events expire; a name is not used twice."""
    recorder = posted(said())
    (patch,) = after(recorder, 60, said())
    recorder.answered(patch, Answer(status))
    (request,) = after(recorder, 75)
    assert (request.method, body(request)["count"]) == ("POST", 2)
    assert not patch.path.endswith(body(request)["metadata"]["name"])


def test_a_post_that_arrived_before_is_not_lost():
    """Its answer was lost, and the next attempt finds the name taken."""
    recorder = EventRecorder()
    (first,) = after(recorder, 0, said())
    (again,) = after(recorder, PATCH_EVERY)
    assert body(again)["metadata"] == body(first)["metadata"]
    recorder.answered(again, Answer(409, encoded({"reason": "AlreadyExists"})))
    (patch,) = after(recorder, 2 * PATCH_EVERY, said())
    assert (patch.method, body(patch)["count"]) == ("PATCH", 2)
    assert "metadata" not in body(patch)


def test_what_is_refused_is_tried_again_later_and_then_dropped():
    """A namespace that is being deleted accepts no events."""
    recorder = EventRecorder()
    for seconds in (0, 60, 120):
        (request,) = after(recorder, seconds, *([said()] if seconds == 0 else []))
        recorder.answered(request, Answer(403))
        assert after(recorder, seconds + 15) == []
    assert after(recorder, SAME_WITHIN + 1) == []
    assert len(recorder) == 0


def test_an_answer_to_what_is_forgotten_is_ignored():
    """It may come late."""
    recorder = EventRecorder()
    (request,) = after(recorder, 0, said())
    after(recorder, SAME_WITHIN + 1)
    recorder.answered(request, made())
    assert len(recorder) == 0


def test_memory_and_writes_are_bounded():
    """They are bounded however many objects fail at once."""
    recorder = EventRecorder()
    many = [said(about=WEB._replace(uid=f"u-{i}")) for i in range(MOST_KNOWN + 500)]
    first, second = after(recorder, 0, *many), after(recorder, 15)
    assert len(first) == len(second) == MOST_AT_ONCE
    assert len({request.body for request in [*first, *second]}) == 2 * MOST_AT_ONCE
    assert len(recorder) == len(recorder._alike) == MOST_KNOWN
    assert len(recorder._by_name) == 2 * MOST_AT_ONCE


def test_an_event_of_the_cluster_s_own_objects_is_in_default():
    """The API server requires it."""
    (request,) = after(EventRecorder(), 0, said(about=EventSubject("v1", "Node", "", "n1")))
    assert request.path == "/api/v1/namespaces/default/events"
    assert body(request)["involvedObject"] == {"apiVersion": "v1", "kind": "Node", "name": "n1"}
