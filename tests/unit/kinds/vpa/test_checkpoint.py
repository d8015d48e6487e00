"""VerticalPodAutoscalerCheckpoints: writing, reading and checking them."""

import json

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hypot.kinds.base import InvalidAutoscaler
from hypot.kinds.catalogue import crd_of
from hypot.kinds.vpa.checkpoint import Checkpoint, CheckpointStatus, HistogramCheckpoint

NOON = "2026-03-02T12:00:00Z"
STATUS = {
    "lastUpdateTime": NOON,
    "version": "v3",
    "cpuHistogram": {"referenceTimestamp": NOON, "bucketWeights": {"0": 10000, "3": 250}, "totalWeight": 12.5},
    "memoryHistogram": {"referenceTimestamp": NOON, "bucketWeights": {"41": 10000}, "totalWeight": 2},
    "firstSampleStart": NOON,
    "lastSampleStart": NOON,
    "totalSamplesCount": 100,
}
MANIFEST = {
    "apiVersion": "autoscaling.k8s.io/v1",
    "kind": "VerticalPodAutoscalerCheckpoint",
    "metadata": {"name": "web-app", "namespace": "shop"},
    "spec": {"vpaObjectName": "web", "containerName": "app"},
    "status": STATUS,
}


def saved(**changes):
    return {**MANIFEST, "status": {**STATUS, **changes}}


def cpu(**changes):
    return saved(cpuHistogram={**STATUS["cpuHistogram"], **changes})


def test_it_is_written_as_upstream_writes_it():
    """The name has the autoscaler and the container, and the state is in the status."""
    state = CheckpointStatus(
        updated=NOON,
        version="v3",
        cpu=HistogramCheckpoint(NOON, {"0": 10000, "3": 250}, 12.5),
        memory=HistogramCheckpoint(NOON, {"41": 10000}, 2),
        first_sample=NOON,
        last_sample=NOON,
        samples=100,
    )
    checkpoint = Checkpoint("web", "app", saved=state, namespace="shop")
    assert checkpoint.to_dict() == MANIFEST
    assert checkpoint.saved == state
    assert Checkpoint.from_dict(json.loads(json.dumps(MANIFEST))) == checkpoint
    assert checkpoint.problems() == ()


def test_an_author_s_mistake_is_refused_at_once():
    """The error has the field that the author wrote."""
    with pytest.raises(InvalidAutoscaler) as raised:
        Checkpoint("web", "")
    assert [problem.path for problem in raised.value.problems] == ["name", "container"]
    with pytest.raises(InvalidAutoscaler):
        Checkpoint("web", "app", saved=CheckpointStatus(samples="many"))


@pytest.mark.parametrize(
    ("data", "rule", "field"),
    [
        ({**MANIFEST, "spec": {"containerName": "app"}}, "checkpoint-subject", "spec.vpaObjectName"),
        ({**MANIFEST, "spec": {"vpaObjectName": "web"}}, "checkpoint-subject", "spec.containerName"),
        ({**MANIFEST, "spec": {**MANIFEST["spec"], "pod": "x"}}, "unknown-field", "spec.pod"),
        ({**MANIFEST, "apiVersion": "autoscaling.k8s.io/v1beta2"}, "old-api-version", "apiVersion"),
        (saved(version="v2"), "checkpoint-ignored", "status.version"),
        (saved(version=None), "checkpoint-ignored", "status.version"),
        (cpu(totalWeight=-1), "checkpoint-ignored", "status.cpuHistogram.totalWeight"),
        (cpu(bucketWeights={"x": 1}), "checkpoint-ignored", "status.cpuHistogram.bucketWeights.x"),
        (cpu(bucketWeights={"1": -1}), "checkpoint-ignored", "status.cpuHistogram.bucketWeights.1"),
        (cpu(bucketWeights={"1": "1"}), "type", "status.cpuHistogram.bucketWeights.1"),
        (cpu(referenceTimestamp="noon"), "type", "status.cpuHistogram.referenceTimestamp"),
        (saved(totalSamplesCount=1.5), "type", "status.totalSamplesCount"),
        ({**MANIFEST, "status": []}, "type", "status"),
    ],
)
def test_problems_are_reported(data, rule, field):
    """Each problem is reported at its field."""
    assert (rule, field) in {(problem.rule, problem.field) for problem in Checkpoint.from_dict(data).problems()}


@pytest.mark.parametrize("data", [MANIFEST, saved(another="field"), cpu(referenceTimestamp=None, totalWeight=0)])
def test_what_works_is_accepted(data):
    """Also a histogram without a sample, and fields of other versions."""
    assert Checkpoint.from_dict(data).problems() == ()


def test_the_definition_keeps_spec_and_status_as_one():
    """Recommenders write the whole object; with a status subresource the status would be dropped."""
    crd = crd_of(Checkpoint)
    version = crd["spec"]["versions"][0]
    assert crd["metadata"]["name"] == "verticalpodautoscalercheckpoints.autoscaling.k8s.io"
    assert crd["metadata"]["annotations"]["api-approved.kubernetes.io"].startswith("https://")
    assert crd["spec"]["names"]["shortNames"] == ["vpacheckpoint"]
    assert "subresources" not in version
    jsonschema.validate(MANIFEST, version["schema"]["openAPIV3Schema"])


junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8) | st.integers(), inner, max_size=3),
    max_leaves=5,
)


@given(st.sampled_from(["metadata", "spec", "status"]), st.sampled_from([None, *STATUS, *MANIFEST["spec"]]), junk)
def test_nothing_in_a_manifest_makes_reading_fail(part, key, value):
    """Any value at any place can be read."""
    data = {**MANIFEST, part: value if key is None else {**MANIFEST[part], key: value}}
    checkpoint = Checkpoint.from_dict(data)
    assert all(str(problem) and problem.path for problem in checkpoint.problems())
    assert not any(checkpoint.saved.misfits())


@given(junk)
def test_no_histogram_makes_reading_fail(value):
    """Any value for its fields can be read."""
    for key in ("bucketWeights", "totalWeight", "referenceTimestamp"):
        assert Checkpoint.from_dict(cpu(**{key: value})).saved.cpu.sound()
