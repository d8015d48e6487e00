"""The alerts of the metrics server, checked by Prometheus' own promtool."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from hypot.metricsapi.costs.families import FAMILIES as COST_FAMILIES
from hypot.metricsapi.own_metrics import FAMILIES

ROOT = Path(__file__).resolve().parents[3]
RULES = yaml.safe_load((ROOT / "deploy" / "metrics-prometheusrule.yaml").read_text(encoding="utf-8"))["spec"]
ALERTS = RULES["groups"][0]["rules"]
RULE = ',rule="web"'


def series(name, value, pod="a", labels=""):
    """The same value for two hours, as scraped from one pod."""
    return {"series": f'{name}{{job="hypot-metrics",pod="{pod}"{labels}}}', "values": f"{value}+0x480"}


LEADS = series("hypot_metrics_leader", 1)
WORKLOAD = ',rule="web",kind="Deployment",object_namespace="shop",object_name="web"'
DOUBLED = series("hypot_metrics_request_cost_change_ratio", 2, labels=WORKLOAD)
WITHOUT = [
    series("hypot_metrics_targets", 10, labels=RULE),
    series("hypot_metrics_targets_without_value", 2, labels=RULE),
]
UNREACHABLE = series("hypot_metrics_pods_unreachable", 3, labels=f'{RULE},reason="port"')
FIRED = {
    "HypotMetricsPodsUnreachable": (
        [LEADS, UNREACHABLE],
        {"severity": "warning", "rule": "web", "reason": "port", "job": "hypot-metrics", "pod": "a"},
    ),
    "HypotMetricsNoLeader": ([series("hypot_metrics_leader", 0)], {"severity": "critical"}),
    "HypotMetricsValuesMissing": (
        [LEADS, *WITHOUT],
        {"severity": "warning", "rule": "web", "job": "hypot-metrics", "pod": "a"},
    ),
    "HypotMetricsForwardDown": ([LEADS, series("hypot_metrics_forward_up", 0)], {"severity": "warning"}),
    "HypotMetricsRequestCostRose": (
        [LEADS, DOUBLED],
        {
            "severity": "warning",
            "job": "hypot-metrics",
            "pod": "a",
            "rule": "web",
            "kind": "Deployment",
            "object_namespace": "shop",
            "object_name": "web",
        },
    ),
    "HypotMetricsRulesInvalid": ([LEADS, series("hypot_metrics_rules_invalid", 1)], {"severity": "warning"}),
    "HypotMetricsCertificateExpiring": (
        [LEADS, series("hypot_metrics_certificate_expiry_seconds", 3600)],
        {"severity": "warning"},
    ),
}
QUIET = {
    "HypotMetricsPodsUnreachable": [series("hypot_metrics_leader", 0), UNREACHABLE],
    "HypotMetricsNoLeader": [LEADS, series("hypot_metrics_leader", 0, "b")],
    "HypotMetricsValuesMissing": [series("hypot_metrics_leader", 0), *WITHOUT],
    "HypotMetricsForwardDown": [LEADS, series("hypot_metrics_forward_up", 1)],
    "HypotMetricsRequestCostRose": [series("hypot_metrics_leader", 0), DOUBLED],
    "HypotMetricsRulesInvalid": [LEADS, series("hypot_metrics_rules_invalid", 0)],
    "HypotMetricsCertificateExpiring": [LEADS, series("hypot_metrics_certificate_expiry_seconds", 30 * 86400)],
}


@pytest.fixture(scope="module")
def promtool():
    found = shutil.which("promtool")
    if found is None:
        pytest.skip("promtool, which comes with Prometheus, is not installed")
    return found


def judged(promtool, folder, reported, alert, labels):
    expected = {"eval_time": "90m", "alertname": alert, "exp_alerts": [{"exp_labels": each} for each in labels]}
    rules = folder / "rules.yaml"
    plain = [{key: value for key, value in rule.items() if key != "annotations"} for rule in ALERTS]
    rules.write_text(yaml.safe_dump({"groups": [{"name": "hypot-metrics", "rules": plain}]}), encoding="utf-8")
    test = {"interval": "15s", "input_series": reported, "alert_rule_test": [expected]}
    file = folder / "test.yaml"
    file.write_text(yaml.safe_dump({"rule_files": [str(rules)], "tests": [test]}), encoding="utf-8")
    return subprocess.run([promtool, "test", "rules", str(file)], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("alert", sorted(FIRED))
def test_an_alert_fires(promtool, tmp_path, alert):
    reported, labels = FIRED[alert]
    done = judged(promtool, tmp_path, reported, alert, [labels])
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("alert", sorted(QUIET))
def test_an_alert_is_quiet(promtool, tmp_path, alert):
    """Also where only a replica that does not lead has no values."""
    done = judged(promtool, tmp_path, QUIET[alert], alert, [])
    assert done.returncode == 0, done.stdout + done.stderr


def test_each_alert_has_a_metric_that_exists_and_a_place_in_the_runbook():
    page = (ROOT / "docs" / "runbook.md").read_text(encoding="utf-8")
    known = {family.name for family in (*FAMILIES, *COST_FAMILIES)}
    for alert in ALERTS:
        assert set(re.findall(r"hypot_\w+", alert["expr"])) <= known
        assert f"## {alert['alert']}\n" in page
        assert alert["annotations"]["runbook"] == f"docs/runbook.md#{alert['alert'].lower()}"
