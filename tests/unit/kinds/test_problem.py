"""Problems: the API server's texts, Kubernetes paths, and a form for machines."""

import json

import pytest

from hypot.kinds.problem import Problem, dotted, shown, unsupported

HERE = ("spec", "maxReplicas")


@pytest.mark.parametrize(
    ("problem", "text"),
    [
        (Problem("r", "Required", HERE, "must be set"), "spec.maxReplicas: Required value: must be set"),
        (Problem("r", "Required", HERE, ""), "spec.maxReplicas: Required value"),
        (Problem("r", "Invalid", HERE, "must be positive", 0), "spec.maxReplicas: Invalid value: 0: must be positive"),
        (Problem("r", "Invalid", HERE, "is odd", "x"), 'spec.maxReplicas: Invalid value: "x": is odd'),
        (Problem("r", "NotSupported", HERE, "hm", "é"), 'spec.maxReplicas: Unsupported value: "é": hm'),
        (Problem("r", "Forbidden", HERE, "may not", 3), "spec.maxReplicas: Forbidden: may not"),
        (Problem("r", "Duplicate", HERE, "", "a"), 'spec.maxReplicas: Duplicate value: "a"'),
        (Problem("r", "TooLong", HERE, "at most 9", "a"), "spec.maxReplicas: Too long: at most 9"),
        (Problem("r", "Decode", HERE, "json: no", "a"), "spec.maxReplicas: json: no"),
    ],
)
def test_it_reads_like_the_api_server(problem, text):
    """Path, kind, the value where the API server shows it, message."""
    assert str(problem) == text


@pytest.mark.parametrize(
    ("where", "text"),
    [
        ((), ""),
        (("spec",), "spec"),
        (("spec", "metrics", 0, "type"), "spec.metrics[0].type"),
        (("spec", "metrics", 0, 1), "spec.metrics[0][1]"),
    ],
)
def test_a_path_is_dotted_with_indices_in_brackets(where, text):
    """As in kubectl's messages."""
    assert dotted(where) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "null"), (True, "true"), (70.0, "70.0"), ("a", '"a"'), ([1], "[1]"), ({"a": {}}, '{"a": {}}')],
)
def test_a_value_is_shown_as_json(value, text):
    """As it was in the manifest."""
    assert shown(value) == text


def test_a_value_that_json_does_not_know_is_shown_as_python_prints_it():
    """Showing a value never fails."""
    assert shown({1}) == '"{1}"'


def test_supported_values_are_listed_in_order():
    """The API server sorts them."""
    assert unsupported(("Pods", "Percent")) == 'supported values: "Percent", "Pods"'


@pytest.mark.parametrize(("value", "given"), [(3, 3), ("a", "a"), (None, None), ([1], "[1]"), ({"a": 1}, '{"a": 1}')])
def test_the_form_for_machines_is_flat(value, given):
    """Values that are not scalars become their JSON text, so that a table can hold each entry."""
    problem = Problem("r", "Invalid", HERE, "is odd", value, "try 4", path="max_replicas")
    assert problem.to_dict() == {
        "rule": "r",
        "severity": "error",
        "kind": "Invalid",
        "field": "spec.maxReplicas",
        "path": "max_replicas",
        "value": given,
        "message": "is odd",
        "hint": "try 4",
    }
    assert json.loads(json.dumps(problem.to_dict())) == problem.to_dict()
