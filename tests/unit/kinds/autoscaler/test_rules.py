"""The rules for Autoscalers, and the definition that gives an API server the same rules."""

import re
from pathlib import Path

import jsonschema
import pytest
import yaml

from hypot.kinds.autoscaler import WorkloadAutoscaler
from hypot.kinds.autoscaler.crd import FACTS
from hypot.kinds.autoscaler.status import AUTOSCALER_CONDITIONS
from hypot.kinds.catalogue import CATALOGUE, crd_of
from hypot.kinds.vpa.rules import MAX_POLICIES
from unit.kinds.autoscaler.test_autoscaler import APP, SELECTED, STATUS, WEB, manifest
from unit.kinds.test_crd import every_schema, rule_ids

CRD = crd_of(WorkloadAutoscaler)
VERSION = CRD["spec"]["versions"][0]
ROOT = VERSION["schema"]["openAPIV3Schema"]
SPEC = ROOT["properties"]["spec"]


def to(**changes):
    return manifest(targetRef={**WEB, **changes})


def sized(*policies, **spec):
    return manifest(resourcePolicy={"containerPolicies": list(policies)}, **spec)


def late(**late):
    return manifest(objective={"late": late})


def asks(requests=None, late=None):
    metrics = {"requests": requests, "late": late}
    return manifest(metrics={key: metric for key, metric in metrics.items() if metric is not None})


def noted(**annotations):
    notes = {f"hypot.dev/{name.replace('_', '-')}": text for name, text in annotations.items()}
    return {**manifest(), "metadata": {"name": "web", "annotations": notes}}


# What the rules and the schema refuse: the id of the rule, and the field.
REFUSED = {
    "no target": (manifest(targetRef=None), ("reference-kind", "spec.targetRef.kind")),
    "an empty target": (manifest(targetRef={}), ("reference-name", "spec.targetRef.name")),
    "no kind": (to(kind=""), ("reference-kind", "spec.targetRef.kind")),
    "no name": (to(name=None), ("reference-name", "spec.targetRef.name")),
    "a strange version": (to(apiVersion="a/b/c"), ("reference-version", "spec.targetRef.apiVersion")),
    "an unknown mode": (manifest(updateMode="auto"), ("update-mode", "spec.updateMode")),
    "an empty mode": (manifest(updateMode=""), ("update-mode", "spec.updateMode")),
    "a mode of a Tortoise": (manifest(updateMode="Emergency"), ("update-mode", "spec.updateMode")),
    "off as YAML reads it": (manifest(updateMode=False), ("type", "spec.updateMode")),
    "unknown axes": (manifest(axes="both"), ("axes", "spec.axes")),
    "no axes": (manifest(axes=""), ("axes", "spec.axes")),
    "a list of axes": (manifest(axes=["Replicas", "Size"]), ("type", "spec.axes")),
    "minReplicas 0": (manifest(minReplicas=0), ("min-replicas", "spec.minReplicas")),
    "maxReplicas 0": (manifest(maxReplicas=0), ("max-replicas", "spec.maxReplicas")),
    "maxReplicas below 0": (manifest(minReplicas=2, maxReplicas=-3), ("max-replicas", "spec.maxReplicas")),
    "half a replica": (manifest(minReplicas=1.5), ("type", "spec.minReplicas")),
    "a policy without a container": (
        sized({"maxAllowed": {"cpu": 1}}),
        ("container-name", "spec.resourcePolicy.containerPolicies[0].containerName"),
    ),
    "an unknown mode of a container": (
        sized({**APP, "mode": "Sometimes"}),
        ("container-mode", "spec.resourcePolicy.containerPolicies[0].mode"),
    ),
    "a negative bound": (
        sized({**APP, "minAllowed": {"cpu": "-1"}}),
        ("quantity", "spec.resourcePolicy.containerPolicies[0].minAllowed.cpu"),
    ),
    "too many policies": (
        sized(*[{"containerName": f"c{i}"} for i in range(MAX_POLICIES + 1)]),
        ("policy-count", "spec.resourcePolicy.containerPolicies"),
    ),
    "no duration": (late(after="soon"), ("late-after", "spec.objective.late.after")),
    "an empty duration": (late(after=""), ("late-after", "spec.objective.late.after")),
    "a negative duration": (late(after="-1s"), ("late-after", "spec.objective.late.after")),
    "a duration without a unit": (late(after=250), ("type", "spec.objective.late.after")),
    "a number alone": (late(after="0"), ("late-after", "spec.objective.late.after")),
    "a unit that is too small": (late(after="2000us"), ("late-after", "spec.objective.late.after")),
    "many years": (late(after="999999999h"), ("late-after", "spec.objective.late.after")),
    "a long text": (late(after=f"{'0' * 64}1s"), ("late-after", "spec.objective.late.after")),
    "a price of nothing": (late(price=0), ("late-price", "spec.objective.late.price")),
    "a negative price": (late(price=-10), ("late-price", "spec.objective.late.price")),
    "a price below the least": (late(price=0.09), ("late-price", "spec.objective.late.price")),
    "a price above the most": (late(price=1000.5), ("late-price", "spec.objective.late.price")),
    "a price as text": (late(price="10"), ("type", "spec.objective.late.price")),
    "a price that is a switch": (late(price=True), ("type", "spec.objective.late.price")),
    "a metric without a name": (asks({}), ("metric-name", "spec.metrics.requests.name")),
    "an empty name": (asks({"name": ""}), ("metric-name", "spec.metrics.requests.name")),
    "a name with a slash": (asks({"name": "http/requests"}), ("metric-name", "spec.metrics.requests.name")),
    "a metric as text": (asks("requests"), ("type", "spec.metrics.requests")),
    "a selector with an unknown operator": (
        asks({"name": "requests", "selector": {"matchExpressions": [{"key": "a", "operator": "Gt"}]}}),
        ("selector", "spec.metrics.requests.selector.matchExpressions[0].operator"),
    ),
    "a label that is no text": (
        asks({"name": "requests", "selector": {"matchLabels": {"a": 1}}}),
        ("type", "spec.metrics.requests.selector.matchLabels.a"),
    ),
}
# What the rules and CEL refuse: beyond the schema.
IN_CEL = {
    "min over max": (manifest(minReplicas=5, maxReplicas=4), ("min-over-max", "spec.maxReplicas")),
    "min over the default of max": (manifest(minReplicas=101), ("min-over-max", "spec.maxReplicas")),
    "bounds in the wrong order": (
        sized({"containerName": "app", "minAllowed": {"cpu": 2}, "maxAllowed": {"cpu": "1500m"}}),
        ("allowed-range", "spec.resourcePolicy.containerPolicies[0].maxAllowed.cpu"),
    ),
    "less than a millicore": (
        sized({**APP, "minAllowed": {"cpu": "100u"}}),
        ("whole-amount", "spec.resourcePolicy.containerPolicies[0].minAllowed.cpu"),
    ),
    "a duration of nothing": (late(after="0s"), ("late-after", "spec.objective.late.after")),
    "a very short duration": (late(after="0.999ms"), ("late-after", "spec.objective.late.after")),
    "more than an hour": (late(after="59m60.001s"), ("late-after", "spec.objective.late.after")),
    "a year": (late(after="8760h"), ("late-after", "spec.objective.late.after")),
    "as long as can be written": (late(after="9999999m" * 8), ("late-after", "spec.objective.late.after")),
    "a dot for a name": (asks({"name": "."}), ("metric-name", "spec.metrics.requests.name")),
    "late requests of nothing": (asks(late={"name": "late"}), ("late-metric", "spec.metrics.requests")),
    "a selector with values that are not used": (
        asks({"name": "a", "selector": {"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["b"]}]}}),
        ("selector", "spec.metrics.requests.selector.matchExpressions[0].values"),
    ),
}
# What only hypot refuses: unknown fields and annotations. A server drops unknown fields, and asks nobody about notes.
ONLY_RULES = {
    "an unknown field": (manifest(replicas=3), ("unknown-field", "spec.replicas")),
    "an unknown part of the objective": (
        manifest(objective={"cost": 1}),
        ("unknown-field", "spec.objective.cost"),
    ),
    "an unknown knob": (noted(round_cpu="none"), ("knob", "metadata.annotations.hypot.dev/round-cpu")),
}
ACCEPTED = {
    "the least": manifest(),
    "a StatefulSet": to(kind="StatefulSet"),
    "a Rollout": to(apiVersion="argoproj.io/v1alpha1", kind="Rollout"),
    **{f"mode {mode}": manifest(updateMode=mode) for mode in ("Off", "Auto")},
    **{f"axes {axes}": manifest(axes=axes) for axes in ("Both", "Replicas", "Size")},
    "one replica": manifest(minReplicas=1, maxReplicas=1),
    "a maximum below the default minimum": manifest(maxReplicas=1),
    "a minimum at the default maximum": manifest(minReplicas=100),
    "a minimum above the default maximum": manifest(minReplicas=101, maxReplicas=101),
    "bounds": sized(APP, {"containerName": "proxy", "mode": "Off"}),
    "bounds for all": sized({"containerName": "*", "maxAllowed": {"memory": "2Gi"}}),
    "no policies": sized(),
    "an empty objective": manifest(objective={}),
    "nothing about late requests": late(),
    **{f"late after {after}": late(after=after) for after in ("1ms", "250ms", "1.5s", "1m30s", "1h", "60m0.000s")},
    **{f"late at {price}": late(price=price) for price in (0.1, 0.5, 1, 10, 10.0, 1000)},
    "no metrics": asks(),
    "requests": asks({"name": "http_requests_per_second"}),
    "both metrics": asks({"name": "requests"}, SELECTED),
    "a label of a metric": asks({"name": "a", "selector": {"matchExpressions": [{"key": "a", "operator": "Exists"}]}}),
    "knobs": noted(round_cpu="10m"),
}
WARNINGS = {
    "bounds of sizes without sizes": (sized(APP, axes="Replicas"), ("other-axis", "spec.resourcePolicy")),
    "a minimum without counts": (manifest(axes="Size", minReplicas=3), ("other-axis", "spec.minReplicas")),
    "a maximum without counts": (manifest(axes="Size", maxReplicas=3), ("other-axis", "spec.maxReplicas")),
    "every request late": (asks(SELECTED, SELECTED), ("late-metric", "spec.metrics.late")),
    "two policies of one container": (
        sized(APP, APP),
        ("duplicate-policy", "spec.resourcePolicy.containerPolicies[1].containerName"),
    ),
}


def found(data, severity="error"):
    problems = WorkloadAutoscaler.from_dict(data).problems()
    return [(problem.rule, problem.field) for problem in problems if problem.severity == severity]


def without_nulls(value):
    """An API server drops null where the schema does not allow it."""
    return {k: without_nulls(v) for k, v in value.items() if v is not None} if isinstance(value, dict) else value


def fits(data):
    return jsonschema.Draft202012Validator(ROOT).is_valid(without_nulls(data))


@pytest.mark.parametrize("case", [*REFUSED, *IN_CEL, *ONLY_RULES])
def test_refused(case):
    """Each with its rule and its field."""
    data, problem = {**REFUSED, **IN_CEL, **ONLY_RULES}[case]
    assert problem in found(data)


@pytest.mark.parametrize("case", REFUSED)
def test_the_schema_refuses_the_same(case):
    """An API server has no code of hypot."""
    assert not fits(REFUSED[case][0])


@pytest.mark.parametrize("case", IN_CEL)
def test_the_schema_alone_accepts_what_needs_cel(case):
    """So that a rule of CEL has a case of its own; tests/cluster asks a real API server."""
    assert fits(IN_CEL[case][0])


@pytest.mark.parametrize("case", ACCEPTED)
def test_accepted(case):
    """By the rules and by the schema."""
    assert WorkloadAutoscaler.from_dict(ACCEPTED[case]).problems() == ()
    assert fits({**ACCEPTED[case], "status": STATUS})


@pytest.mark.parametrize("case", WARNINGS)
def test_warnings(case):
    """What is accepted but has no effect, or not the one that was meant."""
    data, problem = WARNINGS[case]
    assert found(data) == []
    assert found(data, "warning") == [problem]
    assert fits(data)


@pytest.mark.parametrize("price", [float("inf"), float("nan")])
def test_a_price_is_a_number(price):
    """YAML has words for what is none."""
    assert found(late(price=price)) == [("type", "spec.objective.late.price")]


def test_all_problems_at_once():
    """A user fixes them in one go."""
    data = manifest(
        targetRef={"kind": "Deployment"},
        updateMode="On",
        axes="Width",
        minReplicas=0,
        maxReplicas=0,
        resourcePolicy={"containerPolicies": [{"minAllowed": {"cpu": "x"}}]},
        objective={"late": {"after": "x", "price": 0}},
        metrics={"late": {"name": "a%b"}},
    )
    assert len(found(data)) == 11


class TestDefinition:
    """The CustomResourceDefinition."""

    def test_names(self):
        """A group of its own, and names that no other kind has."""
        assert CRD["metadata"]["name"] == "autoscalers.hypot.dev"
        assert (CRD["spec"]["scope"], VERSION["name"]) == ("Namespaced", "v1alpha1")
        assert VERSION["subresources"] == {"status": {}}
        names = [name for info in CATALOGUE.values() for name in (*info.short_names, info.plural, info.name.lower())]
        own = CRD["spec"]["names"]
        assert own["shortNames"] == ["asc"]
        assert [name for name in names if name in {"asc", own["plural"], own["singular"]}] == [
            "asc",
            own["plural"],
            own["singular"],
        ]

    def test_columns(self):
        """What `kubectl get autoscaler` shows."""
        columns = VERSION["additionalPrinterColumns"]
        shown = ["Mode", "Target", "Replicas", "Size", "Busy", "Saving", "Rule", "Blocked", "Age"]
        assert [column["name"] for column in columns if "priority" not in column] == shown

    def test_facts_name_only_what_exists(self):
        """A hint for a removed field would be lost silently."""
        required = [(part, key) for part, keys in FACTS.required.items() for key in keys]
        places = [*FACTS.hints, *FACTS.shapes, *required]
        assert [(part.__name__, key) for part, key in places if key not in part.BY_KEY] == []

    def test_cel_by_place(self):
        """The ids of the rules in CEL that this kind adds to those of the parts it shares with others."""
        ids = {path: [rule for rule in rule_ids(place) if rule != "type"] for path, place in every_schema(SPEC)}
        shared = ("resourcePolicy", "metrics.requests.selector", "metrics.late.selector")
        assert {path: rules for path, rules in ids.items() if rules and not path.startswith(shared)} == {
            "": ["min-over-max"] * 2,
            "objective.late": ["late-after", "late-price"],
            "metrics": ["late-metric"],
            "metrics.requests": ["metric-name"],
            "metrics.late": ["metric-name"],
        }

    def test_the_status_is_bounded(self):
        """Every text that is learned has a limit, and the conditions are named."""
        status = ROOT["properties"]["status"]
        jsonschema.validate({**STATUS, "another": {"thing": [1]}}, status)
        assert not jsonschema.Draft202012Validator(status).is_valid({"rule": "x" * 201})
        assert all(name in status["properties"]["conditions"]["description"] for name in AUTOSCALER_CONDITIONS)


class TestPage:
    """docs/autoscaler.md."""

    PAGE = (Path(__file__).resolve().parents[4] / "docs" / "autoscaler.md").read_text(encoding="utf-8")

    def test_its_manifests_are_valid(self):
        """As they are written there."""
        written = [yaml.safe_load(text) for text in re.findall(r"```yaml\n(.*?)```", self.PAGE, re.DOTALL)]
        assert len(written) == 2
        for each in written:
            assert WorkloadAutoscaler.from_dict(each).problems() == ()
            assert fits(each)

    def test_its_table_has_every_field_and_its_default(self):
        """A new field needs a row."""
        rows = [line.split("|")[1:4] for line in self.PAGE.splitlines() if line.startswith("| `")]
        listed = {field.strip().strip("`"): default.strip().strip("`") for field, default, _ in rows}
        fields = {field.partition(".")[0] for field in listed}
        assert fields == SPEC["properties"].keys()
        complete = WorkloadAutoscaler.from_dict(manifest()).effective().to_dict()["spec"]
        late = complete.pop("objective")["late"]
        defaults = {**complete, **{f"objective.late.{key}": value for key, value in late.items()}}
        assert {field: text for field, text in listed.items() if text} == {
            field: str(value) for field, value in defaults.items() if field != "targetRef"
        }
