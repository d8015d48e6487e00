"""The editor schema of the HPA against the API server's verdicts."""

import jsonschema

from conformance.harness import load_cases
from hypot.authoring.editor_schema import editor_schema
from hypot.kinds.catalogue import CATALOGUE
from hypot.kinds.hpa import HPA

SCHEMA = jsonschema.Draft202012Validator(editor_schema(CATALOGUE[HPA.KIND]))
CASES = load_cases("authoring_hpa.json", "apiserver_cases")
# Rules that compare fields, know a version, or know the names of resources: no schema expresses them.
BEYOND = {"min-over-max", "zero-needs-outside-metric", "reference-version", "resource-name"}
# To a schema 70.0 is a whole number.
WHOLE = {"util 70.0"}


def test_what_the_api_server_takes_passes():
    """Every accepted manifest is valid for the schema."""
    accepted = [case for case in CASES if case["accepted"]]
    refused = {case["name"]: [e.message for e in SCHEMA.iter_errors(case["manifest"])] for case in accepted}
    assert {name: errors for name, errors in refused.items() if errors} == {}
    assert len(accepted) > 5


def test_what_the_api_server_refuses_fails_if_a_schema_can_say_it():
    """A refused manifest is invalid, unless all its rules are beyond a schema."""
    passed = {}
    for case in CASES:
        rules = {p.rule for p in HPA.from_dict(case["manifest"]).problems() if p.severity == "error"}
        if not case["accepted"] and case["name"] not in WHOLE and rules - BEYOND and SCHEMA.is_valid(case["manifest"]):
            passed[case["name"]] = rules
    assert passed == {}
