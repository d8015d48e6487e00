"""The status of a Tortoise, and the state that it keeps."""

import json
from dataclasses import replace

import jsonschema
import pytest

from hypot.kinds.catalogue import crd_of
from hypot.kinds.tortoise import Tortoise
from hypot.policy.model.learned import LeftOut
from hypot.policy.model.state import State
from unit.policy.sizes_world import DAY, MI, NOW, sentences
from unit.policy.tortoise.tortoise_world import World, bounds, hpa, known, phase, policy, settings_by, targets, tortoise

SCHEMA = crd_of(Tortoise)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"]
# The original's definition requires these.
REQUIRED = {"conditions", "containerResourcePhases", "recommendations", "targets", "tortoisePhase"}


def all_known(schema):
    """The schema without unknown fields."""
    if isinstance(schema, dict):
        inner = {key: all_known(value) for key, value in schema.items()}
        return {**inner, "additionalProperties": False} if "properties" in schema else inner
    return [all_known(each) for each in schema] if isinstance(schema, list) else schema


STRICT = jsonschema.Draft202012Validator(all_known(SCHEMA))
PEAK = {"app": {"cpu": 735, "memory": 4000 * MI}}


@pytest.mark.parametrize(
    "world",
    [
        World(),
        World(state=State(), hpa=None),
        World(peak=PEAK, now=NOW + DAY),
        World(tortoise=tortoise("Off"), peak=PEAK),
        World(tortoise=tortoise("Emergency")),
        World(tortoise=tortoise(autoscalingPolicy=[policy(cpu="Vertical", memory="Vertical")]), peak=PEAK),
        World(tortoise=tortoise(autoscalingPolicy=[policy(cpu="Off")])),
        World(tortoise=tortoise(refs={"horizontalPodAutoscalerName": "gone"})),
        World(tortoise=tortoise(annotations=settings_by({"slot_period": "daily", "slot_hours": 6}))),
        World(tortoise=tortoise(annotations={"hypot.dev/paused": "true"})),
        World(replicas=0, demand={}),
        World(limits={"app": {"cpu": 2000, "memory": 2048 * MI}}, peak=PEAK),
        World(tortoise=tortoise(refs={"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "x"}})),
    ],
)
def test_the_status_is_that_of_the_definition(world):
    """Every field is in the CRD, has its type, and those that the original requires are there."""
    decision = world.decided()
    STRICT.validate(decision.status)
    assert decision.status.keys() >= REQUIRED
    assert decision.status["targets"].keys() >= {"scaleTargetRef", "verticalPodAutoscalers"}
    json.dumps(decision.to_dict(), allow_nan=False)


def test_a_status_that_was_written_is_read_again():
    """A condition keeps its time until it changes."""
    world = World(peak=PEAK)
    world.step(60)
    first = world.decided()
    since = {each.type: each.since for each in first.conditions}
    assert since.pop("VerticalRecommendationUpdated") == NOW + 60
    assert set(since.values()) == {NOW}
    world.tortoise = {**world.tortoise, "status": first.status}
    assert State.from_status(first.status).conditions == first.conditions


def test_the_state_survives_a_round_trip():
    world = World(peak=PEAK, state=known([8000, "saturated"]))
    world.step(3600)
    world.step()
    read = State.from_dict(json.loads(json.dumps(world.state.to_dict())))
    assert read == world.state
    assert read.tortoise.learned[0].left_out


@pytest.mark.parametrize(
    "damage",
    [
        {"learned": None},
        {"learned": {}},
        {"since": 5},
        {"targets": {"app/cpu": "many"}},
        {"targets": {"app/cpu": None}},
        {"low": None},
        {"retargeted": "soon"},
        {"phase": 7},
        {"phase": "Sleeping"},
        {"learned": {"codes": "AAAA"}},
        {"learned": {"zone": "Nowhere/Land"}},
        {"learned": {"zone": "../../etc/passwd"}},
        {"learned": {"hours": 5}},
        {"learned": {"weeks": 10**9}},
        {"learned": {"tally": [1]}},
        {"learned": {"tally": [10**30, 3, 5, 1, 0, 0, 0, 0]}},
        {"learned": {"leftOut": [[1, 2, 99]]}},
        {"learned": {"since": float("nan")}},
        {"learned": {"place": 5}},
        {"since": {"app/cpu": float("nan")}},
        {"since": {"app/cpu": float("inf")}},
        {"retargeted": float("nan")},
        {"low": 10**40},
        {"targets": {"app/cpu": -5}},
        {"targets": {"app/cpu": 10**9}},
        {"targets": {"app/cpu": 0}},
    ],
)
def test_a_damaged_state(damage):
    """It is not used, or it does no harm: the next pass decides."""
    written = known([8000]).to_dict()
    past = dict(written["tortoise"])
    for key, value in damage.items():
        past[key] = {**past[key], **value} if isinstance(value, dict) and value and key == "learned" else value
    read = State.from_dict({**written, "tortoise": past})
    decision = World(state=read, replicas=6, hpa=hpa(4, 9)).decided()
    assert decision.decided
    low, high = bounds(decision)
    assert 1 <= low <= high <= 100
    assert all(1 <= percent <= 100 for percent in targets(decision))
    assert phase(decision) != "Sleeping"
    STRICT.validate(decision.status)


def test_an_unknown_phase_is_none():
    written = known([8000]).to_dict()
    written["tortoise"]["phase"] = "Sleeping"
    assert State.from_dict(written).tortoise.phase == ""


@pytest.mark.parametrize("at", [float("nan"), float("inf"), float("-inf")])
def test_times_that_are_none(at):
    """A resource would gather data for ever."""
    written = known([8000]).to_dict()
    written["tortoise"]["since"] = {"app/cpu": at}
    assert State.from_dict(written).tortoise is None


def test_a_clock_that_was_set_back():
    """Times in the future do not freeze anything."""
    state = known([8000])
    ahead = replace(state.tortoise, retargeted=NOW + 9 * DAY, since={"app/cpu": NOW + 9 * DAY})
    world = World(state=state._replace(tortoise=ahead), replicas=6)
    assert phase(world.step()) == "GatheringData"
    assert world.state.tortoise.since == {"app/cpu": NOW}


def test_what_was_left_out_is_kept():
    learned = known([8000, "crash-loop"]).tortoise.learned[0]
    assert len(learned.left_out) == 168
    assert isinstance(learned.left_out[0], LeftOut)


def test_a_policy_without_a_request_is_explained():
    """The spec says Horizontal, and the decision says why it is Off, and what to do."""
    both = tortoise(autoscalingPolicy=[policy(cpu="Horizontal", memory="Vertical")])
    decision = World(tortoise=both, sizes={"app": {"memory": 1024 * MI}}, hpa=None).decided()
    assert sentences(decision, "policies") == ["By the spec: app cpu Off, memory Vertical."]
    assert sentences(decision, "no-request") == [
        "Cpu of app is Horizontal in the spec, but has no request, so it is Off. Add a request to the pod template."
    ]


def test_a_named_hpa_that_measures_by_pod_is_explained():
    """It is not edited, and the decision says why."""
    target = {"type": "Utilization", "averageUtilization": 70}
    metric = {"type": "Resource", "resource": {"name": "cpu", "target": target}}
    world = World(tortoise=tortoise(refs={"horizontalPodAutoscalerName": "mine"}), hpa=hpa(3, 9, metric, name="mine"))
    [sentence] = sentences(world.decided(), "measured-by-pod")
    assert sentence == (
        "HorizontalPodAutoscaler mine measures cpu by pod (type: Resource), and by container nothing, so it is not "
        "edited. Use a metric of type ContainerResource, or write autoscalingPolicy."
    )
