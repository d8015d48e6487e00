"""The part of a new pod that sizing needs; what is too large for a webhook stays as it is."""

import json
import tracemalloc

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hypot.policy.observe.read_pods import read_pod
from hypot.policy.vertical.need import OBSERVED_CONTAINERS
from hypot.run.webhook.admission import LARGEST_BODY, review
from hypot.run.webhook.new_pod import MOST_CONTAINERS, MOST_READ, SIZED_BY, LargePodError, read_new_pod
from unit.policy.sizes_world import box
from unit.run.webhook.admission_world import TWO, pod, request


def read(document):
    return read_new_pod(msgspec.Raw(json.dumps(document).encode()))


def with_metadata(**metadata):
    made = pod()
    return {**made, "metadata": {**made["metadata"], **metadata}}


def test_what_sizing_needs_is_read():
    """Everything else is left out."""
    owners = [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-5d9c", "controller": True, "uid": "u"}]
    sidecar = {**box(), "name": "proxy", "restartPolicy": "Always"}
    made = with_metadata(
        ownerReferences=owners, annotations={SIZED_BY: "Hvpa/web", OBSERVED_CONTAINERS: "app", "other": "x"}
    )
    made["spec"] |= {"initContainers": [sidecar], "overhead": {"cpu": "1"}, "volumes": [{"name": "tmp"}]}
    made["spec"]["containers"][0] |= {"env": [{"name": "A", "value": "b"}], "resizePolicy": []}
    found = read(made)
    assert found["metadata"] == {
        "generateName": "web-5d9c-",
        "labels": {"app": "web"},
        "ownerReferences": owners,
        "annotations": {SIZED_BY: "Hvpa/web", OBSERVED_CONTAINERS: "app"},
    }
    assert found["spec"].keys() == {"containers", "initContainers", "overhead"}
    assert found["spec"]["containers"][0].keys() == {"name", "resources", "resizePolicy"}
    assert found["spec"]["initContainers"] == [
        {key: sidecar[key] for key in ("name", "resources", "restartPolicy") if key in sidecar}
    ]


@given(
    st.lists(
        st.fixed_dictionaries(
            {"name": st.text(max_size=5)},
            optional={
                "resources": st.dictionaries(
                    st.sampled_from(["requests", "limits"]),
                    st.dictionaries(st.sampled_from(["cpu", "memory"]), st.sampled_from(["1", "250m", "1Gi", "x"])),
                ),
                "restartPolicy": st.sampled_from(["Always", "Never"]),
                "env": st.lists(st.text(max_size=3), max_size=2),
            },
        ),
        max_size=4,
    ),
    st.dictionaries(st.text(max_size=4), st.text(max_size=4), max_size=3),
)
def test_the_rest_makes_no_difference(containers, labels):
    """The pod is the same as one that was decoded as a whole."""
    made = with_metadata(labels=labels)
    made["spec"] = {"containers": containers, "initContainers": containers}
    assert read_pod(read(made)) == read_pod(made)


@pytest.mark.parametrize("spec", [{}, {"containers": None}, {"containers": []}])
def test_a_pod_without_containers(spec):
    """The API server refuses it later."""
    assert read({"metadata": {}, "spec": spec})["spec"]["containers"] == []


@pytest.mark.parametrize("document", [None, [], "x", {"spec": 1}, {"spec": {"containers": [1]}}, {"metadata": []}])
def test_what_is_no_pod_is_an_error(document):
    with pytest.raises(msgspec.DecodeError):
        read(document)


LARGE = {
    "containers": pod(*({"name": f"c{number}"} for number in range(MOST_CONTAINERS + 1))),
    "init containers": pod(initContainers=[{"name": f"c{number}"} for number in range(MOST_CONTAINERS)]),
    "labels": with_metadata(labels={"a": "x" * MOST_READ}),
    "owners": with_metadata(ownerReferences=[{"name": "x" * MOST_READ}]),
    "resources": pod({**box(), "resources": {"requests": {"x" * MOST_READ: "1"}}}),
}


@pytest.mark.parametrize("document", LARGE.values(), ids=LARGE)
def test_a_pod_that_is_too_large_stays_as_it_is(document):
    """The result says why; nothing of it is decoded."""
    with pytest.raises(LargePodError):
        read(document)
    done = review(json.dumps(request(document)).encode(), lambda *_: TWO, lambda _: ())
    assert not done.patched
    assert json.loads(done.body)["response"].keys() == {"uid", "allowed"}
    assert "more than" in done.error


@pytest.mark.parametrize("count", [MOST_CONTAINERS, MOST_CONTAINERS + 1])
def test_only_containers_are_counted(count):
    """Brackets, commas and lists inside of a container do not count."""
    made = pod(*({"name": "],[,{", "args": [[], {}, "]"]} for _ in range(count)))
    if count > MOST_CONTAINERS:
        with pytest.raises(LargePodError):
            read(made)
    else:
        assert [each["name"] for each in read(made)["spec"]["containers"]] == ["],[,{"] * count


def filled(head, unit, tail):
    """A body of the largest size with this unit again and again."""
    return head + b",".join([unit] * ((LARGEST_BODY - len(head) - len(tail)) // (len(unit) + 1))) + tail


def spec_of(part):
    head, tail = json.dumps(request({"metadata": {}, "spec": {part: ["HERE"]}})).encode().split(b'"HERE"')
    return head, tail


MANY = {
    f"{part} {unit.decode()}": filled(spec_of(part)[0], unit, spec_of(part)[1])
    for part in ("containers", "initContainers")
    for unit in (b"0", b"{}", b'{"name":"c"}')
}


@pytest.mark.parametrize("body", MANY.values(), ids=MANY)
def test_no_object_is_made_for_each_part_of_a_large_review(body):
    """A million objects would take a hundred times this memory, and block all other reviews while they are made."""
    tracemalloc.start()
    try:
        done = review(body, lambda *_: TWO, lambda _: ())
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert not done.patched
    assert peak < 1 << 20


def test_a_large_part_that_is_not_needed_does_no_harm():
    """Annotations and environments may be as large as the API server allows."""
    made = with_metadata(annotations={"notes": "x" * (LARGEST_BODY // 3)})
    made["spec"]["containers"][0]["env"] = [{"name": "A", "value": "x" * (LARGEST_BODY // 3)}]
    assert review(json.dumps(request(made)).encode(), lambda *_: TWO, lambda _: ()).patched
