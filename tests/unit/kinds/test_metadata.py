"""Object metadata as the API server checks it."""

import pytest

from hypot.kinds.metadata import metadata_problems, metadata_update_problems

GOOD = {"name": "web", "namespace": "shop", "labels": {"app": "web", "x.io/a": ""}, "annotations": {"X.io/Y": "any\n"}}


@pytest.mark.parametrize("metadata", [GOOD, {"name": "a"}, {"generateName": "a-"}, {"name": "a", "uid": "5"}])
def test_good_metadata_has_no_problem(metadata):
    """The namespace may come from the request."""
    assert list(metadata_problems(metadata)) == []


BOTH = ["orphan", "foregroundDeletion"]
OWNER = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "1"}
EVENT = {**OWNER, "apiVersion": "v1", "kind": "Event"}
CONTROLLER = {**OWNER, "controller": True}
OTHER = {**CONTROLLER, "name": "other"}
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
        ({"labels": {1: "a"}}, "metadata.labels: the key 1 is not text"),
        ({"annotations": {None: "a"}}, "metadata.annotations: the key null is not text"),
        ({"labels": []}, "metadata.labels: json: cannot unmarshal array into"),
        ({"labels": "a=b"}, "metadata.labels: json: cannot unmarshal string into"),
        ({"annotations": {"a b": ""}}, 'metadata.annotations: Invalid value: "a b": name part must consist of'),
        ({"annotations": {"a": 1}}, "metadata.annotations.a: json: cannot unmarshal number into"),
        ({"annotations": LONG}, "metadata.annotations: Too long: may not be more than 262144 bytes"),
        (
            {"annotations": {"a": "\u00e4" * 131072}},
            "metadata.annotations: Too long: may not be more than 262144 bytes",
        ),
        ({"labels": {"a": "\u00e4" * 32}}, 'metadata.labels: Invalid value: "\u00e4'),
        ({"generation": -1}, "metadata.generation: Invalid value: -1: must be greater than or equal to 0"),
        ({"generation": 1.5}, "metadata.generation: json: cannot unmarshal number 1.5 into Go struct field ObjectMeta"),
        (
            {"creationTimestamp": 5},
            "metadata.creationTimestamp: json: cannot unmarshal number into Go struct field Obj",
        ),
        ({"uid": 5}, "metadata.uid: json: cannot unmarshal number into Go struct field ObjectMeta.metadata.uid of typ"),
        ({"creationTimestamp": "now"}, 'metadata.creationTimestamp: parsing time "now" as "2006-01'),
        ({"finalizers": [5]}, "metadata.finalizers[0]: json: cannot unmarshal number into Go struct field ObjectMeta"),
        ({"finalizers": ["a b"]}, 'metadata.finalizers: Invalid value: "a b": name part must consist of'),
        ({"finalizers": BOTH}, "metadata.finalizers: Invalid value: ["),
        ({"ownerReferences": [{**OWNER, "uid": None}]}, 'metadata.ownerReferences.uid: Invalid value: "": must not be'),
        ({"ownerReferences": [{**OWNER, "uid": 5}]}, "metadata.ownerReferences[0].uid: json: cannot unmarshal number"),
        (
            {"ownerReferences": [{**OWNER, "x": 5}]},
            "metadata.ownerReferences[0].x: strict decoding error: unknown field",
        ),
        ({"ownerReferences": [{**OWNER, "apiVersion": "a/b/c"}]}, "metadata.ownerReferences.apiVersion: Invalid value"),
        ({"ownerReferences": [{**OWNER, "apiVersion": "apps/"}]}, "metadata.ownerReferences.apiVersion: Invalid value"),
        ({"ownerReferences": [EVENT]}, 'metadata.ownerReferences: Invalid value: "web": /v1, Kind=Event is disallowed'),
        ({"ownerReferences": [CONTROLLER, OTHER]}, "metadata.ownerReferences: Invalid value: "),
        ({"managedFields": [{"operation": ["Apply"]}]}, "metadata.managedFields[0].operation: json: cannot unmarshal"),
    ],
)
def test_bad_metadata_is_reported_at_its_field(changes, text):
    """One fault gives errors for one field."""
    (problem, *more) = metadata_problems({**GOOD, **changes}, built_in="generation" in changes)
    assert str(problem)[: len(text)] == text
    assert {other.field for other in more} <= {problem.field}


@pytest.mark.parametrize(
    "changes",
    [
        {"managedFields": [{}, None]},
        {"labels": {"a": None}, "annotations": None, "finalizers": ["example.com/a", "anything"]},
        {"ownerReferences": [CONTROLLER, OWNER, CONTROLLER], "creationTimestamp": "2024-02-29T9:30:00,5+24:00"},
    ],
)
def test_odd_metadata_is_accepted_as_by_the_api_server(changes):
    """Null is an empty text, and what the API server ignores is not checked."""
    assert list(metadata_problems({**GOOD, **changes})) == []


def test_a_built_in_kind_has_finalizers_of_known_names():
    """A custom resource may have any finalizer."""
    (problem,) = metadata_problems({**GOOD, "finalizers": ["kubernetes", "a.b/c", "mine"]}, built_in=True)
    assert problem.field == "metadata.finalizers[2]"


@pytest.mark.parametrize(
    ("beginning", "fields"),
    [
        ("web-", []),
        ("a--", []),
        ("W-", ["metadata.name"]),
        ("Web-", ["metadata.generateName", "metadata.name"]),
        ("a.-", ["metadata.name"]),
        ("Web", ["metadata.generateName", "metadata.name"]),
        ("-", ["metadata.generateName", "metadata.name"]),
        ("a" * 254, ["metadata.generateName"]),
    ],
)
def test_a_generated_name_is_checked_with_its_beginning(beginning, fields):
    """The end is random, and a trailing dash of the prefix is ignored."""
    assert [problem.field for problem in metadata_problems({"generateName": beginning})] == fields


@pytest.mark.parametrize(
    ("time", "right"),
    [
        ("2026-03-02T09:30:00Z", True),
        ("2026-03-02T9:30:00.123-07:30", True),
        ("0000-02-29T00:00:00Z", True),
        ("2026-03-02T09:30:00+24:60", True),
        ("2026-02-29T00:00:00Z", False),
        ("2026-13-01T00:00:00Z", False),
        ("2026-03-02T24:00:00Z", False),
        ("2026-03-02T09:30:60Z", False),
        ("2026-03-02T09:30:00+25:00", False),
        ("2026-03-02t09:30:00z", False),
        ("2026-03-02", False),
        ("", False),
        (5, False),
    ],
)
def test_times_are_those_of_go(time, right):
    """They are a little more than RFC 3339."""
    assert (not list(metadata_problems({**GOOD, "creationTimestamp": time}))) is right


@pytest.mark.parametrize("namespace", [None, ""])
def test_a_namespace_can_be_required(namespace):
    """As it is for an object in the cluster."""
    (problem,) = metadata_problems({"name": "a", "namespace": namespace}, namespace_required=True)
    assert str(problem) == "metadata.namespace: Required value"


STORED = {**GOOD, "resourceVersion": "7", "uid": "u", "generation": 2, "creationTimestamp": "2026-01-01T00:00:00Z"}


@pytest.mark.parametrize("changes", [{}, {"resourceVersion": "8"}, {"generation": 3}, {"labels": {}}])
def test_an_update_may_change_labels(changes):
    """The API server accepts these changes."""
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
    """The API server refuses these changes."""
    (problem,) = metadata_update_problems({**STORED, **changes}, STORED)
    assert str(problem).startswith(text)


def test_the_generation_of_a_custom_resource_is_not_checked():
    """It is set again, whatever was written; a built-in kind refuses a negative one."""
    assert list(metadata_problems({"name": "web", "generation": -1})) == []
