"""Which statuses are written, and what is sent."""

import json
from dataclasses import replace

import jsonschema
import pytest

from builders import NOW
from hypot.cluster.port import APPLY_PATCH
from hypot.kinds.autoscaler import WorkloadAutoscaler
from hypot.kinds.catalogue import crd_of
from hypot.kinds.hpa import HPA
from hypot.kinds.hpa.status import HPAStatus
from hypot.kinds.hvpa import Hvpa
from hypot.kinds.tortoise import Tortoise
from hypot.kinds.vpa import VPA
from hypot.kinds.wpa import WPA
from hypot.policy.model.state import State
from hypot.run.report.status import (
    LONGEST_MESSAGE,
    MOST_PATIENT,
    PATIENCE,
    Choice,
    status_request,
    without_nulls,
    wrote,
)
from unit.run.outcomes import between, items, outcome, representative, sized, vpa

OUTCOMES = representative()
PATH = "/apis/datadoghq.com/v1alpha1/namespaces/default/watermarkpodautoscalers/web"
CALM = OUTCOMES["wpa stays"]
SCHEMAS = {
    kind.KIND: crd_of(kind)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"]
    for kind in (WPA, VPA, Hvpa, Tortoise, WorkloadAutoscaler)
}


def with_nullable(schema):
    """The schema with `nullable` as JSON Schema writes it: an API server accepts null there."""
    if isinstance(schema, list):
        return [with_nullable(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: with_nullable(each) for key, each in schema.items()}
    return {**made, "type": [made["type"], "null"]} if made.get("nullable") is True else made


def choose(outcomes, written, now, due=None):
    choice = Choice(written, now, due or {})
    for each in outcomes:
        choice.look(each)
    return choice.chosen()


def sent(one):
    return json.loads(status_request(one, PATH, "7").body)


def named(one, name):
    """The same outcome for an object of another name."""
    kind, namespace, _ = one.key
    return replace(one, key=(kind, namespace, name))


def reported(one, **changes):
    return replace(one, decision=one.decision._replace(report=one.decision.report._replace(**changes)))


def in_other_words(one):
    """The same conditions with other messages."""
    changed = tuple(condition._replace(message="in other words") for condition in one.decision.conditions)
    return reported(one, conditions=changed)


# What is sent.


@pytest.mark.parametrize("name", [name for name in OUTCOMES if not name.startswith("hpa")])
def test_every_status_passes_its_definition(name):
    """Every status fits the schema of `hypot crds`, and has no null."""
    one = OUTCOMES[name]
    status = sent(one)["status"]
    jsonschema.validate(status, with_nullable(SCHEMAS[one.key[0]]))
    assert "null" not in json.dumps(status)


@pytest.mark.parametrize("name", [name for name in OUTCOMES if name.startswith("hpa")])
def test_the_status_of_an_hpa_can_be_decoded(name):
    """It has no definition of ours; the decoder of the API server must read it."""
    status = sent(OUTCOMES[name])["status"]
    assert HPAStatus.read(status).sound()
    assert "null" not in json.dumps(status)


def test_the_whole_status_is_applied_to_the_version_that_was_decided_on():
    """It is a forced server-side apply by hypot with every condition; a newer version of the object refuses it."""
    one = OUTCOMES["wpa moves"]
    request = status_request(one, PATH, "7")
    assert (request.method, request.path, request.content) == ("PATCH", f"{PATH}/status", APPLY_PATCH)
    assert request.query == {"fieldManager": "hypot", "force": "true"}
    body = json.loads(request.body)
    assert (body["apiVersion"], body["kind"]) == ("datadoghq.com/v1alpha1", "WatermarkPodAutoscaler")
    assert body["metadata"] == {"name": "web", "namespace": "default", "resourceVersion": "7"}
    assert body["status"] == without_nulls(one.decision.status)
    assert len(body["status"]["conditions"]) == len(one.decision.conditions) > 3


def test_long_messages_are_cut():
    """A spec with a thousand errors does not fill the object."""
    conditions = tuple(condition._replace(message="ä" * 5000) for condition in CALM.decision.conditions)
    messages = [
        condition["message"] for condition in sent(reported(CALM, conditions=conditions))["status"]["conditions"]
    ]
    assert all(len(message.encode()) <= LONGEST_MESSAGE for message in messages)


def test_nulls_are_dropped_at_every_depth():
    """This holds in mappings and in lists."""
    assert without_nulls({"a": None, "b": [{"c": None, "d": 0}, None], "e": ()}) == {"b": [{"d": 0}], "e": []}


# When it is sent.


def test_a_new_object_is_written_at_once():
    """It has no status yet."""
    assert choose([CALM], {}, 1000.0) == [CALM]


def test_what_was_written_is_not_written_again():
    """This holds however much later."""
    assert choose([CALM], {CALM.key: wrote(CALM, 0.0)}, 1e6) == []


def test_a_status_that_is_in_the_object_is_not_written_after_a_restart():
    """The status that an earlier process wrote is compared."""
    again = outcome(
        WPA.from_dict({**between().to_dict(), "status": sent(CALM)["status"]}),
        items(30_000),
        State.from_status(sent(CALM)["status"]),
    )
    assert choose([again], {}, 1000.0) == []


def test_a_count_that_the_server_adds_is_not_a_change():
    """The API server sets desiredReplicas of an HPA to 0 where it is missing."""
    one = OUTCOMES["hpa without scale"]
    status = {**sent(one)["status"], "desiredReplicas": 0}
    again = replace(one, autoscaler=HPA.from_dict({**one.autoscaler.to_dict(), "status": status}))
    assert choose([again], {}, 1000.0) == []


@pytest.mark.parametrize(
    "name",
    [
        "wpa moves",
        "wpa waits",
        "wpa blind",
        "wpa without scale",
        "wpa refused",
        "wpa paused",
        "wpa guarded",
        "wpa tried",
    ],
)
def test_replicas_and_conditions_are_written_at_once(name):
    """They are written a second after the last write."""
    one = OUTCOMES[name]
    assert choose([one], {one.key: wrote(CALM, 999.0)}, 1000.0) == [one]


def test_a_size_is_written_at_once_and_its_bounds_are_not():
    """Bounds narrow with every sample; pods get the target."""
    before = outcome(vpa("Off"), sized(target=2000))
    listed = before.decision.reported["recommendation"]["containerRecommendations"]
    narrowed = reported(
        before,
        status={"recommendation": {"containerRecommendations": [{**listed[0], "upperBound": {"cpu": "9"}}]}},
    )
    written = {before.key: wrote(before, 999.0)}
    larger = outcome(vpa("Off"), sized(target=2500))
    assert choose([larger], written, 1000.0) == [larger]
    assert choose([narrowed], written, 1000.0) == []
    assert choose([narrowed], written, 999.0 + PATIENCE) == [narrowed]


def test_the_size_of_an_hvpa_is_written_at_once():
    """This holds even where replicas and conditions are the same."""
    before = OUTCOMES["hvpa moves"]
    scaling = before.decision.reported["lastScaling"]
    smaller = reported(before, status={**before.decision.reported, "lastScaling": {**scaling, "vpaStatus": {}}})
    assert choose([smaller], {before.key: wrote(before, 999.0)}, 1000.0) == [smaller]


def test_messages_and_values_wait_a_minute():
    """They change all the time, and nothing acts on them."""
    for changed in (in_other_words(CALM), outcome(between(), items(31_000))):
        written = {CALM.key: wrote(CALM, 1000.0)}
        assert choose([changed], written, 999.0 + PATIENCE) == []
        assert choose([changed], written, 1000.0 + PATIENCE) == [changed]


def test_the_order_of_conditions_is_not_a_change():
    """The order follows from times, and is not worth an immediate write."""
    turned = reported(CALM, conditions=CALM.decision.conditions[::-1])
    assert choose([turned], {CALM.key: wrote(CALM, 999.0)}, 1000.0) == []


def test_a_reconcile_writes_few_patient_statuses_and_the_oldest_first():
    """Changes that matter to people are all written, in addition to these."""
    waiting = [named(in_other_words(CALM), f"web-{i}") for i in range(200)]
    written = {one.key: wrote(CALM, 1000.0 - i) for i, one in enumerate(waiting)}
    urgent = [named(OUTCOMES["wpa moves"], f"busy-{i}") for i in range(80)]
    chosen = choose([*waiting, *urgent], written, 2000.0)
    assert chosen[:80] == urgent
    assert chosen[80:] == waiting[: -MOST_PATIENT - 1 : -1]


def test_statuses_that_waited_come_first():
    """Then those of this reconcile, with turns between namespaces; since when each waits is kept."""
    urgent = [named(OUTCOMES["wpa moves"], f"busy-{i}") for i in range(4)]
    other = replace(urgent[0], key=(urgent[0].key[0], "other", "web"))
    due = {urgent[2].key: 100.0, urgent[3].key: 90.0, ("Hvpa", "gone", "gone"): 1.0}
    assert choose([*urgent, other], {}, 200.0, due) == [urgent[3], urgent[2], urgent[0], other, urgent[1]]
    choice = Choice({}, 200.0, due)
    for each in urgent[1:3]:
        choice.look(each)
    assert choice.due() == {urgent[1].key: 200.0, urgent[2].key: 100.0}


def test_what_is_only_observed_is_not_written():
    """In recommend mode the status is written: it is the recommendation."""
    assert choose([replace(CALM, acting="observe")], {}, NOW) == []
    recommended = replace(OUTCOMES["vpa only says"], acting="recommend")
    assert choose([recommended], {}, NOW) == [recommended]
