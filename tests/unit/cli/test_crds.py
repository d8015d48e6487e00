"""hypot crds: definitions and JSON schemas."""

import json
from functools import partial
from pathlib import Path

import jsonschema
import pytest
import yaml

from hypot import HPA, VPA, WPA, ContainerPolicy, band, cpu
from hypot.kinds.text.load import load
from unit.cli.command import hypot as run_hypot

ROOT = Path(__file__).resolve().parents[3] / "examples"
EXAMPLES = [*ROOT.glob("*.yaml"), ROOT / "cluster", ROOT / "replay" / "policies.yaml"]
hypot = partial(run_hypot, "crds")
WEB = HPA("deployment/web", max_replicas=10, metrics=[cpu(utilization=70)])
SIZES = VPA("deployment/web", mode="Off", containers=[ContainerPolicy("app", max_allowed={"cpu": 2})])
QUEUE = WPA("deployment/web", max_replicas=3, metrics=[band("jobs", low=1, high=2)])


def changed(made, *path, value):
    manifest = made.to_dict()
    block = manifest
    for key in path[:-1]:
        block = block[key]
    block[path[-1]] = value
    return manifest


def test_definitions_are_yaml():
    """One document per kind that needs one."""
    result = hypot()
    assert result.status == 0
    assert {one["kind"] for one in yaml.safe_load_all(result.out)} == {"CustomResourceDefinition"}


@pytest.mark.parametrize("made", [WEB, SIZES, QUEUE], ids=lambda made: made.KIND)
def test_one_schema_covers_all_kinds(made):
    """The kind of a document says which part applies."""
    schema = jsonschema.Draft202012Validator(json.loads(hypot("-o", "jsonschema").out))
    assert schema.is_valid(made.to_dict())
    assert not schema.is_valid(changed(made, "spec", "maxReplica", value=1))
    assert not schema.is_valid(changed(made, "apiVersion", value="v1"))
    assert not schema.is_valid(changed(made, "kind", value="Deployment"))


def test_each_kind_gets_a_file(tmp_path):
    """The names are those that kubeconform searches for."""
    result = hypot("-o", "jsonschema", "--dir", tmp_path / "schemas")
    names = sorted(path.name for path in (tmp_path / "schemas").iterdir())
    assert "horizontalpodautoscaler-autoscaling-v2.json" in names
    assert len(names) == len(result.out.splitlines()) == 6
    for name in names:
        jsonschema.Draft202012Validator.check_schema(json.loads((tmp_path / "schemas" / name).read_text()))


def test_the_examples_fit_their_schemas():
    """Every autoscaler of the examples."""
    schema = jsonschema.Draft202012Validator(json.loads(hypot("-o", "jsonschema").out))
    kinds = schema.schema["properties"]["kind"]["enum"]
    found = [one.data for one in load(map(str, EXAMPLES), keep=lambda _, kind: kind in kinds)]
    assert len(found) > 5
    assert [error.message for data in found for error in schema.iter_errors(data)] == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--dir", "x"), "--dir belongs to -o jsonschema"),
        (("-o", "jsonschema", "--dir", "/dev/null/x"), "cannot write: Not a directory; check the folder"),
    ],
)
def test_wrong_use_is_refused(arguments, message):
    """Exit status 2, and what to do."""
    result = hypot(*arguments)
    assert result.status == 2
    assert message in result.err
