"""A real API server says of VerticalPodAutoscalers, their checkpoints, Hvpas and Autoscalers what the rules say."""

import re
from collections import Counter
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster.crds import (
    Unsaid,
    agree,
    at,
    beside,
    cells,
    created,
    definition_of,
    errors,
    exactly,
    fields_of,
    judged,
    kept_as_written,
    named,
    path_of,
    serving,
    tightened,
)
from cluster.fuzz import both_axes, both_axes_cases, size_cases, sizes
from cluster.fuzz.changes import Manifest
from cluster.fuzz.many import EXAMPLES, fuzzing
from cluster.fuzz.odd_values import MAX_INT64
from cluster.fuzz.size_cases import LEARNT, checkpoint, container, vpa
from cluster.plane.api import MERGE, Api, Object
from hypot.core.quantity import is_quantity
from hypot.kinds.autoscaler import WorkloadAutoscaler
from hypot.kinds.base import Kind
from hypot.kinds.hvpa import Hvpa
from hypot.kinds.problem import Problem
from hypot.kinds.vpa import VPA
from hypot.kinds.vpa.checkpoint import Checkpoint
from unit.kinds.autoscaler import test_rules as autoscaler_rules
from unit.kinds.autoscaler.test_autoscaler import STATUS as AUTOSCALER_STATUS
from unit.kinds.autoscaler.test_autoscaler import manifest as autoscaler
from unit.kinds.hvpa.test_crd import STATUS as HVPA_STATUS
from unit.kinds.hvpa.test_rules import BAD, GOOD
from unit.kinds.vpa.test_rules import GATED, RULES
from unit.policy.hvpa.hvpa_cases import seed

JSON_PATCH = "application/json-patch+json"
UNSAID: dict[type[Kind], tuple[Unsaid, ...]] = {VPA: size_cases.VPA_UNSAID, Hvpa: both_axes_cases.UNSAID}
FOLLOWS = {Hvpa: both_axes_cases.with_counts}
FUZZED = {VPA: sizes, Hvpa: both_axes}
# The manifests of each rule, from the tests of the rules.
RULED = {text: data for data, text in RULES}
MEANT: dict[type[Kind], dict[str, Manifest]] = {
    VPA: size_cases.TAKEN,
    Checkpoint: size_cases.CHECKPOINTS_TAKEN,
    Hvpa: {**GOOD, **both_axes_cases.TAKEN},
    WorkloadAutoscaler: {
        **autoscaler_rules.ACCEPTED,
        **{name: data for name, (data, _) in autoscaler_rules.WARNINGS.items()},
    },
}
FAULTY: dict[type[Kind], dict[str, Manifest]] = {
    VPA: {**RULED, **size_cases.REFUSED},
    Checkpoint: size_cases.CHECKPOINTS_REFUSED,
    Hvpa: {**{name: data for name, (data, _) in BAD.items()}, **both_axes_cases.REFUSED},
    WorkloadAutoscaler: {
        name: data for name, (data, _) in {**autoscaler_rules.REFUSED, **autoscaler_rules.IN_CEL}.items()
    },
}


def each_of(cases: dict[type[Kind], dict[str, Manifest]]) -> Iterator[Any]:
    for kind, manifests in cases.items():
        for name, manifest in manifests.items():
            yield pytest.param(kind, manifest, id=f"{kind.__name__}-{name}")


@pytest.fixture(scope="module")
def served(api: Api) -> Api:
    return serving(api)


def verdict(api: Api, kind: type[Kind], manifest: Manifest) -> set[str]:
    return agree(api, kind, manifest, UNSAID.get(kind, ()), FOLLOWS.get(kind, beside))


# Compare the rules with the server.


@pytest.mark.parametrize("kind", FUZZED)
def test_rules_and_server_agree(served: Api, kind: type[Kind]) -> None:
    """For any manifest, the verdict and the reported fields are the same."""
    verdicts: Counter[bool] = Counter()

    @fuzzing(1 / 2)
    @given(FUZZED[kind].manifests)
    def each(manifest: Manifest) -> None:
        verdicts[not verdict(served, kind, manifest)] += 1

    each()
    assert min(verdicts[True], verdicts[False]) > EXAMPLES // 20, verdicts


@pytest.mark.parametrize(("kind", "manifest"), list(each_of(MEANT)))
def test_taken_by_both(served: Api, kind: type[Kind], manifest: Manifest) -> None:
    """Both accept manifests as users and other controllers write them, and odd but valid ones."""
    assert verdict(served, kind, manifest) == set()


@pytest.mark.parametrize(("kind", "manifest"), list(each_of(FAULTY)))
def test_refused_by_both(served: Api, kind: type[Kind], manifest: Manifest) -> None:
    """Both refuse what breaks a rule, and what is almost valid, unless the definition is known to lack the rule."""
    assert verdict(served, kind, manifest)


@pytest.mark.parametrize("amount", size_cases.AMOUNTS)
def test_whole_amounts(served: Api, amount: str) -> None:
    """Both agree whether an amount is a whole number of millicores or bytes, however it is written."""
    for resource in ("cpu", "memory"):
        verdict(served, VPA, container(minAllowed={resource: amount}))
    verdict(served, VPA, vpa(startupBoost={"cpu": {"type": "Quantity", "quantity": amount}}))


@pytest.mark.parametrize(
    ("kind", "unsaid"),
    [pytest.param(kind, each, id=f"{kind.__name__}-{each.rule}") for kind, all_of in UNSAID.items() for each in all_of],
)
def test_what_a_definition_does_not_say(served: Api, kind: type[Kind], unsaid: Unsaid) -> None:
    """The server accepts it, the rules refuse it for nothing else, and a reason is given."""
    assert judged(served, kind, unsaid.shown_by).status == 201
    found = errors(kind, unsaid.shown_by)
    assert found
    assert all(unsaid.covers(problem) for problem in found)
    assert unsaid.why


def test_a_definition_does_not_depend_on_the_cluster(served: Api) -> None:
    """Only the rules check feature gates and versions: the server accepts what some cluster can use."""
    for gate, manifest in GATED.items():
        assert judged(served, VPA, manifest).status == 201
        reported = VPA.from_dict(manifest).problems(gates={gate: False})
        assert [problem.rule for problem in reported] == ["vpa-gate"]
    in_place = VPA.from_dict(GATED["InPlace"])
    assert [problem.rule for problem in in_place.problems((1, 32))] == ["in-place-version"]


# Stored objects.


@pytest.mark.parametrize("kind", FUZZED)
def test_objects_come_back_as_they_were_written(served: Api, kind: type[Kind]) -> None:
    """No default is added, nothing is pruned, a number stays a number and a string stays a string."""
    sound: st.SearchStrategy[Manifest] = FUZZED[kind].sound

    @fuzzing(1 / 10)
    @given(sound)
    def each(manifest: Manifest) -> None:
        kept_as_written(served, kind, manifest)

    each()


def test_a_checkpoint_is_stored_as_one(served: Api) -> None:
    """Recommenders write spec and status together, and later replace the status within the object."""
    held = created(served, Checkpoint, checkpoint())
    assert held["status"] == LEARNT
    later = {**LEARNT, "totalSamplesCount": 101, "another": None}
    patch = [{"op": "replace", "path": "/status", "value": later}]
    assert served.patch(at(Checkpoint, held), patch, JSON_PATCH)["status"] == later
    assert served.call("GET", f"{at(Checkpoint, held)}/status").status == 404


@pytest.mark.parametrize("case", size_cases.CHECKPOINTS_TAKEN)
def test_checkpoints_come_back_as_they_were_written(served: Api, case: str) -> None:
    """Spec and status are stored as written, whatever the checkpoint has learnt."""
    manifest = named(size_cases.CHECKPOINTS_TAKEN[case])
    held = served.create(path_of(Checkpoint), manifest)
    assert held["spec"] == manifest["spec"]
    assert exactly(held.get("status")) == exactly(manifest["status"])


VPA_STATUS: Object = {
    "recommendation": {
        "containerRecommendations": [
            {
                "containerName": "app",
                "target": {"cpu": "25m", "memory": "262144k"},
                "lowerBound": {"cpu": 1, "memory": "1Gi"},
                "upperBound": {},
                "of_another_version": [1, None],
            }
        ]
    },
    "conditions": [{"type": "RecommendationProvided", "status": "True", "lastTransitionTime": size_cases.NOON}],
    "another": {"thing": [1, None, "x"]},
}
STATUSES: dict[type[Kind], tuple[Manifest, Object]] = {
    VPA: (vpa(), VPA_STATUS),
    Hvpa: (seed(), HVPA_STATUS),
    WorkloadAutoscaler: (autoscaler(), AUTOSCALER_STATUS),
}
WRONG = [
    pytest.param(VPA, {"recommendation": []}, id="vpa-recommendation"),
    pytest.param(VPA, {"recommendation": {"containerRecommendations": [{"target": {"cpu": True}}]}}, id="vpa-amount"),
    pytest.param(VPA, {"conditions": [{"lastTransitionTime": "noon"}]}, id="vpa-time"),
    pytest.param(Hvpa, {"replicas": "3"}, id="hvpa-count"),
    pytest.param(Hvpa, {"targetSelector": {}}, id="hvpa-selector"),
    pytest.param(Hvpa, {"lastScaling": {"lastUpdated": "noon"}}, id="hvpa-time"),
    pytest.param(WorkloadAutoscaler, {"learned": {"since": "noon"}}, id="autoscaler-time"),
    pytest.param(WorkloadAutoscaler, {"rule": "x" * 201}, id="autoscaler-words"),
]


@pytest.mark.parametrize("kind", STATUSES)
def test_status_and_spec_have_separate_writers(served: Api, kind: type[Kind]) -> None:
    """A status is kept whole; writing spec or status leaves the other; only the spec raises the generation."""
    manifest, status = STATUSES[kind]
    assert "status" not in created(served, kind, {**manifest, "status": status})
    held = created(served, kind, manifest, status)
    assert held["status"] == status
    changed = deepcopy(held)
    changed["spec"]["targetRef"]["name"], changed["status"]["another"] = "other", 5
    after_status = served.replace(f"{at(kind, held)}/status", changed)
    assert (after_status["spec"], after_status["status"]) == (held["spec"], changed["status"])
    assert after_status["metadata"]["generation"] == 1
    after_status["spec"]["targetRef"]["name"], after_status["status"] = "other", {}
    after_spec = served.replace(at(kind, held), after_status)
    assert (after_spec["spec"], after_spec["status"]) == (changed["spec"], changed["status"])
    assert after_spec["metadata"]["generation"] == 2


@pytest.mark.parametrize(("kind", "status"), WRONG)
def test_status_of_a_wrong_type_is_refused(served: Api, kind: type[Kind], status: Object) -> None:
    """The fields of a status that columns, other controllers and people read have a type."""
    held = created(served, kind, STATUSES[kind][0])
    answer = served.call("PATCH", f"{at(kind, held)}/status", {"status": status}, content=MERGE)
    assert answer.status == 422
    assert all(field.removeprefix(".").startswith("status") for field in fields_of(answer))


def test_an_hvpa_has_a_scale(served: Api) -> None:
    """An HPA finds the pods through it, and writes its replica count there and nowhere else."""
    held = created(served, Hvpa, seed(replicas=2), {"replicas": 3, "targetSelector": "app=web"})
    path = f"{at(Hvpa, held)}/scale"
    scale = served.get(path)
    assert (scale["kind"], scale["spec"]) == ("Scale", {"replicas": 2})
    assert scale["status"] == {"replicas": 3, "selector": "app=web"}
    scale["spec"]["replicas"] = 4
    assert served.replace(path, scale)["spec"] == {"replicas": 4}
    after = served.get(at(Hvpa, held))
    assert after["spec"] == {**held["spec"], "replicas": 4}
    assert after["status"] == held["status"]
    assert served.patch(path, {"spec": {"replicas": 0}})["spec"] == {}
    assert served.call("PATCH", path, {"spec": {"replicas": -1}}, content=MERGE).status == 422


def test_a_scale_begins_with_its_first_count(served: Api) -> None:
    """Before the first write there is no replica count to read; the first write creates it."""
    path = f"{at(Hvpa, created(served, Hvpa, seed()))}/scale"
    assert served.call("GET", path).status == 500
    assert served.patch(path, {"spec": {"replicas": 3}})["spec"] == {"replicas": 3}
    assert served.get(path)["spec"] == {"replicas": 3}


def could_be_stored(problem: Problem) -> bool:
    """Not a type error, an unreadable quantity or a negative scale: no other definition accepted these either."""
    too_large = isinstance(problem.value, int) and problem.value > MAX_INT64
    unreadable = problem.rule == "quantity" and (too_large or not is_quantity(problem.value))
    return problem.kind != "Decode" and problem.rule != "not-negative" and not unreadable


def storable(kind: type[Kind]) -> dict[str, Manifest]:
    kept = [data for data in FAULTY[kind].values() if all(map(could_be_stored, errors(kind, data)))]
    return {f"case-{i}": data for i, data in enumerate(kept)}


@pytest.mark.parametrize("kind", STATUSES)
def test_objects_stored_before_can_get_a_status_and_be_released(served: Api, kind: type[Kind]) -> None:
    """A stricter definition does not keep a controller from writing a status or removing its finalizer."""
    stored, (_, status) = storable(kind), STATUSES[kind]
    path = tightened(served, kind, stored, next(iter(FAULTY[kind].values())))
    for name, manifest in stored.items():
        reported = served.call("PATCH", f"{path}/{name}/status", {"status": status}, content=MERGE)
        assert reported.ok, (manifest, reported.body)
        assert reported.body["status"] == status
        let_go = served.call("PATCH", f"{path}/{name}", {"metadata": {"finalizers": None}}, content=MERGE)
        assert let_go.ok, (manifest, let_go.body)


# What `kubectl` shows and offers.

SHOWN: dict[type[Kind], dict[str, Any]] = {
    VPA: {"Mode": "Off", "CPU": "25m", "Mem": "262144k", "Provided": "True", "Blocked": None, "MinReplicas": 2},
    Checkpoint: {"VPA": "web", "Container": "app", "Samples": 100},
    Hvpa: {"Target": "kube-apiserver", "Replicas": 3, "Desired": 4, "Blocked": "MinChange", "Limited": None},
    WorkloadAutoscaler: {
        "Mode": "Auto",
        "Target": "web",
        "Replicas": 4,
        "Size": "1500m, 2Gi",
        "Busy": "85 %",
        "Saving": "23 %",
        "Rule": "as yesterday, +10 %, hold 30 s",
        "Blocked": None,
        "Desired": 5,
        "Axes": "Replicas",
    },
}


@pytest.mark.parametrize("kind", SHOWN)
def test_columns_show_what_the_object_says(served: Api, kind: type[Kind]) -> None:
    """Every declared column is shown, in order, with its value."""
    policy = {"updateMode": "Off", "minReplicas": 2}
    manifest = {
        VPA: vpa(updatePolicy=policy),
        Checkpoint: checkpoint(),
        Hvpa: seed(),
        WorkloadAutoscaler: autoscaler(updateMode="Auto", axes="Replicas"),
    }[kind]
    held = created(served, kind, manifest, STATUSES[kind][1] if kind in STATUSES else None)
    shown = cells(served, kind, held)
    declared = definition_of(kind)["spec"]["versions"][0]["additionalPrinterColumns"]
    assert list(shown) == ["Name", *(column["name"] for column in declared)]
    times = [shown.pop(column["name"]) for column in declared if column["type"] == "date"]
    assert all(re.fullmatch(r"\d+[smhdy].*", time) for time in times)
    assert shown == {"Name": held["metadata"]["name"], **SHOWN[kind]}


def test_discovery_lists_names_and_subresources(served: Api) -> None:
    """`kubectl get vpa` and `kubectl scale hvpa` work, and there are no unneeded subresources."""
    found: dict[str, list[str]] = {}
    for version in {VPA.API_VERSION, Hvpa.API_VERSION, WorkloadAutoscaler.API_VERSION}:
        listed = served.get(f"/apis/{version}")["resources"]
        found |= {each["name"]: each.get("shortNames", []) for each in listed}
    assert found == {
        "verticalpodautoscalers": ["vpa"],
        "verticalpodautoscalers/status": [],
        "verticalpodautoscalercheckpoints": ["vpacheckpoint"],
        "hvpas": ["hvpa"],
        "hvpas/status": [],
        "hvpas/scale": [],
        "autoscalers": ["asc"],
        "autoscalers/status": [],
    }
