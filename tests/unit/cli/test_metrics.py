"""hypot metrics and hypot manifests --metrics: what is wrong is said before anything starts."""

import json

import jsonschema
import pytest
import yaml
from click.testing import CliRunner

from hypot.cli.files import BadInput
from hypot.cli.metrics.command import command
from hypot.cli.run.manifests import command as manifests
from hypot.kinds.metric_rules import GARDENER
from hypot.kinds.metric_rules.schema import rules_schema


def run(which, *arguments):
    done = CliRunner().invoke(which, [*map(str, arguments)], standalone_mode=False)
    assert done.exception is None or isinstance(done.exception, BadInput), done.exception
    return done.output, done.exception and str(done.exception)


@pytest.fixture
def rules(tmp_path):
    made = tmp_path / "rules.yaml"
    made.write_text(yaml.safe_dump(GARDENER))
    return made


@pytest.mark.parametrize("arguments", [[], ["-f", "x", "--preset", "gardener"]])
def test_rules_come_from_one_place(arguments):
    assert "either -f FILE" in run(command, *arguments)[1]


def test_wrong_rules_are_reported_with_their_lines(tmp_path):
    file = tmp_path / "rules.yaml"
    file.write_text("apiVersion: metrics.hypot.dev/v1alpha1\nkind: MetricRules\nspec:\n  rules:\n  - name: A\n")
    _, wrong = run(command, "-f", file)
    assert f"{file}:5: spec.rules[0].name" in wrong
    assert len(wrong.splitlines()) > 2


def test_a_missing_file_is_reported(tmp_path):
    assert "No such file" in run(command, "-f", tmp_path / "no.yaml")[1]


def test_a_wrong_configuration_is_reported_with_its_file(rules, tmp_path):
    file = tmp_path / "config.yaml"
    file.write_text("scrapePeriod: 0\nport: 1\n")
    _, wrong = run(command, "-f", rules, "--config", file)
    assert [line.partition(": ")[0] for line in wrong.splitlines()] == [str(file)] * 2


def test_the_objects_are_printed(rules):
    printed, wrong = run(manifests, "--metrics", rules, "-n", "ours", "--image", "example/hypot:1")
    assert wrong is None
    kinds = [each["kind"] for each in yaml.safe_load_all(printed)]
    assert {"Deployment", "Service", "APIService", "NetworkPolicy", "ClusterRole", "RoleBinding"} <= set(kinds)
    assert "namespace: ours" in printed
    assert "Namespace" not in kinds


def test_a_preset_has_a_name():
    printed, _ = run(manifests, "--metrics", "gardener", "--image", "hypot", "-o", "json")
    assert json.loads(printed)["kind"] == "List"


def test_options_of_the_controller_do_not_apply(rules):
    assert "belong to the controller" in run(manifests, "--metrics", rules, "--with", "template")[1]


def test_the_schema_of_rules():
    """It accepts the presets, and finds a misspelt field."""
    jsonschema.validate(GARDENER, rules_schema())
    wrong = {**GARDENER, "spec": {"rules": [{**GARDENER["spec"]["rules"][0], "pod": {}}]}}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(wrong, rules_schema())
