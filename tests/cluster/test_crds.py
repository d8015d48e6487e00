"""A real API server judges the CustomResourceDefinitions, and says of every manifest what the rules say of it."""

import json
import re
import subprocess
import sys
from collections import Counter
from copy import deepcopy
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given

from cluster.fuzz.many import EXAMPLES, fuzzing
from cluster.fuzz.watermark_cases import BROKEN, REFUSED, TAKEN, advised, metric, resource, wpa
from cluster.fuzz.watermarks import ABSENT, Manifest, manifests, sound
from cluster.plane.api import APPLY, JSON, MERGE, TABLE, Answer, Api, Object
from cluster.plane.waiting import eventually
from hypot.kinds.problem import Problem
from hypot.kinds.wpa import WPA
from unit.test_crd import HOMES

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
NAMESPACE = "watermarks"
WPAS = f"/apis/{WPA.API_VERSION}/namespaces/{NAMESPACE}/watermarkpodautoscalers"
SERVED_WITHIN = 20.0
HYPOT = Path(sys.executable).with_name("hypot")


OPEN: Object = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
# What an API server adds where it stopped early: rules in CEL need values that fit the schema.
NOT_CHECKED = "some validation rules were not checked"
numbers = count()


@pytest.fixture(scope="module")
def definitions() -> list[Object]:
    """What the command prints."""
    printed = subprocess.run([HYPOT, "crds"], capture_output=True, text=True, check=True).stdout
    return list(yaml.safe_load_all(printed))


@pytest.fixture(scope="module")
def served(api: Api, definitions: list[Object]) -> Api:
    """An API server that serves the kinds, in a namespace for them, and had nothing to remark."""
    api.create("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
    for definition in definitions:
        status, warnings = told(api, "POST", CRDS, definition)
        assert (status, warnings) == (201, [])
        eventually(lambda definition=definition: established(api, definition), SERVED_WITHIN)
    return api


def told(api: Api, method: str, path: str, body: Any, content: str = JSON) -> tuple[int, list[str]]:
    """The status of an answer and its warnings, which kubectl would print."""
    connection = api._connect(30)
    try:
        headers = {"Authorization": f"Bearer {api.token}", "Content-Type": content}
        connection.request(method, path, json.dumps(body), headers)
        answer = connection.getresponse()
        answer.read()
        return answer.status, answer.headers.get_all("Warning") or []
    finally:
        connection.close()


def conditions_of(api: Api, definition: Object) -> dict[str, str]:
    held = api.get(f"{CRDS}/{definition['metadata']['name']}")
    return {each["type"]: each["status"] for each in held.get("status", {}).get("conditions") or ()}


def established(api: Api, definition: Object) -> bool:
    """Accepted, and answering: the server serves a kind a moment after it says so."""
    spec = definition["spec"]
    path = f"/apis/{spec['group']}/{spec['versions'][0]['name']}/{spec['names']['plural']}"
    return conditions_of(api, definition).get("Established") == "True" and api.call("GET", path).ok


def named(manifest: Manifest) -> Manifest:
    """A copy with a name that no other has."""
    return {**manifest, "metadata": {**manifest["metadata"], "name": f"wpa-{next(numbers)}"}}


def at(manifest: Manifest) -> str:
    return f"{WPAS}/{manifest['metadata']['name']}"


# The rules and the server, side by side.


def judged(api: Api, manifest: Manifest) -> Answer:
    return api.call("POST", WPAS, manifest, query={"dryRun": "All", "fieldValidation": "Strict"})


def agree(api: Api, manifest: Manifest) -> set[str]:
    """Both take it or both refuse it, for faults in the same places; gives the rules that were broken."""
    answer = judged(api, manifest)
    problems = [problem for problem in WPA.from_dict(manifest).problems() if problem.severity == "error"]
    assert answer.status in ({400, 422} if problems else {201}), (answer.body, problems)
    if answer.status == 422:
        same_places(answer, problems)
    return {problem.rule for problem in problems}


def same_places(answer: Answer, problems: list[Problem]) -> None:
    """The server complains of nothing else; of less only where it says that it did not check all."""
    complained, found = fields_of(answer), {problem.field for problem in problems}
    unreadable = {problem.field for problem in problems if problem.kind == "Decode" or problem.rule == "quantity"}
    unsaid, unfound = (
        [field for field in one if not named_in(other, field) and not follows(field, unreadable)]
        for one, other in ((found, complained), (complained, found))
    )
    assert unfound == [], answer.body
    assert unsaid == [] or NOT_CHECKED in answer.body["message"], answer.body


def follows(field: str, unreadable: set[str]) -> bool:
    """Whether either side may leave this out, because it cannot read what stands beside it."""
    if field == "spec.maxReplicas":
        return "spec.minReplicas" in unreadable
    block, _, _ = field.rpartition(".")
    return block != "spec" and any(other.rpartition(".")[0] == block for other in unreadable)


def fields_of(answer: Answer) -> set[str]:
    """What a refusal complains of; some keywords of a schema say it in their words only."""
    causes = [cause for cause in answer.body["details"]["causes"] if not is_echo(cause["message"])]
    fields = [[c["field"]] if c["field"] != "<nil>" else re.findall(r"\bspec[\w.]*", c["message"]) for c in causes]
    return {field for each in fields for field in each}


def is_echo(message: str) -> bool:
    """Whether a rule could not be evaluated; it says again that a value is unreadable, unless it is about that."""
    return "evaluating rule" in message and not message.endswith("[type]")


def named_in(fields: set[str], field: str) -> bool:
    """Whether it is one of these, or within one, or around one."""
    return any(
        f"{one}.".startswith((f"{two}.", f"{two}[")) for each in fields for one, two in ((each, field), (field, each))
    )


def test_rules_and_server_agree(served: Api) -> None:
    """Whatever stands in a manifest: the verdict is the same, and so is the place."""
    verdicts: Counter[bool] = Counter()

    @fuzzing()
    @given(manifests())
    def each(manifest: Manifest) -> None:
        verdicts[not agree(served, manifest)] += 1

    each()
    assert min(verdicts[True], verdicts[False]) > EXAMPLES // 10, verdicts


@pytest.mark.parametrize("rule", HOMES)
def test_every_rule_is_the_servers_too(served: Api, rule: str) -> None:
    """What breaks one rule and no other is refused, in the field that the rule names."""
    assert agree(served, BROKEN[rule]) == {rule}


@pytest.mark.parametrize("case", TAKEN)
def test_taken_by_both(served: Api, case: str) -> None:
    """Odd, but no fault."""
    assert agree(served, TAKEN[case]) == set()


@pytest.mark.parametrize("case", REFUSED)
def test_refused_by_both(served: Api, case: str) -> None:
    """Close to what is taken, but a fault."""
    assert agree(served, REFUSED[case])


# What is stored.


def test_definitions_are_accepted(served: Api, definitions: list[Object]) -> None:
    """Names and schemas are, and nothing else is said of them."""
    for definition in definitions:
        assert conditions_of(served, definition) == {"NamesAccepted": "True", "Established": "True"}


def test_definitions_applied_again_change_nothing(served: Api, definitions: list[Object]) -> None:
    """`hypot crds | kubectl apply --server-side -f -` may be run at any time."""
    for definition in definitions:
        path = f"{CRDS}/{definition['metadata']['name']}"
        generation = served.get(path)["metadata"]["generation"]
        first = applied(served, path, definition)
        assert told(served, "PATCH", f"{path}?fieldManager=tests", definition, APPLY) == (200, [])
        again = served.get(path)
        assert again["metadata"]["generation"] == generation
        assert again["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]


def test_definitions_are_kept_as_printed(served: Api, definitions: list[Object]) -> None:
    """The server fills in what is left out, and drops nothing."""
    for definition in definitions:
        held = served.get(f"{CRDS}/{definition['metadata']['name']}")
        assert within(definition, held)


def within(part: Any, whole: Any) -> bool:
    """Whether everything of a value is also in another, where mappings may have more."""
    if isinstance(part, dict):
        return isinstance(whole, dict) and all(key in whole and within(part[key], whole[key]) for key in part)
    if isinstance(part, list):
        return len(part) == len(whole) and all(map(within, part, whole))
    return type(part) is type(whole) and part == whole


def test_objects_come_back_as_they_were_written(served: Api) -> None:
    """No default is added, nothing is pruned, and a number stays a number and a text a text."""

    @fuzzing(1 / 6)
    @given(sound)
    def each(manifest: Manifest) -> None:
        manifest = named(manifest)
        served.create(WPAS, manifest)
        held = served.get(at(manifest))
        assert exactly(held["spec"]) == exactly(manifest["spec"])
        assert {key: held["metadata"].get(key, {}) for key in ("labels", "annotations")} == {
            key: manifest["metadata"].get(key, {}) for key in ("labels", "annotations")
        }
        assert WPA.from_dict(held).problems() == ()

    each()


def exactly(data: Any) -> str:
    """JSON in which 1 and "1" differ, and neither 1 and 1.0 nor the order of keys."""
    return json.dumps(json.loads(json.dumps(data), parse_float=_plainly), sort_keys=True)


def _plainly(written: str) -> float:
    number = float(written)
    return int(number) if number.is_integer() else number


STATUS: Object = {
    "currentReplicas": 3,
    "desiredReplicas": 4,
    "currentMetrics": [{"type": "External", "external": {"metricName": "queue", "currentValue": "300m"}}],
    "conditions": [
        {"type": "DryRun", "status": "False", "lastTransitionTime": "2026-03-02T09:30:00Z"},
        {"type": "ScalingActive", "status": "True", "reason": "ValidMetricFound", "severity": "of another version"},
    ],
    "lastScaleTime": "2026-03-02T09:30:00Z",
    "scalingEventsCount": 7,
    "lastConditionType": "AbleToScale",
    "lastConditionState": "True",
    "observedGeneration": 1,
    "another": {"thing": [1, None, "x"]},
}


def created(api: Api, manifest: Manifest, status: Object | None = None) -> Object:
    """As it is held, with a status if one is given."""
    manifest = named(manifest)
    held = api.create(WPAS, manifest)
    return held if status is None else api.patch(f"{at(manifest)}/status", {"status": status}, MERGE)


def test_status_is_kept_whole(served: Api) -> None:
    """Also what only another controller knows."""
    assert created(served, wpa(), STATUS)["status"] == STATUS


def test_status_and_spec_have_writers_of_their_own(served: Api) -> None:
    """Writing the one leaves the other, and only a spec counts as a new generation."""
    held = created(served, wpa(), STATUS)
    changed = deepcopy(held)
    changed["spec"]["maxReplicas"], changed["status"]["currentReplicas"] = 20, 5
    after_status = served.replace(f"{at(held)}/status", changed)
    assert (after_status["spec"], after_status["status"]["currentReplicas"]) == (held["spec"], 5)
    assert after_status["metadata"]["generation"] == 1
    after_status["spec"]["maxReplicas"], after_status["status"] = 20, {}
    after_spec = served.replace(at(held), after_status)
    assert (after_spec["spec"]["maxReplicas"], after_spec["status"]) == (20, changed["status"])
    assert after_spec["metadata"]["generation"] == 2


@pytest.mark.parametrize(
    "status",
    [{"currentReplicas": "3"}, {"lastScaleTime": "yesterday"}, {"conditions": {}}, {"conditions": [{"type": 1}]}],
)
def test_status_of_a_wrong_type_is_refused(served: Api, status: Object) -> None:
    """What columns and people read has its type."""
    held = created(served, wpa())
    answer = served.call("PATCH", f"{at(held)}/status", {"status": status}, content=MERGE)
    assert answer.status == 422
    assert all(field.startswith("status.") for field in fields_of(answer))


# Types apart: what does not fit them no older definition took either.
STORED_BEFORE = {rule: manifest for rule, manifest in BROKEN.items() if rule != "type"}
FINALIZER = "finalizer.watermarkpodautoscaler.datadoghq.com"


@pytest.fixture(scope="module")
def tightened(served: Api, definitions: list[Object]) -> str:
    """Where objects lie that were stored under a laxer definition than the one that now holds."""
    definition = deepcopy(definitions[0])
    group, names = "before.example", definition["spec"]["names"]
    definition["metadata"]["name"] = f"{names['plural']}.{group}"
    definition["spec"]["group"] = group
    lax = deepcopy(definition)
    lax["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = OPEN
    held = served.create(CRDS, lax)
    eventually(lambda: established(served, lax), SERVED_WITHIN)
    path = f"/apis/{group}/v1alpha1/namespaces/{NAMESPACE}/{names['plural']}"
    for rule, manifest in STORED_BEFORE.items():
        metadata = {"name": rule, "finalizers": [FINALIZER]}
        served.create(path, {**manifest, "apiVersion": f"{group}/v1alpha1", "metadata": metadata})
    served.patch(f"{CRDS}/{held['metadata']['name']}", {"spec": definition["spec"]})
    refused = {**BROKEN["range"], "apiVersion": f"{group}/v1alpha1"}
    eventually(lambda: not served.call("POST", path, refused, query={"dryRun": "All"}).ok, SERVED_WITHIN)
    return path


@pytest.mark.parametrize("rule", STORED_BEFORE)
def test_what_was_stored_before_can_be_told_and_let_go(served: Api, tightened: str, rule: str) -> None:
    """A definition that came later does not keep a controller from writing a status or removing its finalizer."""
    path = f"{tightened}/{rule}"
    assert served.patch(f"{path}/status", {"status": STATUS})["status"] == STATUS
    assert "finalizers" not in served.patch(path, {"metadata": {"finalizers": None}})["metadata"]


# What `kubectl get` shows.


def cells(api: Api, manifest: Object) -> dict[str, Any]:
    table = api.get(at(manifest), accept=TABLE)
    return dict(zip([column["name"] for column in table["columnDefinitions"]], table["rows"][0]["cells"], strict=True))


def test_columns_show_what_the_status_says(served: Api, definitions: list[Object]) -> None:
    """Every declared column is there, in order, with its value."""
    held = created(served, wpa(), STATUS)
    shown = cells(served, held)
    declared = [column["name"] for column in definitions[0]["spec"]["versions"][0]["additionalPrinterColumns"]]
    assert list(shown) == ["Name", *declared]
    ages = {shown.pop("age"), shown.pop("last scale")}
    assert all(re.fullmatch(r"\d+[smhdy].*", age) for age in ages)
    assert shown == {
        "Name": held["metadata"]["name"],
        "scaling active": "True",
        "condition": "AbleToScale",
        "condition state": "True",
        "value": "300m",
        "high watermark": "400m",
        "low watermark": "150m",
        "min replicas": 2,
        "max replicas": 9,
        "dry-run": "False",
        "scale count": 7,
    }


SHOWN_MARKS: dict[str, tuple[Manifest, str | None, str | None]] = {
    "external": (wpa(), "400m", "150m"),
    "resource": (wpa(metrics=[resource()]), "4", "2"),
    "a recommender": (advised(), None, None),
    "one mark": (wpa(metrics=[metric(lowWatermark=ABSENT)]), "400m", None),
    "one mark, and a label of the other's name": (
        wpa(metrics=[metric(lowWatermark=ABSENT, metricSelector={"matchLabels": {"lowWatermark": "x"}})]),
        "400m",
        None,
    ),
    "one mark, and a second metric with both": (wpa(metrics=[metric(lowWatermark=ABSENT), resource()]), "400m", None),
    "a resource, then an external metric": (wpa(metrics=[resource(), metric()]), "4", "2"),
    "a block that is not in use": (wpa(metrics=[metric() | {"resource": resource()["resource"]}]), "400m", "150m"),
}


@pytest.mark.parametrize("case", SHOWN_MARKS)
def test_columns_show_the_marks_of_the_first_metric(served: Api, case: str) -> None:
    """And the same ones each time; no path could show those of a recommender as well."""
    manifest, high, low = SHOWN_MARKS[case]
    held = created(served, manifest)
    shown = {(row["high watermark"], row["low watermark"]) for row in (cells(served, held) for _ in range(20))}
    assert shown == {(high, low)}


VALUES = {
    "an external value": ({"external": {"currentValue": "300m", "currentAverageValue": "100m"}}, "300m"),
    "an external average": ({"external": {"currentAverageValue": "100m"}}, "100m"),
    "a resource": ({"resource": {"name": "cpu", "currentAverageValue": "1500m"}}, "1500m"),
    "nothing yet": ({"type": "External"}, None),
}


@pytest.mark.parametrize("case", VALUES)
def test_columns_show_the_value_of_the_first_metric(served: Api, case: str) -> None:
    """Whichever form the controller reported."""
    current, value = VALUES[case]
    held = created(served, wpa(), {"currentMetrics": [current, {"external": {"currentValue": "7"}}]})
    assert cells(served, held)["value"] == value


# What several writers may do.


def apply(api: Api, path: str, body: Object, manager: str = "tests", *, force: bool = False) -> Answer:
    query = {"fieldManager": manager, "force": str(force).lower()}
    return api.call("PATCH", path, body, query=query, content=APPLY)


def applied(api: Api, path: str, body: Object, manager: str = "tests", *, force: bool = False) -> Any:
    answer = apply(api, path, body, manager, force=force)
    assert answer.ok, answer
    return answer.body


def test_applying_twice_changes_nothing(served: Api) -> None:
    """Whatever was applied: no new version of the object, so no watcher wakes."""

    @fuzzing(1 / 6)
    @given(sound)
    def each(manifest: Manifest) -> None:
        manifest = named(manifest)
        first = applied(served, at(manifest), manifest)
        assert exactly(first["spec"]) == exactly(manifest["spec"])
        assert applied(served, at(manifest), manifest)["metadata"] == first["metadata"]

    each()


def other(manifest: Manifest, **spec: Any) -> Manifest:
    """The same object, as somebody applies it who cares for these fields only."""
    return {**manifest, "spec": spec}


def test_fields_belong_to_who_applied_them(served: Api) -> None:
    """A second writer adds a field, and the first one does not take it away."""
    manifest = named(wpa())
    applied(served, at(manifest), manifest)
    both = manifest["spec"] | {"dryRun": True}
    assert applied(served, at(manifest), other(manifest, dryRun=True), "second")["spec"] == both
    assert applied(served, at(manifest), manifest)["spec"] == both


@pytest.mark.parametrize(
    ("path", "spec"),
    [
        ("metrics", {"metrics": [metric(), resource()]}),
        ("minReplicas", {"minReplicas": 3}),
        ("scaleTargetRef.name", {"scaleTargetRef": {"name": "other"}}),
    ],
)
def test_two_writers_of_one_field_conflict(served: Api, path: str, spec: Object) -> None:
    """Lists are of one piece, mappings are not; who insists gets what they wrote."""
    manifest = named(wpa())
    applied(served, at(manifest), manifest)
    answer = apply(served, at(manifest), other(manifest, **spec), "second")
    assert (answer.status, fields_of(answer)) == (409, {f".spec.{path}"})
    held = applied(served, at(manifest), other(manifest, **spec), "second", force=True)["spec"]
    assert within(spec, held)
    assert len(held) == len(manifest["spec"])


def test_conditions_are_of_one_piece(served: Api) -> None:
    """Their order has a meaning, so nobody merges into them."""
    held = created(served, wpa())
    bare = {key: held[key] for key in ("apiVersion", "kind")} | {"metadata": {"name": held["metadata"]["name"]}}
    first, second = ({**bare, "status": {"conditions": [{"type": kind, "status": "True"}]}} for kind in ("A", "B"))
    path = f"{at(held)}/status"
    assert applied(served, path, first)["status"] == first["status"]
    answer = apply(served, path, second, "second")
    assert (answer.status, fields_of(answer)) == (409, {".status.conditions"})
    assert applied(served, path, second, "second", force=True)["status"] == second["status"]


def test_discovery_tells_the_short_name(served: Api) -> None:
    """So that `kubectl get wpa` works, and no scale or other door is open that nobody asked for."""
    listed = served.get(f"/apis/{WPA.API_VERSION}")["resources"]
    assert {each["name"] for each in listed} == {"watermarkpodautoscalers", "watermarkpodautoscalers/status"}
    assert listed[0]["shortNames"] == ["wpa"]
