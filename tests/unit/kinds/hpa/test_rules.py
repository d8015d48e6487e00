"""The API server's validation of HorizontalPodAutoscalers, rule by rule."""

import pytest

from hypot.kinds.hpa import HPA
from hypot.kinds.hpa.rules import scale_problems, spec_problems, status_problems, strictness

WEB = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
SERVICE = {"apiVersion": "v1", "kind": "Service", "name": "s"}
UTILIZATION = {"type": "Utilization", "averageUtilization": 50}
VALUE = {"type": "Value", "value": "5"}
CPU = {"name": "cpu", "target": UTILIZATION}
QUEUE = {"metric": {"name": "q"}, "target": VALUE}


def manifest(**spec):
    return {"metadata": {"name": "web"}, "spec": {"scaleTargetRef": WEB, "maxReplicas": 10, **spec}}


def to(**changes):
    return manifest(scaleTargetRef={**WEB, **changes})


def metric(kind, **sources):
    return manifest(metrics=[{"type": kind, **sources}])


def resource(**target):
    return metric("Resource", resource={"name": "cpu", "target": target})


def container(**changes):
    return metric("ContainerResource", containerResource={**CPU, "container": "app", **changes})


def pods(**target):
    return metric("Pods", pods={**QUEUE, "target": target})


def external(**target):
    return metric("External", external={**QUEUE, "target": target})


def on(described=SERVICE, **target):
    return metric("Object", object={**QUEUE, "describedObject": described, "target": target or VALUE})


def up(**pace):
    return manifest(behavior={"scaleUp": pace})


def down(**pace):
    return manifest(behavior={"scaleDown": pace})


def policy(**changes):
    return up(policies=[{"type": "Pods", "value": 4, "periodSeconds": 60, **changes}])


def texts(data, version=(1, 37)):
    return [str(problem) for problem in HPA.from_dict(data).problems(version)]


# Fields.
LOW, HIGH, TO = "spec.minReplicas", "spec.maxReplicas", "spec.scaleTargetRef"
M, UP = "spec.metrics[0]", "spec.behavior.scaleUp"
R, C, P, X, ON = (f"{M}.{key}" for key in ("resource", "containerResource", "pods", "external", "object"))
# Texts.
ABOVE_MIN = "must be greater than or equal to `minReplicas`"
TYPES = 'supported values: "ContainerResource", "External", "Object", "Pods", "Resource"'
TARGET_TYPES = "must be either Utilization, Value, or AverageValue"
NO_TARGET_TYPE = "Required value: must specify a metric target type"
EXTERNAL_ONE = "Required value: must set either a target value for metric or a per-pod target"
EXTERNAL_BOTH = "Forbidden: may not set both a target value for metric and a per-pod target"
RESOURCE_ONE = "Required value: must set either a target raw value or a target utilization"
RESOURCE_BOTH = "Forbidden: may not set both a target raw value and a target utilization"
TO_ZERO = "Forbidden: must specify at least one Object or External metric to support scaling to zero replicas"
GO = "json: cannot unmarshal string into Go struct field"

RULES = [
    (manifest(minReplicas=-1), f"{LOW}: Invalid value: -1: must be greater than or equal to 0"),
    (
        manifest(maxReplicas=0),
        f"{HIGH}: Required value: must be set and greater than 0",
        f"{HIGH}: Invalid value: 0: {ABOVE_MIN}",
    ),
    (
        manifest(maxReplicas=-2),
        f"{HIGH}: Invalid value: -2: must be greater than or equal to 1",
        f"{HIGH}: Invalid value: -2: {ABOVE_MIN}",
    ),
    (manifest(minReplicas=11), f"{HIGH}: Invalid value: 10: {ABOVE_MIN}"),
    (manifest(minReplicas=0), f"spec.metrics: {TO_ZERO}"),
    (to(kind=""), f"{TO}.kind: Required value"),
    (to(name=None), f"{TO}.name: Required value"),
    (to(kind=".."), f"{TO}.kind: Invalid value: \"..\": may not be '..'"),
    (
        to(name="%/"),
        f"{TO}.name: Invalid value: \"%/\": may not contain '/'",
        f"{TO}.name: Invalid value: \"%/\": may not contain '%'",
    ),
    (to(apiVersion="v1"), f'{TO}.apiVersion: Invalid value: "v1": apiVersion must specify API group'),
    (to(apiVersion="a/b/c"), f'{TO}.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c'),
    (
        metric("", resource=CPU),
        f"{M}.type: Required value: must specify a metric source type",
        f'{M}.type: Unsupported value: "": {TYPES}',
        f'{M}.type: Unsupported value: "": {TYPES}',
    ),
    (
        metric("Cpu", resource=CPU),
        f'{M}.type: Unsupported value: "Cpu": {TYPES}',
        f'{M}.type: Unsupported value: "Cpu": {TYPES}',
    ),
    (metric("Resource"), f"{R}: Required value: must populate information for the given metric source"),
    (metric("Pods", resource=CPU), f"{P}: Required value: must populate information for the given metric source"),
    (metric("External", external=QUEUE, resource={}), f"{R}: Forbidden: must populate the given metric source only"),
    (
        metric("Resource", resource=CPU, external={}),
        f"{X}.metric.name: Required value: must specify a metric name",
        f"{X}.target.type: {NO_TARGET_TYPE}",
        f'{X}.target.type: Invalid value: "": {TARGET_TYPES}',
        f"{X}.target.averageValue: {EXTERNAL_ONE}",
        f"{X}: Forbidden: must populate the given metric source only",
    ),
    (on({}), f"{ON}.describedObject.kind: Required value", f"{ON}.describedObject.name: Required value"),
    (
        on({**SERVICE, "apiVersion": "a/b/c"}),
        f'{ON}.describedObject.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c',
    ),
    (on(**UTILIZATION), f"{ON}.target.averageValue: Required value: must set either a target value or averageValue"),
    (
        metric("Pods", pods={"metric": {"name": "a%b"}, "target": {"type": "AverageValue", "averageValue": 1}}),
        f"{P}.metric.name: Invalid value: \"a%b\": may not contain '%'",
    ),
    (pods(**VALUE), f"{P}.target.averageValue: Required value: must specify a positive target averageValue"),
    (
        pods(type="AverageValue", averageValue="-0.5"),
        f'{P}.target.averageValue: Invalid value: "-500m": must be positive',
    ),
    (external(type="Value", value=0), f'{X}.target.value: Invalid value: "0": must be positive'),
    (external(**VALUE, averageValue="5"), f"{X}.target.value: {EXTERNAL_BOTH}"),
    (
        metric("Resource", resource={"target": UTILIZATION}),
        f"{R}.name: Required value: must specify a resource name",
    ),
    (
        resource(averageUtilization=50),
        f"{R}.target.type: {NO_TARGET_TYPE}",
        f'{R}.target.type: Invalid value: "": {TARGET_TYPES}',
    ),
    (resource(type="Percent", averageUtilization=50), f'{R}.target.type: Invalid value: "Percent": {TARGET_TYPES}'),
    (
        resource(type="Utilization", averageUtilization=0),
        f"{R}.target.averageUtilization: Invalid value: 0: must be greater than 0",
    ),
    (resource(**VALUE), f"{R}.target.averageUtilization: {RESOURCE_ONE}"),
    (resource(**UTILIZATION, averageValue="5"), f"{R}.target.averageValue: {RESOURCE_BOTH}"),
    (container(name=None), f"{C}.name: Required value: must specify a resource name"),
    (container(name="storage"), f'{C}.name: Invalid value: "storage": must be a standard resource for containers'),
    (container(container=""), f"{C}.container: Required value: must specify a container"),
    (container(container="A"), f'{C}.container: Invalid value: "A": a lowercase RFC 1123 label must consist of'),
    (container(target=VALUE), f"{C}.target.averageUtilization: {RESOURCE_ONE}"),
    (
        up(stabilizationWindowSeconds=-1),
        f"{UP}.stabilizationWindowSeconds: Invalid value: -1: must be greater than or equal to zero",
    ),
    (
        up(stabilizationWindowSeconds=3601),
        f"{UP}.stabilizationWindowSeconds: Invalid value: 3601: must be less than or equal to 3600",
    ),
    (
        up(selectPolicy="Most"),
        f'{UP}.selectPolicy: Unsupported value: "Most": supported values: "Disabled", "Max", "Min"',
    ),
    (up(policies=[]), f"{UP}.policies: Required value: must specify at least one Policy"),
    (
        policy(type="MaxPods"),
        f'{UP}.policies[0].type: Unsupported value: "MaxPods": supported values: "Percent", "Pods"',
    ),
    (policy(value=0), f"{UP}.policies[0].value: Invalid value: 0: must be greater than zero"),
    (policy(periodSeconds=0), f"{UP}.policies[0].periodSeconds: Invalid value: 0: must be greater than zero"),
    (
        policy(periodSeconds=1801),
        f"{UP}.policies[0].periodSeconds: Invalid value: 1801: must be less than or equal to 1800",
    ),
    (
        down(tolerance="-0.1"),
        'spec.behavior.scaleDown.tolerance: Invalid value: "-100m": must be greater than or equal to 0',
    ),
    ({**manifest(), "specs": {}}, 'specs: strict decoding error: unknown field "specs"'),
    (manifest(maxReplica=3), 'spec.maxReplica: strict decoding error: unknown field "spec.maxReplica"'),
    (manifest(maxReplicas="3"), f"{HIGH}: {GO} HorizontalPodAutoscalerSpec.spec.maxReplicas of type int32"),
    (
        resource(type="Utilization", averageUtilization="50"),
        f"{R}.target.averageUtilization: {GO} MetricTarget.spec.metrics.resource.target.averageUtilization of type",
    ),
]


@pytest.mark.parametrize(("data", "expected"), [(data, expected) for data, *expected in RULES])
def test_each_rule_has_the_api_servers_text(data, expected):
    """All problems are reported, in its order, and nothing else."""
    assert [text[: len(want)] for text, want in zip(texts(data), expected, strict=True)] == expected


@pytest.mark.parametrize(
    "data",
    [
        manifest(minReplicas=10),
        manifest(minReplicas=0, metrics=[{"type": "External", "external": QUEUE}]),
        to(apiVersion="v1", kind="ReplicationController"),
        to(kind="...", name="a b"),
        resource(type="Value", averageUtilization=5000),
        on(type="Utilization", value="5", averageValue="1"),
        on({"kind": "Service", "name": "s"}),
        metric("Resource", resource={**CPU, "name": "bogus"}),
        metric("External", external={**QUEUE, "metric": {"name": "q", "selector": {"matchLabels": {"!": "/"}}}}),
        container(name="nvidia.com/gpu"),
        policy(type="Percent", value=900),
        up(tolerance="7", stabilizationWindowSeconds=3600),
        down(tolerance=0, selectPolicy="Disabled"),
        {**manifest(), "status": {"currentReplicas": -1}},
    ],
)
def test_what_the_api_server_accepts_is_accepted(data):
    """However odd it is."""
    assert texts(data) == []


@pytest.mark.parametrize(("version", "refused"), [((1, 36), True), ((1, 37), False)])
def test_zero_replicas_came_with_a_version(version, refused):
    """Before that version a hint names it."""
    data = manifest(minReplicas=0, metrics=[{"type": "External", "external": QUEUE}])
    problems = HPA.from_dict(data).problems(version)
    assert bool(problems) is refused
    assert all("1.37" in problem.hint for problem in problems)


@pytest.mark.parametrize(("version", "refused"), [((1, 33), False), ((1, 34), True)])
def test_the_check_of_api_versions_came_with_a_version(version, refused):
    """Before that version any text was accepted."""
    data = on({**SERVICE, "apiVersion": "a/b/c"})
    data["spec"]["scaleTargetRef"] = {**WEB, "apiVersion": "v1"}
    assert len(texts(data, version)) == (2 if refused else 0)


def test_an_update_forgives_what_it_does_not_touch():
    """A stored minReplicas of 0 and a stored apiVersion may stay."""
    old, new = (HPA.from_dict(manifest(minReplicas=0, maxReplicas=n, scaleTargetRef=SERVICE)) for n in (10, 12))
    on_creation, on_update = strictness(new, None, (1, 36)), strictness(new, old, (1, 36))
    assert [p.where[1] for p in spec_problems(new, on_creation)] == ["minReplicas", "scaleTargetRef", "metrics"]
    assert [p.where[1] for p in spec_problems(new, on_update)] == ["metrics"]


def test_an_update_may_describe_objects_as_badly_as_before():
    """But only if the stored object already did."""
    bad, good = (HPA.from_dict(on({**SERVICE, "apiVersion": version})) for version in ("a/b/c", "v1"))
    assert not list(spec_problems(bad, strictness(bad, bad)))
    assert list(spec_problems(bad, strictness(bad, good)))


@pytest.mark.parametrize("target", [{"type": "AverageValue", "averageValue": "5 apples"}, {"type": 3, "value": 1}])
def test_a_value_that_cannot_be_read_is_reported_once(target):
    """Rules that fail only because of it report nothing."""
    (problem,) = HPA.from_dict(external(**target)).problems()
    assert problem.rule in {"quantity", "type"}


@pytest.mark.parametrize(
    ("status", "field"),
    [
        (5, "status"),
        ({"currentReplicas": "1"}, "status.currentReplicas"),
        ({"replicas": 1}, "status.replicas"),
        ({"lastScaleTime": "now"}, "status.lastScaleTime"),
        ({"conditions": [{"type": 1}]}, "status.conditions[0].type"),
        (
            {"currentMetrics": [{"pods": {"current": {"averageValue": "x"}}}]},
            "status.currentMetrics[0].pods.current.aver",
        ),
    ],
)
def test_a_status_is_decoded_even_where_it_will_be_dropped(status, field):
    """As the API server does."""
    (problem,) = HPA.from_dict({**manifest(), "status": status}).problems()
    assert problem.field.startswith(field)
    assert problem.rule in {"type", "unknown-field", "quantity"}


@pytest.mark.parametrize(
    ("selector", "field"),
    [
        ("app=web", ""),
        ({"matchLabel": {}}, ".matchLabel"),
        ({"matchLabels": {"a": 1}}, ".matchLabels.a"),
        ({"matchLabels": []}, ".matchLabels"),
        ({"matchExpressions": [{"key": "a", "values": ["b", 1]}]}, ".matchExpressions[0].values[1]"),
        ({"matchExpressions": ["a"]}, ".matchExpressions[0]"),
    ],
)
def test_a_selector_is_decoded_and_not_checked_any_further(selector, field):
    """Types and fields must be right; operators and labels need not."""
    data = metric("External", external={**QUEUE, "metric": {"name": "q", "selector": selector}})
    (problem,) = HPA.from_dict(data).problems()
    assert problem.field == f"spec.metrics[0].external.metric.selector{field}"
    assert problem.kind == "Decode"


@pytest.mark.parametrize(
    ("data", "field"),
    [
        (manifest(metrics=[None]), "spec.metrics[0].type"),
        (up(policies=[None]), "spec.behavior.scaleUp.policies[0].type"),
    ],
)
def test_a_null_in_a_list_is_an_empty_block(data, field):
    """The empty block is refused for its missing fields."""
    first, *_ = HPA.from_dict(data).problems()
    assert (first.field, first.kind) in {(field, "Required"), (field, "NotSupported")}


@pytest.mark.parametrize(
    ("status", "fields"),
    [
        ({}, []),
        ({"currentReplicas": 0, "desiredReplicas": None, "conditions": None}, []),
        ({"currentReplicas": -1}, ["status.currentReplicas"]),
        ({"desiredReplicas": -1}, ["status.desiredReplicas"]),
        (
            {"conditions": [{"observedGeneration": 1}, {"observedGeneration": -1}, {}]},
            ["status.conditions[1].observedGeneration"],
        ),
    ],
)
def test_a_status_has_no_negative_counts(status, fields):
    """These are the rules for a status update."""
    assert [problem.field for problem in status_problems(status)] == fields


@pytest.mark.parametrize(
    ("scale", "fields"),
    [
        ({}, []),
        ({"spec": {"replicas": 3}}, []),
        ({"spec": {"replicas": -3}}, ["spec.replicas"]),
        ({"metadata": {"managedFields": [{"operation": "Take"}]}}, ["metadata.managedFields[0].operation"]),
    ],
)
def test_a_scale_has_no_negative_count(scale, fields):
    """The operation in managedFields is checked too."""
    assert [problem.field for problem in scale_problems(scale)] == fields
