"""Editor schemas against the rules: what a schema refuses, the rules report, and sound manifests pass."""

import jsonschema
from hypothesis import given, settings
from hypothesis import strategies as st

from cluster.fuzz import both_axes, sizes, watermarks
from hypot.authoring.editor_schema import schema_of_all
from hypot.authoring.read import from_yaml
from hypot.kinds.text.write import to_yaml
from property.authoring.objects import manifests

SCHEMA = jsonschema.Draft202012Validator(schema_of_all())


def test_the_schemas_are_schemas():
    """Of draft 2020-12."""
    jsonschema.Draft202012Validator.check_schema(schema_of_all())


@settings(max_examples=200)
@given(manifests)
def test_sound_manifests_pass(data):
    """Of every kind, with everything that a manifest can have."""
    assert [error.message for error in SCHEMA.iter_errors(data)] == []


@settings(max_examples=300)
@given(st.one_of(both_axes.manifests, sizes.manifests, watermarks.manifests))
def test_what_the_schema_refuses_is_reported_by_the_rules(data):
    """A schema never refuses what the cluster takes; it may take more."""
    if not SCHEMA.is_valid(data):
        (one,) = from_yaml(to_yaml(data))
        assert one.problems(), [error.message for error in SCHEMA.iter_errors(data)]
