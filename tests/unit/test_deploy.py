"""The files under deploy/ are what the package generates, and what they name exists."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
import yaml

from hypot.run.config import RunConfig
from hypot.run.install.objects import config_data
from hypot.run.report import gauge_table
from hypot.run.rights import Grants, features
from hypot.serving.component import USER

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
CHART = DEPLOY / "helm" / "hypot"
ALERTS = [
    rule
    for group in yaml.safe_load((DEPLOY / "prometheusrule.yaml").read_text(encoding="utf-8"))["spec"]["groups"]
    for rule in group["rules"]
]
# Words in rules that are not metrics.
_WORDS = {"sum", "max", "min", "or", "and", "unless", "vector", "ignoring", "by", "increase", "max_over_time"}


def test_generated_files_are_current():
    """The base, the chart, the definitions and the table of rights match the code that they are generated from."""
    reported = subprocess.run(
        [sys.executable, str(DEPLOY / "generate.py"), "--check"], capture_output=True, text=True, check=False
    )
    assert (reported.returncode, reported.stderr) == (0, "")


def test_a_stale_file_is_named(tmp_path):
    """The message names the file to generate again."""
    copy = tmp_path / "repository"
    shutil.copytree(DEPLOY, copy / "deploy", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "docs", copy / "docs", ignore=shutil.ignore_patterns("results", "*.png"))
    stale = Path("deploy", "kustomize", "hypot.yaml")
    (copy / stale).write_text("", encoding="utf-8")
    script = [sys.executable, str(copy / "deploy" / "generate.py")]
    reported = subprocess.run([*script, "--check"], capture_output=True, text=True, check=False)
    assert (reported.returncode, reported.stderr) == (
        1,
        "deploy/kustomize/hypot.yaml is outdated; run deploy/generate.py\n",
    )
    subprocess.run(script, check=True)
    assert (copy / stale).read_bytes() == (ROOT / stale).read_bytes()
    assert subprocess.run([*script, "--check"], check=False).returncode == 0


def test_no_other_definitions_are_next_to_the_generated_ones():
    """A removed definition would still be installed."""
    for folder in (DEPLOY / "kustomize" / "crds", CHART / "crds"):
        names = {path.name for path in folder.iterdir()} - {"kustomization.yaml"}
        assert names == {
            "autoscaler.yaml",
            "hvpa.yaml",
            "tortoise.yaml",
            "verticalpodautoscaler.yaml",
            "verticalpodautoscalercheckpoint.yaml",
            "watermarkpodautoscaler.yaml",
        }


def test_no_definition_is_a_template_of_the_chart():
    """Helm deletes what it made from templates, and a deleted definition takes every autoscaler with it."""
    for template in (CHART / "templates").iterdir():
        assert "CustomResourceDefinition\n" not in template.read_text(encoding="utf-8")


def values():
    return yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))


def test_values_fit_their_schema():
    schema = yaml.safe_load((CHART / "values.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft7Validator.check_schema(schema)
    jsonschema.validate(values(), schema)
    jsonschema.validate({"config": {"kinds": {"Hvpa": False}}}, schema)
    for wrong in (
        {"replica": 3},
        {"config": {"kinds": {"Hvpa": "perhaps"}}},
        {"grants": {"secrets": True}},
        {"image": {"repository": " "}},
        {"config": {"watchNamespaces": ["BAD"]}},
        {"config": {"webhookService": "127.0.0.1"}},
        {"config": {"probePort": 0}},
        {"config": {"metricsPort": 0}},
    ):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, schema)


def test_values_are_the_defaults():
    """The default values are those that `hypot manifests` prints; the release sets the namespace."""
    expected = config_data(RunConfig())
    del expected["namespace"]
    assert values()["config"] == expected
    assert set(values()["grants"]) == set(Grants.__slots__)


def test_templates_use_only_existing_values():
    """Helm takes a misspelt value for an empty value, without an error."""
    used = {
        found
        for template in (CHART / "templates").iterdir()
        for found in re.findall(r"\.Values((?:\.\w+)+)", template.read_text(encoding="utf-8"))
    }
    for path in used:
        held = values()
        for name in path.strip(".").split("."):
            assert name in held, path
            held = held[name]


def test_every_feature_is_a_template():
    text = (CHART / "templates" / "_features.tpl").read_text(encoding="utf-8")
    assert re.findall(r'define "hypot\.may\.([^"]+)"', text) == [each.name.replace(" ", "-") for each in features()]


@pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: alert["alert"])
def test_alerts_use_existing_metrics_and_labels(alert):
    """An alert on a metric that is never reported never fires."""
    families = {family.name: family for family in gauge_table.FAMILIES}
    plain = re.sub(r"\{[^}]*\}|\"[^\"]*\"|(?<=ignoring )\([^)]*\)|(?<=by )\([^)]*\)|\[[^]]*\]", "", alert["expr"])
    names = set(re.findall(r"[a-z_]{2,}", plain)) - _WORDS
    assert names
    assert names <= set(families)
    for name, labels in re.findall(r"(\w+)\{([^}]*)\}", alert["expr"]):
        assert set(re.findall(r"(\w+)=", labels)) <= set(families[name].labels)


@pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: alert["alert"])
def test_every_alert_has_its_section_in_the_runbook(alert):
    """The annotation leads to the section of the alert; it is a path, not a URL, so its name does not say URL."""
    page, _, anchor = alert["annotations"]["runbook"].partition("#")
    text = (ROOT / page).read_text(encoding="utf-8")
    assert f"## {alert['alert']}\n" in text
    assert anchor == alert["alert"].lower()
    assert alert["annotations"]["summary"]


def test_all_alerts_exist():
    assert {alert["alert"] for alert in ALERTS} == {
        "HypotNoLeader",
        "HypotReconcileLate",
        "HypotGovernorHolding",
        "HypotMetricsStale",
        "HypotStateNotWritten",
        "HypotInternalError",
        "HypotStateAlmostFull",
        "HypotResizeInfeasible",
        "HypotWebhookUnavailable",
        "HypotCertificateExpiring",
    }


def dockerfile():
    return (DEPLOY / "Dockerfile").read_text(encoding="utf-8")


def test_the_image_runs_without_root_and_without_a_shell():
    """The image has the same user as the manifests, and commands that start without a shell."""
    last = dockerfile().rpartition("\nFROM ")[2]
    assert f"\nUSER {USER}:{USER}\n" in last
    assert '\nENTRYPOINT ["/opt/hypot/bin/hypot"]\n' in last
    assert "RUN" not in last


def test_a_wheel_can_be_built_of_what_the_image_is_made_of(tmp_path):
    """The files that the Dockerfile copies are enough to build it; the ignore file allows all of them."""
    copied = [
        word for line in re.findall(r"^COPY (?!--)(.*)$", dockerfile(), re.MULTILINE) for word in line.split()[:-1]
    ]
    ignored = (DEPLOY / "Dockerfile.dockerignore").read_text(encoding="utf-8").splitlines()
    for name in copied:
        assert f"!{name}" in ignored
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            (tmp_path / name).parent.mkdir(exist_ok=True)
            shutil.copy(ROOT / name, tmp_path / name)
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel"]
    subprocess.run(build, cwd=tmp_path, check=True, capture_output=True)
    assert list((tmp_path / "dist").glob("hypot-*.whl"))
