"""The YAML in docs/metrics-api.md is what the server accepts."""

import re
from pathlib import Path

import yaml

from hypot.kinds.metric_rules.read import rules_of
from hypot.metricsapi.config import MetricsConfig
from hypot.metricsapi.conflicts import conflicts

HEAD = {"apiVersion": "metrics.hypot.dev/v1alpha1", "kind": "MetricRules", "metadata": {"name": "chart"}}
PAGE = Path(__file__).parents[3] / "docs/metrics-api.md"


def blocks():
    page = PAGE.read_text(encoding="utf-8")
    return [yaml.safe_load(text) for text in re.findall(r"```yaml\n(\S.*?)```", page, re.DOTALL)]


def metrics_in_page():
    """The blocks that are a part of a rule: metrics, or the weights of one."""
    page = PAGE.read_text(encoding="utf-8")
    found = [yaml.safe_load(text) for text in re.findall(r"```yaml\n(  .*?)```", page, re.DOTALL)]
    weighted = {"counter": "http_requests_total", "names": ["requests_per_second"]}
    return [one if isinstance(one, list) else [{**weighted, **one}] for one in found]


def test_rules():
    """Each of them can be used with a configuration of the page."""
    config = MetricsConfig(prometheus="http://prometheus:9090")
    chart = [{**HEAD, "spec": {"rules": one["metrics"]["rules"]}} for one in blocks() if "metrics" in one]
    rules = [rules_of(one) for one in (*blocks(), *chart) if one.get("kind") == "MetricRules"]
    assert len(rules) == 3
    assert [list(conflicts(one, config)) for one in rules] == [[], [], []]


def test_metrics():
    """In any rule."""
    parts = metrics_in_page()
    assert parts
    for metrics in parts:
        rule = {"name": "web", "pods": {}, "scrape": {"port": "http"}, "metrics": metrics}
        assert rules_of({**HEAD, "spec": {"rules": [rule]}}).rules


def test_configurations():
    """Every other block is one."""
    configs = [MetricsConfig.from_dict(one) for one in blocks() if "kind" not in one and "metrics" not in one]
    assert configs
