"""Names and metadata as the API server checks them."""

import pytest

from hypot.kinds.names import (
    container_resource,
    dns_label,
    dns_subdomain,
    metadata_problems,
    metadata_update_problems,
    path_segment,
    qualified_name,
)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("web", []),
        ("", []),
        ("a.b", []),
        ("...", []),
        (".", ["may not be '.'"]),
        ("..", ["may not be '..'"]),
        ("a/b", ["may not contain '/'"]),
        ("a%b", ["may not contain '%'"]),
        ("%/", ["may not contain '/'", "may not contain '%'"]),
    ],
)
def test_a_path_segment_has_no_slash_and_no_percent(name, words):
    """One error per character found."""
    assert list(path_segment(name)) == words


@pytest.mark.parametrize(
    ("check", "good", "bad"),
    [
        (dns_label, ["a", "a-b", "1a", "a" * 63], ["", "-a", "a-", "A", "a.b", "a_b", "a\n"]),
        (dns_subdomain, ["a", "a.b", "1.a-b", "a" * 253], ["", ".", "a..b", "a.-b", "A.b", "a.b."]),
        (qualified_name, ["a", "A.b_c-1", "x.io/a", "a" * 63, "x/y"], ["", "/a", "x/", "-a", "X/a", "a/b/c", "a b"]),
    ],
)
def test_names_of_each_kind(check, good, bad):
    """What passes, and what is told."""
    assert [name for name in good if list(check(name))] == []
    assert [name for name in bad if not list(check(name))] == []


@pytest.mark.parametrize(
    ("check", "name", "words"),
    [
        (dns_label, "a" * 64, "must be no more than 63 bytes"),
        (dns_label, "A", "a lowercase RFC 1123 label must consist of"),
        (dns_subdomain, "a" * 254, "must be no more than 253 bytes"),
        (dns_subdomain, "A", "a lowercase RFC 1123 subdomain must consist of"),
        (qualified_name, "a" * 64, "name part must be no more than 63 bytes"),
        (qualified_name, "/a", "prefix part must be non-empty"),
        (qualified_name, "A/a", "prefix part a lowercase RFC 1123 subdomain"),
        (qualified_name, "x/", "name part must be non-empty"),
        (qualified_name, "a b", "name part must consist of alphanumeric characters"),
        (qualified_name, "a/b/c", "a qualified name must consist of alphanumeric characters"),
    ],
)
def test_the_words_are_the_api_servers(check, name, words):
    """People search for them."""
    assert next(iter(check(name))).startswith(words)


STANDARD = "must be a standard resource type or fully qualified"
FOR_CONTAINERS = "must be a standard resource for containers"
EXTENDED = "doesn't follow extended resource name standard"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("cpu", []),
        ("memory", []),
        ("ephemeral-storage", []),
        ("hugepages-2Mi", []),
        ("nvidia.com/gpu", []),
        ("kubernetes.io/anything", []),
        ("requests.kubernetes.io/x", []),
        ("storage", [FOR_CONTAINERS]),
        ("pods", [FOR_CONTAINERS]),
        ("requests.cpu", [FOR_CONTAINERS]),
        ("requests.hugepages-2Mi", [FOR_CONTAINERS]),
        ("gpu", [STANDARD, FOR_CONTAINERS]),
        ("requests.x.com/y", [EXTENDED]),
        (f"{'a' * 250}/y", [EXTENDED]),
    ],
)
def test_a_container_resource_is_standard_or_properly_qualified(name, words):
    """Both questions are asked of a name without a domain."""
    assert list(container_resource(name)) == words


@pytest.mark.parametrize(("name", "last"), [("a b", FOR_CONTAINERS), ("-x.io/a", EXTENDED)])
def test_a_misspelt_container_resource_is_also_no_resource(name, last):
    """The API server says both."""
    first, second = container_resource(name)
    assert "must consist of" in first
    assert second == last


GOOD = {"name": "web", "namespace": "shop", "labels": {"app": "web", "x.io/a": ""}, "annotations": {"X.io/Y": "any\n"}}


@pytest.mark.parametrize("metadata", [GOOD, {"name": "a"}, {"generateName": "a-"}, {"name": "a", "uid": 5}])
def test_good_metadata_has_no_problem(metadata):
    """A namespace may be left to the request."""
    assert list(metadata_problems(metadata)) == []


LONG = {f"{i}.io/a": "x" * 1000 for i in range(300)}


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"name": None}, "metadata.name: Required value: name or generateName is required"),
        ({"name": ""}, "metadata.name: Required value: name or generateName is required"),
        ({"name": "Web"}, 'metadata.name: Invalid value: "Web": a lowercase RFC 1123 subdomain'),
        ({"name": "a" * 254}, f'metadata.name: Invalid value: "{"a" * 254}": must be no more than 253 bytes'),
        ({"generateName": "_"}, 'metadata.generateName: Invalid value: "_": a lowercase RFC 1123 subdomain'),
        ({"namespace": "a.b"}, 'metadata.namespace: Invalid value: "a.b": a lowercase RFC 1123 label'),
        ({"namespace": 3}, "metadata.namespace: json: cannot unmarshal number into Go struct field ObjectMeta"),
        ({"labels": {"a b": ""}}, 'metadata.labels: Invalid value: "a b": name part must consist of'),
        ({"labels": {"a": "b c"}}, 'metadata.labels: Invalid value: "b c": a valid label must be an empty string'),
        ({"labels": {"a": "b" * 64}}, f'metadata.labels: Invalid value: "{"b" * 64}": must be no more than 63 bytes'),
        ({"labels": {"a": 1}}, "metadata.labels.a: json: cannot unmarshal number into Go struct field ObjectMeta"),
        ({"labels": {"a": True}}, "metadata.labels.a: json: cannot unmarshal bool into"),
        ({"labels": []}, "metadata.labels: json: cannot unmarshal array into"),
        ({"labels": "a=b"}, "metadata.labels: json: cannot unmarshal string into"),
        ({"annotations": {"a b": ""}}, 'metadata.annotations: Invalid value: "a b": name part must consist of'),
        ({"annotations": {"a": 1}}, "metadata.annotations.a: json: cannot unmarshal number into"),
        ({"annotations": LONG}, "metadata.annotations: Too long: may not be more than 262144 bytes"),
        ({"managedFields": [{}]}, 'metadata.managedFields[0].operation: Unsupported value: "": supported values: "App'),
        ({"managedFields": [{"operation": ["Apply"]}]}, "metadata.managedFields[0].operation: Unsupported value"),
    ],
)
def test_bad_metadata_is_told_where_it_stands(changes, text):
    """One fault, one error."""
    texts = [str(problem) for problem in metadata_problems({**GOOD, **changes})]
    assert [t[: len(text)] for t in texts] == [text]


@pytest.mark.parametrize("namespace", [None, ""])
def test_a_namespace_can_be_required(namespace):
    """As it is for an object that stands in the cluster."""
    (problem,) = metadata_problems({"name": "a", "namespace": namespace}, namespace_required=True)
    assert str(problem) == "metadata.namespace: Required value"


STORED = {**GOOD, "resourceVersion": "7", "uid": "u", "generation": 2, "creationTimestamp": "2026-01-01T00:00:00Z"}


@pytest.mark.parametrize("changes", [{}, {"resourceVersion": "8"}, {"generation": 3}, {"labels": {}}])
def test_an_update_may_change_labels_and_go_on(changes):
    """What the API server takes."""
    assert list(metadata_update_problems({**STORED, **changes}, STORED)) == []


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"resourceVersion": ""}, 'metadata.resourceVersion: Invalid value: "": must be specified for an update'),
        ({"generation": 1}, "metadata.generation: Invalid value: 1: must not be decremented"),
        ({"name": "other"}, 'metadata.name: Invalid value: "other": field is immutable'),
        ({"namespace": "other"}, 'metadata.namespace: Invalid value: "other": field is immutable'),
        ({"uid": "v"}, 'metadata.uid: Invalid value: "v": field is immutable'),
        ({"creationTimestamp": None}, 'metadata.creationTimestamp: Invalid value: "": field is immutable'),
        ({"labels": {"a": "b c"}}, 'metadata.labels: Invalid value: "b c": a valid label must be'),
        ({"managedFields": [{}]}, "metadata.managedFields[0].operation: Unsupported value"),
    ],
)
def test_an_update_may_not_become_another_object(changes, text):
    """What the API server refuses."""
    (problem,) = metadata_update_problems({**STORED, **changes}, STORED)
    assert str(problem).startswith(text)
