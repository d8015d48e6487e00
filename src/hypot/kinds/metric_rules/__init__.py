"""MetricRules, metrics.hypot.dev/v1alpha1: the file of the metrics server."""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from hypot.kinds.metric_rules.fields import MetricRulesSpec
from hypot.kinds.metric_rules.rules import spec_problems
from hypot.kinds.node import node
from hypot.kinds.problem import Problem
from hypot.kinds.values.version import Version


@node
class MetricRules(MetricRulesSpec):
    """Rules of the metrics server. No object of a cluster: they are in a file."""

    API_VERSION: ClassVar[str] = "metrics.hypot.dev/v1alpha1"
    KIND: ClassVar[str] = "MetricRules"

    def rule_problems(self, kubernetes: Version, gates: Mapping[str, bool] | None) -> Iterator[Problem]:
        del kubernetes, gates
        yield from spec_problems(self)


# The API servers of Gardener's shoots, by the sum of their requests. The name ends in `rate` or `sum`: both are in use.
GARDENER: Mapping[str, Any] = {
    "apiVersion": MetricRules.API_VERSION,
    "kind": MetricRules.KIND,
    "metadata": {"name": "gardener"},
    "spec": {
        "rules": [
            {
                "name": "shoot-apiserver",
                "namespaces": {"prefix": "shoot-"},
                "pods": {"matchLabels": {"app": "kubernetes", "role": "apiserver"}},
                "scrape": {
                    "port": 443,
                    "scheme": "https",
                    "serverName": "kube-apiserver",
                    "credentials": {
                        "ca": {"name": "ca", "key": "ca.crt"},
                        "token": {"name": "shoot-access-gardener-custom-metrics", "key": "token"},
                    },
                },
                "metrics": [
                    {
                        "counter": "apiserver_request_total",
                        "names": ["shoot:apiserver_request_total:rate", "shoot:apiserver_request_total:sum"],
                    }
                ],
            }
        ]
    },
}
PRESETS = {"gardener": GARDENER}
