"""What clients read before they ask for values."""

import json

import pytest

from hypot.kinds.metric_values import CUSTOM, EXTERNAL
from hypot.metricsapi.serve import documents
from hypot.metricsapi.serve.query import GROUPS, read_query, versions_of

EACH = [(group, version) for group in GROUPS for version in versions_of(group)]


def test_the_group():
    """The preferred version is the one that an HPA should read."""
    preferred = {"groupVersion": f"{CUSTOM}/v1beta2", "version": "v1beta2"}
    assert documents.api_group(CUSTOM) == {
        "kind": "APIGroup",
        "apiVersion": "v1",
        "name": CUSTOM,
        "versions": [preferred, {"groupVersion": f"{CUSTOM}/v1beta1", "version": "v1beta1"}],
        "preferredVersion": preferred,
    }


def test_all_groups():
    found = documents.group_list()
    assert (found["kind"], [each["name"] for each in found["groups"]]) == ("APIGroupList", [CUSTOM, EXTERNAL])


def entry(name, *, namespaced=True):
    return {"name": name, "singularName": "", "namespaced": namespaced, "kind": "MetricValueList", "verbs": ["get"]}


@pytest.mark.parametrize(
    ("own", "others", "names"),
    [
        (["a"], [], ["pods/a"]),
        (["a"], [entry("pods/b"), entry("services/a")], ["pods/a", "pods/b", "services/a"]),
        (["a"], [entry("pods/a")], ["pods/a"]),
        ([], [entry("pods/b"), entry("pods/b")], ["pods/b"]),
        ([], [], ["pods/nothing-is-served"]),
        # Entries of one parent have one scope.
        (
            ["a"],
            [entry("pods/b", namespaced=False), entry("namespaces/c", namespaced=False)],
            ["pods/a", "namespaces/c"],
        ),
    ],
)
def test_resources_of_two_servers(own, others, names):
    """Own names come first, and nothing is said only if neither serves anything."""
    found = documents.resource_list(CUSTOM, "v1beta2", own, others)["resources"]
    assert [one["name"] for one in found] == names


def test_resources():
    assert documents.resource_list(CUSTOM, "v1beta2", ["a", "b"]) == {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": f"{CUSTOM}/v1beta2",
        "resources": [
            {"name": name, "singularName": "", "namespaced": True, "kind": "MetricValueList", "verbs": ["get"]}
            for name in ("pods/a", "pods/b")
        ],
    }


def test_external_resources():
    (one,) = documents.resource_list(EXTERNAL, "v1beta1", ["a"])["resources"]
    assert (one["name"], one["kind"], one["namespaced"]) == ("a", "ExternalMetricValueList", True)


@pytest.mark.parametrize(("group", "version"), EACH)
def test_resources_are_never_empty(group, version):
    """Clients take an empty list for a failure of the whole API."""
    assert len(documents.resource_list(group, version, ())["resources"]) == 1


def references(document):
    """All `$ref`s of a document."""
    if isinstance(document, dict):
        for key, value in document.items():
            if key == "$ref":
                yield value
            yield from references(value)
    elif isinstance(document, list):
        for value in document:
            yield from references(value)


def resolved(document, reference):
    found = document
    for part in reference.removeprefix("#/").split("/"):
        found = found[part]
    return found


SCHEMAS = [documents.openapi_v2(), *(documents.openapi_v3(*each) for each in EACH)]


@pytest.mark.parametrize("document", SCHEMAS, ids=["v2", *map("/".join, EACH)])
def test_openapi(document):
    """Every reference leads somewhere, and every path is one that is answered."""
    found = list(references(document))
    assert found
    assert all(resolved(document, each)["type"] == "object" for each in found)
    for path, operations in document["paths"].items():
        assert read_query(path, {}) is not None
        inside = [each["name"] for each in operations["get"]["parameters"] if each["in"] == "path"]
        assert [f"{{{name}}}" for name in inside] == [part for part in path.split("/") if part.startswith("{")]


def test_openapi_v3_root():
    """It lists one document for each version."""
    paths = documents.openapi_v3_root()["paths"]
    assert sorted(paths) == sorted(f"apis/{group}/{version}" for group, version in EACH)
    assert {each["serverRelativeURL"] for each in paths.values()} == {f"/openapi/v3/{path}" for path in paths}


def test_everything_is_json():
    found = [*SCHEMAS, documents.version_info(), documents.group_list(), documents.openapi_v3_root()]
    assert json.loads(json.dumps(found)) == found
