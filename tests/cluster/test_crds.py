"""A real API server accepts the CustomResourceDefinitions, and says of every manifest what the rules say."""

import re
from collections import Counter
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given

from cluster.crds import (
    CRDS,
    agree,
    beside,
    cells,
    conditions_of,
    created,
    exactly,
    fields_of,
    kept_as_written,
    named,
    printed,
    reported,
    serving,
    tightened,
    within,
)
from cluster.crds import at as at_kind
from cluster.fuzz.changes import ABSENT, Manifest
from cluster.fuzz.many import EXAMPLES, fuzzing
from cluster.fuzz.watermark_cases import BROKEN, REFUSED, TAKEN, advised, metric, resource, wpa
from cluster.fuzz.watermarks import manifests, sound
from cluster.plane.api import APPLY, MERGE, Answer, Api, Object
from hypot.kinds.wpa import WPA
from unit.kinds.test_crd import HOMES

# A group of the Kubernetes community needs its approval, or a statement that there is none.
APPROVAL = "api-approved.kubernetes.io"


@pytest.fixture(scope="module")
def served(api: Api) -> Api:
    return serving(api)


@pytest.fixture(scope="module")
def definitions() -> tuple[Object, ...]:
    return printed()


def at(manifest: Object) -> str:
    return at_kind(WPA, manifest)


# Compare the rules with the server.


def follows(field: str, unreadable: set[str]) -> bool:
    """Whether either side may leave this field out, because it cannot read a field of the same block."""
    return "spec.minReplicas" in unreadable if field == "spec.maxReplicas" else beside(field, unreadable)


def verdict(api: Api, manifest: Manifest) -> set[str]:
    return agree(api, WPA, manifest, follows=follows)


def test_rules_and_server_agree(served: Api) -> None:
    """For any manifest, the verdict and the reported fields are the same."""
    verdicts: Counter[bool] = Counter()

    @fuzzing()
    @given(manifests)
    def each(manifest: Manifest) -> None:
        verdicts[not verdict(served, manifest)] += 1

    each()
    assert min(verdicts[True], verdicts[False]) > EXAMPLES // 10, verdicts


@pytest.mark.parametrize("rule", HOMES)
def test_every_rule_is_the_servers_too(served: Api, rule: str) -> None:
    """A manifest that breaks only one rule is refused, in the field that the rule names."""
    assert verdict(served, BROKEN[rule]) == {rule}


@pytest.mark.parametrize("case", TAKEN)
def test_taken_by_both(served: Api, case: str) -> None:
    """Both accept manifests that are odd, but valid."""
    assert verdict(served, TAKEN[case]) == set()


@pytest.mark.parametrize("case", REFUSED)
def test_refused_by_both(served: Api, case: str) -> None:
    """Both refuse manifests that are almost valid."""
    assert verdict(served, REFUSED[case])


# Stored objects.


def test_definitions_are_accepted(served: Api, definitions: tuple[Object, ...]) -> None:
    """Names and schemas are accepted; the only further condition is the API approval of community groups."""
    for definition in definitions:
        conditions = {"NamesAccepted": "True", "Established": "True"}
        approval = definition["metadata"].get("annotations", {}).get(APPROVAL)
        if approval is not None:
            conditions["KubernetesAPIApprovalPolicyConformant"] = str(approval.startswith("https://"))
        assert conditions_of(served, definition) == conditions


def test_definitions_applied_again_change_nothing(served: Api, definitions: tuple[Object, ...]) -> None:
    """`hypot crds | kubectl apply --server-side -f -` can be run at any time."""
    for definition in definitions:
        path = f"{CRDS}/{definition['metadata']['name']}"
        generation = served.get(path)["metadata"]["generation"]
        first = applied(served, path, definition)
        assert reported(served, "PATCH", f"{path}?fieldManager=tests", definition, APPLY) == (200, [])
        again = served.get(path)
        assert again["metadata"]["generation"] == generation
        assert again["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]


def test_definitions_are_kept_as_printed(served: Api, definitions: tuple[Object, ...]) -> None:
    """The server adds defaults, and drops nothing."""
    for definition in definitions:
        held = served.get(f"{CRDS}/{definition['metadata']['name']}")
        assert within(definition, held)


def test_objects_come_back_as_they_were_written(served: Api) -> None:
    """No default is added, nothing is pruned, a number stays a number and a string stays a string."""

    @fuzzing(1 / 6)
    @given(sound)
    def each(manifest: Manifest) -> None:
        kept_as_written(served, WPA, manifest)

    each()


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


def test_status_is_kept_whole(served: Api) -> None:
    """Fields that only another controller knows are kept too."""
    assert created(served, WPA, wpa(), STATUS)["status"] == STATUS


def test_status_and_spec_have_separate_writers(served: Api) -> None:
    """Writing the status leaves the spec, and vice versa; only a change of the spec raises the generation."""
    held = created(served, WPA, wpa(), STATUS)
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
    """The fields of a status that columns and people read have a type."""
    held = created(served, WPA, wpa())
    answer = served.call("PATCH", f"{at(held)}/status", {"status": status}, content=MERGE)
    assert answer.status == 422
    assert all(field.startswith("status.") for field in fields_of(answer))


# Except for type errors: no older definition accepted these either.
STORED_BEFORE = {rule: manifest for rule, manifest in BROKEN.items() if rule != "type"}


@pytest.fixture(scope="module")
def before(served: Api) -> str:
    """The path of objects that were stored under a laxer definition."""
    return tightened(served, WPA, STORED_BEFORE, BROKEN["range"])


@pytest.mark.parametrize("rule", STORED_BEFORE)
def test_objects_stored_before_can_get_a_status_and_be_released(served: Api, before: str, rule: str) -> None:
    """A stricter definition does not keep a controller from writing a status or removing its finalizer."""
    path = f"{before}/{rule}"
    assert served.patch(f"{path}/status", {"status": STATUS})["status"] == STATUS
    assert "finalizers" not in served.patch(path, {"metadata": {"finalizers": None}})["metadata"]


# What `kubectl get` shows.


def test_columns_show_what_the_status_says(served: Api, definitions: tuple[Object, ...]) -> None:
    """Every declared column is shown, in order, with its value."""
    held = created(served, WPA, wpa(), STATUS)
    shown = cells(served, WPA, held)
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
        "blocked": None,
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
    """The columns show the same watermarks each time; no path could also show those of a recommender."""
    manifest, high, low = SHOWN_MARKS[case]
    held = created(served, WPA, manifest)
    shown = {(row["high watermark"], row["low watermark"]) for row in (cells(served, WPA, held) for _ in range(20))}
    assert shown == {(high, low)}


VALUES = {
    "an external value": ({"external": {"currentValue": "300m", "currentAverageValue": "100m"}}, "300m"),
    "an external average": ({"external": {"currentAverageValue": "100m"}}, "100m"),
    "a resource": ({"resource": {"name": "cpu", "currentAverageValue": "1500m"}}, "1500m"),
    "nothing yet": ({"type": "External"}, None),
}


@pytest.mark.parametrize("case", VALUES)
def test_columns_show_the_value_of_the_first_metric(served: Api, case: str) -> None:
    """The value is shown whichever form the controller reported."""
    current, value = VALUES[case]
    held = created(served, WPA, wpa(), {"currentMetrics": [current, {"external": {"currentValue": "7"}}]})
    assert cells(served, WPA, held)["value"] == value


# Several writers.


def apply(api: Api, path: str, body: Object, manager: str = "tests", *, force: bool = False) -> Answer:
    query = {"fieldManager": manager, "force": str(force).lower()}
    return api.call("PATCH", path, body, query=query, content=APPLY)


def applied(api: Api, path: str, body: Object, manager: str = "tests", *, force: bool = False) -> Any:
    answer = apply(api, path, body, manager, force=force)
    assert answer.ok, answer
    return answer.body


def test_applying_twice_changes_nothing(served: Api) -> None:
    """Applying a manifest again makes no new version of the object, so no watcher is notified."""

    @fuzzing(1 / 6)
    @given(sound)
    def each(manifest: Manifest) -> None:
        manifest = named(manifest)
        first = applied(served, at(manifest), manifest)
        assert exactly(first["spec"]) == exactly(manifest["spec"])
        assert applied(served, at(manifest), manifest)["metadata"] == first["metadata"]

    each()


def other(manifest: Manifest, **spec: Any) -> Manifest:
    """The same object, as another writer applies it who only sets these fields."""
    return {**manifest, "spec": spec}


def test_fields_belong_to_the_writer_that_applied_them(served: Api) -> None:
    """A second writer adds a field, and the first writer does not remove it."""
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
    """Lists conflict as a whole, mappings by field; a writer that forces gets what it wrote."""
    manifest = named(wpa())
    applied(served, at(manifest), manifest)
    answer = apply(served, at(manifest), other(manifest, **spec), "second")
    assert (answer.status, fields_of(answer)) == (409, {f".spec.{path}"})
    held = applied(served, at(manifest), other(manifest, **spec), "second", force=True)["spec"]
    assert within(spec, held)
    assert len(held) == len(manifest["spec"])


def test_conditions_are_atomic(served: Api) -> None:
    """The order of conditions has a meaning, so they are never merged."""
    held = created(served, WPA, wpa())
    bare = {key: held[key] for key in ("apiVersion", "kind")} | {"metadata": {"name": held["metadata"]["name"]}}
    first, second = ({**bare, "status": {"conditions": [{"type": kind, "status": "True"}]}} for kind in ("A", "B"))
    path = f"{at(held)}/status"
    assert applied(served, path, first)["status"] == first["status"]
    answer = apply(served, path, second, "second")
    assert (answer.status, fields_of(answer)) == (409, {".status.conditions"})
    assert applied(served, path, second, "second", force=True)["status"] == second["status"]


def test_discovery_lists_the_short_name(served: Api) -> None:
    """`kubectl get wpa` works, and there is no scale or other unneeded subresource."""
    listed = served.get(f"/apis/{WPA.API_VERSION}")["resources"]
    # Other kinds of the group may be installed too.
    found = {each["name"]: each.get("shortNames", []) for each in listed if each["name"].startswith("watermark")}
    assert found == {"watermarkpodautoscalers": ["wpa"], "watermarkpodautoscalers/status": []}
