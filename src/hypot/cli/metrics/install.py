"""hypot manifests --metrics: the objects that install the metrics server."""

from typing import Any

from hypot.cli.files import BadInput
from hypot.cli.metrics.config import read_config
from hypot.kinds.metric_rules import PRESETS, MetricRules
from hypot.kinds.metric_rules.read import RulesError, read_rules, rules_of
from hypot.metricsapi.install import manifests
from hypot.serving.config import ConfigError


def metrics_manifests(
    rules: str, config_file: str | None, namespace: str | None, image: str, replicas: int
) -> list[dict[str, Any]]:
    config = read_config(config_file, {} if namespace is None else {"namespace": namespace})
    try:
        return manifests(_rules(rules), config, image, replicas)
    except (RulesError, ConfigError) as error:
        raise BadInput(str(error)) from error


def _rules(named: str) -> MetricRules:
    return rules_of(PRESETS[named]) if named in PRESETS else read_rules(named)
