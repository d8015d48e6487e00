"""The alerts, checked by Prometheus' own promtool: when they fire, and when they do not."""

import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

RULES = Path(__file__).resolve().parents[4] / "deploy" / "helm" / "hypot" / "files" / "alerts.yaml"
TARGET = 'job="hypot",namespace="hypot-system"'
OBJECT = 'kind="Hvpa",object_namespace="shop",object_name="web"'
# What the leader reports -> the alert that fires.
REPORTED = {
    "HypotGovernorHolding": ("hypot_governor_holding", "", "3"),
    "HypotMetricsStale": ("hypot_stale_share", "", "0.9"),
    "HypotStateNotWritten": ("hypot_state_unwritten", "", "1"),
    "HypotStateAlmostFull": ("hypot_state_used_ratio", "", "0.85"),
    "HypotResizeInfeasible": ("hypot_plans", 'state="resize-infeasible"', "1"),
    "HypotWebhookUnavailable": ("hypot_held", f'{OBJECT},reason="WebhookUnavailable"', "1"),
}


@pytest.fixture(scope="module")
def promtool():
    found = shutil.which("promtool")
    if found is None:
        pytest.skip("promtool, which comes with Prometheus, is not installed")
    return found


def series(name, value, pod, labels=""):
    """The same value for an hour, as scraped from one pod."""
    own = f'{TARGET},pod="{pod}",instance="{pod}:8080"'
    return {"series": f"{name}{{{own}{labels and ',' + labels}}}", "values": f"{value}+0x240"}


def judged(promtool, folder, reported, alert, labels):
    """The result of promtool; after an hour the alert is expected with these labels, or not at all without labels."""
    expected = {"eval_time": "1h", "alertname": alert, "exp_alerts": [{"exp_labels": each} for each in labels]}
    test = {"interval": "15s", "input_series": reported, "alert_rule_test": [expected]}
    rules = folder / "rules.yaml"
    written = yaml.safe_load(RULES.read_text(encoding="utf-8"))
    for rule in written["groups"][0]["rules"]:
        del rule["annotations"]
    rules.write_text(yaml.safe_dump(written), encoding="utf-8")
    file = folder / "test.yaml"
    file.write_text(yaml.safe_dump({"rule_files": [str(rules)], "tests": [test]}), encoding="utf-8")
    return subprocess.run([promtool, "test", "rules", str(file)], capture_output=True, text=True, check=False)


def test_the_rules_can_be_read(promtool):
    """Promtool accepts expressions and templates."""
    subprocess.run([promtool, "check", "rules", str(RULES)], check=True, capture_output=True)


@pytest.mark.parametrize("alert", REPORTED)
@pytest.mark.parametrize("by", ["the leader", "one that led before"])
def test_only_the_leaders_values_count(promtool, tmp_path, alert, by):
    """The last values of a former leader would fire an alert forever."""
    name, labels, value = REPORTED[alert]
    leaders = [series("hypot_leader", 1, "a"), series("hypot_leader", 0, "b")]
    pod, found = ("a", [{"severity": "warning"}]) if by == "the leader" else ("b", [])
    done = judged(promtool, tmp_path, [*leaders, series(name, value, pod, labels)], alert, found)
    assert done.returncode == 0, done.stdout + done.stderr


def test_one_more_try_does_not_end_the_alert_for_the_webhook(promtool, tmp_path):
    """The hold ends for a minute while hypot waits for the pod that it evicted."""
    held = series("hypot_held", 1, "a", f'{OBJECT},reason="WebhookUnavailable"')
    held["values"] = "1+0x199 _x4 1+0x40"
    reported = [series("hypot_leader", 1, "a"), held]
    done = judged(promtool, tmp_path, reported, "HypotWebhookUnavailable", [{"severity": "warning"}])
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_blocked_resize_is_reported_too(promtool, tmp_path):
    """A VerticalPodAutoscaler has no plan; its steps report the block."""
    blocked = series("hypot_blocked", 1, "a", f'{OBJECT},reason="resize-infeasible"')
    reported = [series("hypot_leader", 1, "a"), blocked]
    done = judged(promtool, tmp_path, reported, "HypotResizeInfeasible", [{"severity": "warning"}])
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(("leads", "found"), [(1, []), (0, [{"severity": "critical"}])])
def test_a_missing_leader_is_reported(promtool, tmp_path, leads, found):
    """Replicas that all follow decide nothing."""
    reported = [series("hypot_leader", leads, "a"), series("hypot_leader", 0, "b")]
    done = judged(promtool, tmp_path, reported, "HypotNoLeader", found)
    assert done.returncode == 0, done.stdout + done.stderr
