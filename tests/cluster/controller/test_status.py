"""A real API server accepts what hypot reports: statuses by server-side apply, and events."""

from dataclasses import replace

import pytest

from cluster.crds import created, path_of, serving
from cluster.plane.api import Api
from hypot.cluster.port import Answer, encoded
from hypot.kinds.hpa import HPA
from hypot.policy.model.decision import Event, Name
from hypot.policy.model.state import State
from hypot.run.observe.rows import keep_autoscaler
from hypot.run.report.events import EventRecorder, PostedEvent, subject_of
from hypot.run.report.status import Choice, found, is_ours, last_report, status_request, wrote
from unit.run.outcomes import representative

NOW = 1_800_000_000.0
# A Tortoise that never had a status gets the empty parts of it with its first one.
OUTCOMES = {name: one for name, one in representative().items() if name not in {"wpa broken", "tortoise without scale"}}


def stored(api: Api, name: str, namespace: str):
    """The path, version and outcome of the object in the cluster, under its name there."""
    one = OUTCOMES[name]
    manifest = {**one.autoscaler.to_dict(), "metadata": {"name": "web", "annotations": {}}}
    manifest.pop("status", None)
    if isinstance(one.autoscaler, HPA):
        path = f"/apis/autoscaling/v2/namespaces/{namespace}/horizontalpodautoscalers"
        held = api.create(path, manifest)
    else:
        path = path_of(type(one.autoscaler))
        held = created(serving(api), type(one.autoscaler), manifest)
    metadata = held["metadata"]
    where = Name(one.autoscaler.API_VERSION, one.key[0], metadata["namespace"], metadata["name"])
    moved = replace(
        one,
        key=(where.kind, where.namespace, where.name),
        autoscaler=type(one.autoscaler).from_dict(held),
        decision=one.decision._replace(autoscaler=where),
    )
    return f"{path}/{metadata['name']}", metadata["resourceVersion"], moved


def send(api: Api, request):
    return api.call(request.method, request.path, request.body, query=request.query, content=request.content)


@pytest.mark.parametrize("name", OUTCOMES)
def test_a_status_is_accepted_and_kept(api: Api, namespace: str, name: str):
    """It is kept whole, as hypot's own; an unchanged status is not written again, and an old version is refused."""
    path, version, one = stored(api, name, namespace)
    request = status_request(one, path, version)
    answer = send(api, request)
    assert answer.ok, answer.body
    kept = answer.body["status"]
    assert [condition.type for condition in found(kept).conditions] == [
        condition.type for condition in one.decision.conditions
    ]
    again = replace(one, autoscaler=type(one.autoscaler).from_dict(answer.body))
    choice = Choice({}, NOW)
    choice.look(again)
    assert choice.chosen() == []
    assert found(kept).conditions == State.from_status(kept).conditions
    managers = {each["manager"]: each for each in answer.body["metadata"]["managedFields"]}
    if one.decision.status:
        assert (managers["hypot"]["operation"], managers["hypot"]["subresource"]) == ("Apply", "status")
    report = one.decision.report
    report = report._replace(status={**report.status, "observedGeneration": 7})
    changed = replace(one, decision=one.decision._replace(report=report))
    assert wrote(changed, NOW) != wrote(one, NOW)
    assert send(api, status_request(changed, path, version)).status == 409


@pytest.mark.parametrize("name", ["hpa moves", "wpa moves", "vpa evicts", "hvpa moves", "tortoise edits"])
def test_the_last_report_is_accepted(api: Api, namespace: str, name: str):
    """A status is recognised as hypot's own by its managed fields; the last report changes only its conditions."""
    path, version, one = stored(api, name, namespace)
    held = send(api, status_request(one, path, version)).body
    row = keep_autoscaler(one.autoscaler.API_VERSION, one.key[0], held)
    assert is_ours(row.managers)
    last = last_report(replace(one, autoscaler=row.autoscaler), found(held["status"]))
    assert last is not None
    answer = send(api, status_request(last, path, row.version))
    assert answer.ok, answer.body
    kept = answer.body["status"]
    assert "NotOptedIn" in {condition.reason for condition in found(kept).conditions}
    assert last_report(last, found(kept)) is None
    rest = [key for key in held["status"] if key != "conditions" and not key.startswith("lastCondition")]
    assert [kept[key] for key in rest] == [held["status"][key] for key in rest]


def test_an_event_is_posted_counted_and_posted_again(api: Api, namespace: str):
    """It refers to its object, so that `kubectl describe` finds it."""
    _, _, one = stored(api, "hpa moves", namespace)
    recorder = EventRecorder("hypot-0")
    reported = PostedEvent(subject_of(one), Event("Normal", "SuccessfulRescale", "ü" * 2000))
    events = f"/api/v1/namespaces/{namespace}/events"

    def after(seconds: float):
        (request,) = recorder.requests([reported], NOW + seconds, seconds)
        answer = send(api, request)
        recorder.answered(request, Answer(answer.status, encoded(answer.body)))
        return answer

    assert after(0).status == 201
    assert after(60).status == 200
    query = {"fieldSelector": f"involvedObject.uid={reported.about.uid}"}
    (event,) = api.get(events, query=query)["items"]
    assert (event["count"], event["reportingComponent"], event["reason"]) == (2, "hypot", "SuccessfulRescale")
    api.delete(f"{events}/{event['metadata']['name']}")
    assert after(120).status == 404
    assert after(135).status == 201
    (event,) = api.get(events, query=query)["items"]
    assert event["count"] == 4
