"""What holds for every autoscaler, written or read, valid or broken."""

import copy
import json
import string

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from hypot.kinds import wpa
from hypot.kinds.base import InvalidAutoscaler, Ref
from hypot.kinds.hpa import HPA
from hypot.kinds.hpa.defaults import stored, with_defaults
from hypot.kinds.hpa.fields import ScalingRules, cpu, external, limit, memory, on, pods
from hypot.kinds.problem import dotted
from hypot.kinds.values.version import NEWEST, OLDEST
from hypot.kinds.wpa import WPA
from hypot.kinds.wpa.fields import Recommender, WatermarkRules, band, resource_band

versions = st.tuples(st.just(1), st.integers(OLDEST[1], NEWEST[1]))

# Authored values: everything that the constructors accept.

names = st.text(string.ascii_lowercase + string.digits, min_size=1, max_size=8)
labels = st.none() | st.dictionaries(names, names, max_size=2)
percents = st.integers(1, 200)
amounts = st.sampled_from(["5m", "1", "0.05", "512Mi", "1.5Gi", "1e3", 7, 47.2])
containers = st.none() | names
metrics = st.one_of(
    st.builds(cpu, utilization=percents, container=containers),
    st.builds(memory, average=amounts, container=containers),
    st.builds(pods, names, average=amounts, labels=labels),
    st.builds(on, st.builds(Ref, st.just("v1"), st.just("Service"), names), names, value=amounts, labels=labels),
    st.builds(external, names, value=amounts, labels=labels),
    st.builds(external, names, average=amounts, labels=labels),
)
periods = st.integers(1, 1800) | st.sampled_from(["15s", "1m", "30m"])
limits = st.builds(limit, pods=st.integers(1, 99), per=periods) | st.builds(limit, percent=percents, per=periods)
paces = st.builds(
    ScalingRules,
    st.none() | st.lists(limits, min_size=1, max_size=2),
    window=st.none() | st.integers(0, 3600),
    select=st.sampled_from([None, "Max", "Min", "Disabled"]),
    tolerance=st.none() | amounts,
)
targets = st.builds("{}/{}".format, st.sampled_from(["deployment", "sts", "rollout", "rc"]), names)
hpas = st.builds(
    HPA,
    targets,
    max_replicas=st.integers(20, 99),
    min_replicas=st.none() | st.integers(1, 20),
    metrics=st.none() | st.lists(metrics, max_size=3),
    scale_up=st.none() | paces,
    scale_down=st.none() | paces,
    namespace=st.none() | names,
    labels=labels,
)
whole_amounts = st.sampled_from(["5m", "1", "0.05", "512Mi", 7])
marks = st.fixed_dictionaries({"high": st.sampled_from(["9Gi", "1Ti"]), "low": st.none() | whole_amounts})
bands = st.sampled_from([band, resource_band]).flatmap(
    lambda make: st.builds(lambda name, both, labels: make(name, **both, labels=labels), names, marks, labels)
)
steps = st.builds(
    WatermarkRules, whole_amounts | st.none(), st.none() | st.integers(1, 99), st.none() | st.integers(0, 99)
)
recommenders = st.builds(
    lambda both, settings: Recommender("https://a/", settings=settings, high=both["high"], low=both["low"] or 1),
    marks,
    labels,
)
measures = st.fixed_dictionaries({"metrics": st.lists(bands, min_size=1, max_size=3)}) | st.fixed_dictionaries(
    {"recommender": recommenders}
)
wpas = st.builds(
    lambda target, measure, **rest: WPA(target, **measure, **rest),
    targets,
    measures,
    max_replicas=st.integers(20, 99),
    min_replicas=st.none() | st.integers(1, 20),
    algorithm=st.sampled_from([None, "absolute", "average"]),
    tolerance=st.sampled_from([None, 0, "0.01", "50m", 1]),
    scale_up=st.none() | steps.filter(lambda step: step.percent != "512Mi"),
    scale_down=st.none() | steps.filter(lambda step: step.percent != "512Mi"),
    dry_run=st.none() | st.booleans(),
    converge=st.sampled_from([None, "highwatermark", "lowwatermark"]),
)
authored = hpas | wpas

# Junk: anything a YAML or JSON file can hold, in place of, or next to, anything in a manifest.

junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8) | st.integers(), inner, max_size=3),
    max_leaves=5,
)
API_VERSIONS = [f"autoscaling/{version}" for version in ("v1", "v2", "v2beta1", "v2beta2")]


def places(value, where=()):
    """Every path in a manifest, except the root."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield (*where, key)
        yield from places(inner, (*where, key))


def put(data, where, value):
    """A deep copy with another value at a path."""
    data = copy.deepcopy(data)
    here = data
    for part in where[:-1]:
        here = here[part]
    here[where[-1]] = value
    return data


def look(data, where):
    for part in where:
        data = data[part]
    return data


# Within these any text is allowed.
FREE = {"selector", "metricSelector", "settings"}


def typed_places(data):
    """The paths in the spec that have a known type."""
    return [where for where in places(data) if where[0] == "spec" and where[1:] and not FREE & set(where[:-1])]


@st.composite
def broken(draw):
    """The kind, and a manifest with up to three pieces of junk."""
    made = draw(authored)
    data = made.to_dict()
    for _ in range(draw(st.integers(1, 3))):
        where = draw(st.sampled_from(list(places(data))))
        if isinstance(look(data, where), dict) and draw(st.booleans()):
            where = (*where, draw(st.text(max_size=8) | st.integers()))
        data = put(data, where, draw(junk))
    if isinstance(made, HPA):
        data["apiVersion"] = draw(st.sampled_from(API_VERSIONS))
    return type(made), data


def without_nulls(value):
    if isinstance(value, dict):
        return {key: without_nulls(inner) for key, inner in value.items() if inner is not None}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value


@given(
    st.sampled_from([HPA, WPA]), st.dictionaries(st.text(max_size=8), junk), st.dictionaries(st.text(max_size=8), junk)
)
def test_any_mapping_is_written_as_it_was_read(kind, top, spec):
    """Except for nulls, the version, and the parts that every object has."""
    data = {**top, "apiVersion": kind.API_VERSION, "kind": kind.KIND, "metadata": top, "spec": spec}
    assert without_nulls(kind.from_dict(data).to_dict()) == without_nulls(data)


@given(broken())
def test_a_broken_manifest_is_written_as_it_was_read(kind_and_data):
    """This also holds where the junk replaces a known field."""
    kind, data = kind_and_data
    data["apiVersion"], data["kind"] = kind.API_VERSION, kind.KIND
    expected = {"metadata": {}, "spec": {}, **without_nulls(data)}
    assert {"spec": {}, **without_nulls(kind.from_dict(data).to_dict())} == expected


@settings(max_examples=500)
@given(broken(), versions)
def test_problems_never_raise(kind_and_data, version):
    """Anything may be anywhere in a manifest of any version."""
    kind, data = kind_and_data
    for problem in kind.from_dict(data).problems(version):
        assert str(problem)
        assert problem.path
        json.dumps(problem.to_dict())


@given(authored)
def test_what_constructors_accept_is_valid(made):
    """The constructors accept nothing else."""
    assert made.problems() == ()


@given(authored)
def test_what_was_written_can_be_read(made):
    """It is the same value after JSON."""
    assert type(made).from_dict(json.loads(json.dumps(made.to_dict()))) == made


@given(hpas, versions)
def test_completing_twice_changes_nothing(hpa, version):
    """A complete object is returned as it is."""
    complete = with_defaults(hpa, version)
    assert with_defaults(complete, version) is complete
    assert complete.problems() == ()


@given(hpas, versions)
def test_storing_twice_changes_nothing(hpa, version):
    """What the cluster stores does not change when it is written again."""
    held = stored(hpa, version)
    assert stored(held, version) == held
    assert HPA.from_dict(held.to_dict()) == held


@given(wpas)
def test_completing_a_wpa_twice_changes_nothing(made):
    """A complete object is returned as it is."""
    complete = wpa.with_defaults(made)
    assert wpa.with_defaults(complete) is complete
    assert complete.problems() == ()


@given(authored, st.data())
def test_a_value_of_the_wrong_type_is_reported_at_its_path(made, data):
    """This holds for every place in the spec."""
    manifest = made.to_dict()
    where = data.draw(st.sampled_from(typed_places(manifest)))
    wrong = "x y" if isinstance(look(manifest, where), dict | list) else data.draw(st.sampled_from([[], {}, ["x"]]))
    found = {problem.field: problem.rule for problem in type(made).from_dict(put(manifest, where, wrong)).problems()}
    assert found[dotted(where)] in {"type", "quantity"}


@given(authored, st.data(), st.text(string.ascii_letters, min_size=1, max_size=8).map("x-{}".format))
def test_an_unknown_key_is_reported_at_its_path(made, data, key):
    """This holds for every place in the spec."""
    manifest = made.to_dict()
    blocks = [
        where for where in typed_places(manifest) if isinstance(look(manifest, where), dict) and where[-1] not in FREE
    ]
    where = (*data.draw(st.sampled_from([("spec",), *blocks])), key)
    (problem,) = type(made).from_dict(put(manifest, where, 1)).problems()
    assert (problem.rule, problem.field) == ("unknown-field", dotted(where))


FAULTS = {
    "minReplicas": [-1, 100],
    "maxReplicas": [0, -1],
    "kind": ["", "a/b", ".."],
    "name": [""],
    "apiVersion": ["a/b/c"],
    "type": ["", "Other"],
    "averageUtilization": [0, -1],
    "averageValue": ["0", -1],
    "value": [0, -1],
    "periodSeconds": [0, 1801],
    "stabilizationWindowSeconds": [-1, 3601],
    "selectPolicy": ["", "Most"],
    "policies": [[]],
    "tolerance": ["-0.1"],
    "container": ["", "A", "a.b"],
    "metricName": [""],
    "metricSelector": [None],
    "highWatermark": [0, "-1"],
    "lowWatermark": [-1],
    "url": ["", "ftp://x"],
    "algorithm": ["", "mean"],
    "convergeTowardsWatermark": ["middle"],
    "scaleUpLimitFactor": [-1],
    "scaleDownLimitFactor": [-1, 100],
    "upscaleForbiddenWindowSeconds": [0],
    "downscaleForbiddenWindowSeconds": [0],
    "upscaleDelayAboveWatermarkSeconds": [-1],
    "downscaleDelayBelowWatermarkSeconds": [-1],
}


# Its names are not checked for characters that a request path cannot hold.
TAKEN_BY_A_WPA = ("a/b", "..")


def fault_reported_at(where, value):
    """The path of the reported fault; a lower bound above the upper is reported at the upper."""
    return (*where[:-1], "maxReplicas") if where[-1] == "minReplicas" and value == 100 else where


@settings(max_examples=300)
@given(authored, st.data())
def test_a_single_fault_is_reported_at_its_path(made, data):
    """The object cannot be created that way either."""
    manifest = made.to_dict()
    faulty = [where for where in typed_places(manifest) if where[-1] in FAULTS]
    where = data.draw(st.sampled_from(faulty))
    value = data.draw(st.sampled_from(FAULTS[where[-1]]))
    assume(not (isinstance(made, WPA) and value in TAKEN_BY_A_WPA))
    again = type(made).from_dict(put(manifest, where, value))
    fields = {problem.field for problem in again.problems()}
    assert dotted(fault_reported_at(where, value)) in fields
    with pytest.raises(InvalidAutoscaler):
        again.raise_if_refused()
