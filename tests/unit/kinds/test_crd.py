"""The CustomResourceDefinitions: an API server must get the same rules as hypot has."""

import ast
import inspect
import re
from collections import Counter
from collections.abc import Iterator
from fnmatch import fnmatch
from typing import Any

import jsonschema
import pytest
import yaml

from hypot.kinds import decode
from hypot.kinds.catalogue import crd_of, defined, facts_of
from hypot.kinds.node import INT32
from hypot.kinds.wpa import WPA
from hypot.kinds.wpa import rules as wpa_rules

# The three fragments of the proposal that the kind comes from, unchanged.
KEP_FRAGMENTS = """
    minReplicas: 4
    maxReplicas: 9
    metrics:
    - external:
        highWatermark: 400m
        lowWatermark: 150m
        metricName: custom.request_duration.max
        metricSelector:
          matchLabels:
            kubernetes_cluster: mycluster
            service: billing
            short_image: billing-app
      type: External
    tolerance: 0.01
    scaleDownLimitFactor: 30
    scaleUpLimitFactor: 50
    downscaleForbiddenWindowSeconds: 60
    upscaleForbiddenWindowSeconds: 30
"""
SELECTOR = "metrics[].external.metricSelector"
BLOCKS = ("metrics[].external", "metrics[].resource", "recommender")
MARKS = [f"{block}.{key}" for block in BLOCKS for key in ("highWatermark", "lowWatermark")]

# Where each error of the rules is in the CRD: place -> keywords of the schema there, or `cel` for a rule in CEL.
HOMES: dict[str, dict[str, str]] = {
    "algorithm": {"algorithm": "enum"},
    "converge": {"convergeTowardsWatermark": "enum"},
    **{rule: {"": "cel"} for rule in ("limit-factor", "metrics-or-recommender", "min-over-max")},
    **{rule: {"metrics[]": "cel"} for rule in ("metric-name", "metric-selector", "metric-source")},
    "max-replicas": {"": "required", "maxReplicas": "minimum"},
    "metric-count": {"metrics": "maxItems"},
    "metric-type": {"metrics[]": "required", "metrics[].type": "enum"},
    "min-replicas": {"minReplicas": "minimum"},
    "quantity": dict.fromkeys(["scaleUpLimitFactor", "scaleDownLimitFactor", *MARKS], "pattern maxLength"),
    "range": {w.key: "minimum maximum" for _, w in WPA.TABLE if w.type is INT32},
    "recommender-url": {"recommender": "required", "recommender.url": "pattern maxLength"},
    "reference-kind": {"scaleTargetRef": "required", "scaleTargetRef.kind": "minLength"},
    "reference-name": {"scaleTargetRef": "required", "scaleTargetRef.name": "minLength"},
    "reference-version": {"scaleTargetRef.apiVersion": "pattern"},
    "selector": {
        f"{SELECTOR}.matchLabels": "maxProperties",
        f"{SELECTOR}.matchExpressions": "maxItems",
        f"{SELECTOR}.matchExpressions[]": "required cel",
        f"{SELECTOR}.matchExpressions[].key": "minLength",
        f"{SELECTOR}.matchExpressions[].operator": "enum",
    },
    "tls-version": {f"recommender.tlsConfig.{end}Version": "enum" for end in ("min", "max")},
    "tolerance": {"tolerance": "pattern maxLength minimum maximum"},
    "type": {"maxReplicas": "type maximum cel", "recommender.settings": "type cel"},
    "unknown-field": {"": "properties"},
    "watermark": {"metrics[]": "cel", "recommender": "required cel"},
}

WRITTEN_STATUS = """
    {currentReplicas: 3, desiredReplicas: 4, currentMetrics: [{type: External, external: {currentValue: 300m}}],
    conditions: [{type: DryRun, status: 'False'}], lastScaleTime: '2026-11-02T00:00:00Z', scalingEventsCount: 7,
    lastConditionType: AbleToScale, lastConditionState: 'True', observedGeneration: 2}
"""

# Fields that every definition of the kind required.
ALWAYS_REQUIRED = {"self.type", "self.operator"}

CRD = crd_of(WPA)
VERSION = CRD["spec"]["versions"][0]
ROOT = VERSION["schema"]["openAPIV3Schema"]
SPEC = ROOT["properties"]["spec"]


def kep_manifest() -> dict[str, Any]:
    spec = {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "billing"}}
    return {"metadata": {"name": "billing"}, "spec": spec | yaml.safe_load(KEP_FRAGMENTS)}


def rules_against(manifest: dict[str, Any]) -> set[str]:
    return {problem.rule for problem in WPA.from_dict(manifest).problems()}


def at(schema: dict[str, Any], path: str) -> dict[str, Any]:
    for step in path.split(".") if path else ():
        schema = schema["properties"][step.removesuffix("[]")]
        schema = schema["items"] if step.endswith("[]") else schema
    return schema


def every_schema(schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    yield path, schema
    for key, child in schema.get("properties", {}).items():
        yield from every_schema(child, f"{path}.{key}" if path else key)
    if "items" in schema:
        yield from every_schema(schema["items"], f"{path}[]")
    if isinstance(schema.get("additionalProperties"), dict):
        yield from every_schema(schema["additionalProperties"], f"{path}{{}}")


def rule_ids(schema: dict[str, Any]) -> list[str]:
    """The ids at the end of the messages, each of which is one readable line."""
    message = [validation["message"] for validation in schema.get("x-kubernetes-validations", ())]
    return [re.fullmatch(r"[a-z][^\n]{10,120} \[([a-z-]+)\]", word)[1] for word in message]


def written_rules(module: Any) -> set[str]:
    """The ids of the errors in a module's source; a computed part is a star; calls with a severity are not errors."""
    calls = [n for n in ast.walk(ast.parse(inspect.getsource(module))) if isinstance(n, ast.Call) and n.args]
    calls = [call for call in calls if "severity" not in {keyword.arg for keyword in call.keywords}]
    firsts = [call.args[0] for call in calls if getattr(call.func, "id", "") in {"Problem", "below", "too_many"}]
    texts = [ast.unparse(first) for first in firsts if isinstance(first, ast.Constant | ast.JoinedStr)]
    return {re.sub(r"\{.*\}", "*", text.removeprefix("f").strip("'\"")) for text in texts}


def test_names_and_versions():
    """Group, names and the one version are those of the kind."""
    assert (CRD["apiVersion"], CRD["kind"]) == ("apiextensions.k8s.io/v1", "CustomResourceDefinition")
    assert CRD["metadata"]["name"] == "watermarkpodautoscalers.datadoghq.com"
    assert (CRD["spec"]["group"], CRD["spec"]["scope"]) == ("datadoghq.com", "Namespaced")
    names = CRD["spec"]["names"]
    assert (names["kind"], names["listKind"]) == ("WatermarkPodAutoscaler", "WatermarkPodAutoscalerList")
    assert (names["plural"], names["singular"]) == ("watermarkpodautoscalers", "watermarkpodautoscaler")
    assert names["shortNames"] == ["wpa"]
    assert (VERSION["name"], VERSION["served"], VERSION["storage"]) == ("v1alpha1", True, True)
    assert VERSION["subresources"] == {"status": {}}


@pytest.mark.parametrize("kind", [info.kind for info in defined()])
def test_every_kind_has_a_structural_schema(kind):
    """Every place has a type, is int-or-string or keeps unknown fields, and nothing has a default."""
    schema = crd_of(kind)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    for path, place in every_schema(schema):
        open_to_all = place.get("x-kubernetes-int-or-string") or place.get("x-kubernetes-preserve-unknown-fields")
        assert "type" in place or open_to_all, path
        assert "default" not in place, path
        assert not (place.get("properties") and place.get("additionalProperties")), path
        assert ("items" in place) == (place.get("type") == "array"), path


@pytest.mark.parametrize("kind", [info.kind for info in defined()])
def test_every_field_is_there_and_described(kind):
    """The tables define the fields, and each field has a description."""
    schema = crd_of(kind)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    assert list(schema["properties"]) == [w.key for _, w in kind.TABLE]
    described = {path for path, place in every_schema(schema) if place.get("description")}
    assert {path for path, _ in every_schema(schema) if not path.endswith(("[]", "{}"))} <= described


def test_each_call_gives_a_definition_of_its_own():
    """Changing one definition changes no other."""
    crd_of(WPA)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["required"].clear()
    assert crd_of(WPA) == CRD
    assert "&id" not in yaml.safe_dump(CRD)


def test_printer_columns():
    """`kubectl get` has the original's columns and what holds a change back; the scale count only with -o wide."""
    columns = VERSION["additionalPrinterColumns"]
    shown = "scaling active, condition, condition state, value, high watermark, low watermark, age, min replicas, "
    shown += "max replicas, dry-run, blocked, last scale"
    assert [column["name"] for column in columns if "priority" not in column] == shown.split(", ")
    assert [column["name"] for column in columns if column.get("priority") == 1] == ["scale count"]


def test_columns_look_in_one_place():
    """A recursive path takes mappings in random order, and continues to the next metric."""
    assert [column["name"] for column in VERSION["additionalPrinterColumns"] if ".." in column["jsonPath"]] == []


def test_status_is_typed_and_open():
    """A status of the original controller is valid, and fields of other versions are kept."""
    status = ROOT["properties"]["status"]
    assert status["x-kubernetes-preserve-unknown-fields"] is True
    written = yaml.safe_load(WRITTEN_STATUS)
    assert set(written) == set(status["properties"])
    jsonschema.validate({**written, "another": {"thing": [1]}}, status)


def test_cel_by_place():
    """The rules in CEL by place and id, except `type`, which every number and text map has."""
    found = {path: Counter(rule for rule in rule_ids(place) if rule != "type") for path, place in every_schema(SPEC)}
    assert {path: rules for path, rules in found.items() if rules} == {
        "": {"min-over-max": 1, "limit-factor": 2, "metrics-or-recommender": 2},
        "metrics[]": {"metric-source": 2, "metric-name": 2, "metric-selector": 2, "watermark": 8},
        "metrics[].external.metricSelector.matchExpressions[]": {"selector": 1},
        "metrics[].resource.metricSelector.matchExpressions[]": {"selector": 1},
        "recommender": {"watermark": 3},
    }


def test_rules_check_a_field_before_they_read_it():
    """A rule that fails on what an older definition accepted would even block writing a status."""
    for path, place in every_schema(SPEC):
        for rule in [validation["rule"] for validation in place.get("x-kubernetes-validations", ())]:
            read = set(re.findall(r"self(?:\.\w+)+(?![\w(])", rule)) - ALWAYS_REQUIRED
            assert {field for field in read if f"has({field})" not in rule} == set(), path


def test_whole_numbers_and_text_maps_are_held_to_their_types():
    """Schemas alone would accept 1.0 as a whole number and drop a null from a map."""
    for path, place in every_schema(SPEC):
        closed = place.get("type") == "integer" or {"x-kubernetes-int-or-string", "additionalProperties"} & place.keys()
        assert ("type" in rule_ids(place)) == bool(closed), path


# The rules of a target, which all kinds share, and the rules that are written for both bounds at once.
SHARED_RULES = {"reference-kind", "reference-name", "reference-version", "min-replicas", "max-replicas"}


def test_every_error_rule_has_a_home():
    """A new rule must say where the CRD has it."""
    written = written_rules(wpa_rules) | written_rules(decode) | SHARED_RULES
    assert {rule for rule in written if not any(fnmatch(home, rule) for home in HOMES)} == set()
    assert {home for home in HOMES if not any(fnmatch(home, rule) for rule in written)} == set()


@pytest.mark.parametrize("rule", HOMES)
def test_every_home_is_real(rule):
    """The table of homes names keywords and rules that are in the schema."""
    for path, keywords in HOMES[rule].items():
        place = at(SPEC, path)
        for keyword in keywords.split():
            assert rule in rule_ids(place) if keyword == "cel" else keyword in place, (path, keyword)


def test_facts_name_only_what_exists():
    """A hint, requirement or shape for a removed field would be lost silently."""
    facts = facts_of(WPA)
    places = [*facts.hints, *facts.shapes, *((part, key) for part, keys in facts.required.items() for key in keys)]
    assert [(part.__name__, key) for part, key in places if key not in part.BY_KEY] == []


def test_kep_fragments_are_valid():
    """The proposal's own sample has no problems, and the schema accepts it, with the unquoted fraction."""
    manifest = kep_manifest()
    assert manifest["spec"]["tolerance"] == 0.01
    assert WPA.from_dict(manifest).problems() == ()
    jsonschema.validate(manifest, ROOT)


@pytest.mark.parametrize(
    ("tolerance", "fits"),
    [
        *[(value, True) for value in (0, 1, 0.01, 1.0, "0.01", "10m", "1000m", "1", "+0.5", "0." + "1" * 62)],
        *[(value, False) for value in (-0.01, 1.01, 2, "2", "1001m", "-0.1", "", "1e-2", "0." + "1" * 63)],
        *[(value, False) for value in (True, False, [], [0.5], {}, {"a": 0.5})],
    ],
)
def test_tolerance_is_a_share_to_both(tolerance, fits):
    """Schema and rules both accept only a share between 0 and 1, although the field has no type."""
    manifest = kep_manifest()
    manifest["spec"]["tolerance"] = tolerance
    assert (WPA.from_dict(manifest).problems() == ()) is fits
    assert jsonschema.Draft202012Validator(at(SPEC, "tolerance")).is_valid(tolerance) is fits


@pytest.mark.parametrize("mark", ["m", "1e100", "1e003", "0" * 64 + "1", 2**63])
def test_quantities_that_no_schema_can_judge_are_refused(mark):
    """Quantities that only one side can read are an error on both."""
    manifest = kep_manifest()
    manifest["spec"]["metrics"][0]["external"]["highWatermark"] = mark
    assert "quantity" in rules_against(manifest)


def expressions(requirement: str, times: int = 1) -> str:
    return f"{{matchExpressions: [{', '.join([f'{{{requirement}}}'] * times)}]}}"


@pytest.mark.parametrize(
    ("selector", "rule"),
    [
        ("{}", None),
        ("{matchLabels: null, matchExpressions: []}", None),
        (expressions("key: a, operator: In, values: [b]"), None),
        (expressions("key: a, operator: Exists, values: []"), None),
        ("{matchlabels: {}}", "unknown-field"),
        ("{matchLabels: {a: null}}", "type"),
        ("{matchExpressions: [null]}", "type"),
        (expressions("key: a, operator: In, values: [1]"), "type"),
        (expressions("key: '', operator: Exists"), "selector"),
        (expressions("key: a, operator: Gt, values: ['1']"), "selector"),
        (expressions("key: a, operator: In"), "selector"),
        (expressions("key: a, operator: Exists, values: [b]"), "selector"),
        (f"{{matchLabels: {{{', '.join(f'k{i}: v' for i in range(101))}}}}}", "selector"),
        (expressions("key: a, operator: Exists", 101), "selector"),
    ],
)
@pytest.mark.parametrize("in_use", [True, False])
def test_selectors_are_label_selectors(selector, rule, in_use):
    """The rules read a selector as the API server does, also in a block that the type does not name."""
    manifest = kep_manifest()
    block = manifest["spec"]["metrics"][0].setdefault("external" if in_use else "resource", {})
    block["metricSelector"] = yaml.safe_load(selector)
    assert rules_against(manifest) >= {rule} if rule else rules_against(manifest) == set()


def test_the_number_of_metrics_is_limited():
    """To what an API server can afford to check, in the rules too."""
    manifest = kep_manifest()
    manifest["spec"]["metrics"] *= SPEC["properties"]["metrics"]["maxItems"]
    assert rules_against(manifest) == set()
    manifest["spec"]["metrics"] += manifest["spec"]["metrics"][:1]
    assert rules_against(manifest) == {"metric-count"}
