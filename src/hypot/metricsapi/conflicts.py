"""Rules that are valid but cannot work with this configuration."""

from collections.abc import Iterator

from hypot.kinds.metric_rules import MetricRules
from hypot.metricsapi.config import MetricsConfig


def conflicts(rules: MetricRules, config: MetricsConfig) -> Iterator[str]:
    """What is wrong, with what to write instead."""
    for i, rule in enumerate(rules.rules or ()):
        if rule.prometheus is None:
            continue
        where, window = f"spec.rules[{i}].prometheus", rule.prometheus.window
        if not config.prometheus:
            yield f"{where}: no Prometheus is configured; write its address as `prometheus` in the file of --config"
        if window is not None and not config.min_sample_gap < window <= config.max_sample_gap:
            yield (
                f"{where}.window: {window:g} must be above the minSampleGap {config.min_sample_gap:g} and at most the "
                f"maxSampleGap {config.max_sample_gap:g}: no rate is served otherwise"
            )
