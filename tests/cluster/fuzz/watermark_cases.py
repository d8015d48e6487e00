"""Named WatermarkPodAutoscalers: one for each rule that can be broken, and some that are easy to misjudge."""

from typing import Any

from cluster.fuzz.changes import ABSENT, Manifest
from cluster.fuzz.watermarks import manifest_of
from hypot.kinds.wpa.rules import MAX_METRICS, MAX_SELECTOR_ENTRIES


def metric(**changes: Any) -> Manifest:
    """An external metric with both watermarks, with these changes."""
    block = {"metricName": "queue", "metricSelector": {}, "highWatermark": "400m", "lowWatermark": "150m"}
    return {"type": "External", "external": {k: v for k, v in (block | changes).items() if v is not ABSENT}}


def resource(**changes: Any) -> Manifest:
    block = {"name": "cpu", "metricSelector": {}, "highWatermark": 4, "lowWatermark": 2}
    return {"type": "Resource", "resource": {k: v for k, v in (block | changes).items() if v is not ABSENT}}


def wpa(**changes: Any) -> Manifest:
    """A valid manifest, with these changes to its spec."""
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    spec = {"scaleTargetRef": target, "minReplicas": 2, "maxReplicas": 9, "metrics": [metric()]} | changes
    return manifest_of({"name": "web"}, {key: value for key, value in spec.items() if value is not ABSENT})


RECOMMENDER = {"url": "https://advice.example/", "highWatermark": 9, "lowWatermark": "8"}


def advised(**changes: Any) -> Manifest:
    """A valid manifest with a recommender."""
    return wpa(metrics=ABSENT, recommender=RECOMMENDER | changes)


def selecting(**selector: Any) -> Manifest:
    return wpa(metrics=[metric(metricSelector=selector)])


# One manifest for each rule that the CRD carries.
BROKEN: dict[str, Manifest] = {
    "algorithm": wpa(algorithm="mean"),
    "converge": wpa(convergeTowardsWatermark="middle"),
    "limit-factor": wpa(scaleDownLimitFactor=100),
    "max-replicas": wpa(maxReplicas=ABSENT),
    "metric-count": wpa(metrics=[metric()] * (MAX_METRICS + 1)),
    "metric-name": wpa(metrics=[metric(metricName="")]),
    "metric-selector": wpa(metrics=[metric(metricSelector=ABSENT)]),
    "metric-source": wpa(metrics=[{"type": "External"}]),
    "metric-type": wpa(metrics=[{"type": "Pods"}]),
    "metrics-or-recommender": wpa(metrics=[]),
    "min-over-max": wpa(minReplicas=10),
    "min-replicas": wpa(minReplicas=0),
    "quantity": wpa(metrics=[metric(highWatermark="1e100")]),
    "range": wpa(minAvailableReplicaPercentage=101),
    "recommender-url": advised(url="ftp://advice.example/"),
    "reference-kind": wpa(scaleTargetRef={"name": "web"}),
    "reference-name": wpa(scaleTargetRef={"kind": "Deployment", "name": ""}),
    "reference-version": wpa(scaleTargetRef={"apiVersion": "a/b/c", "kind": "Deployment", "name": "web"}),
    "selector": selecting(matchExpressions=[{"key": "a", "operator": "In"}]),
    "tls-version": advised(tlsConfig={"minVersion": "TLS14"}),
    "tolerance": wpa(tolerance="1001m"),
    "type": wpa(maxReplicas="9"),
    "unknown-field": wpa(maxreplicas=9),
    "watermark": wpa(metrics=[metric(highWatermark="100m")]),
}

EXPRESSION = {"key": "a" * 63, "operator": "NotIn", "values": ["b" * 63] * 4}
LARGE_SELECTOR = {
    "matchLabels": {f"{i:063}": "v" * 63 for i in range(MAX_SELECTOR_ENTRIES)},
    "matchExpressions": [EXPRESSION] * MAX_SELECTOR_ENTRIES,
}
LONG_MARKS = {"highWatermark": "0." + "1" * 62, "lowWatermark": "0." + "0" * 61 + "1"}
LARGE_METRIC = metric(**LONG_MARKS, metricSelector=LARGE_SELECTOR) | {
    "resource": resource(**LONG_MARKS, metricSelector=LARGE_SELECTOR)["resource"]
}

# Where the definition and the rules could easily differ.
TAKEN: dict[str, Manifest] = {
    "a bare fraction as tolerance": wpa(tolerance=0.01),
    "a float that is whole as tolerance": wpa(tolerance=1.0),
    "a negative zero as tolerance": wpa(tolerance=-0.0),
    "null is absent": wpa(minReplicas=None, tolerance=None, recommender=None),
    "null within a selector": selecting(matchLabels=None, matchExpressions=None),
    "an empty selector": selecting(),
    "an unused block without marks": wpa(metrics=[metric() | {"resource": {}}]),
    "no metrics beside a recommender": wpa(metrics=[], recommender=RECOMMENDER),
    "the largest whole mark": wpa(metrics=[metric(highWatermark=2**63 - 1, lowWatermark=ABSENT)]),
    "marks that are equal when rounded up to nano-units": wpa(
        metrics=[metric(highWatermark="1n", lowWatermark="0.0000000001")]
    ),
    "marks beyond 64 bits in binary units are equal": wpa(metrics=[metric(highWatermark="9Ei", lowWatermark="99Ei")]),
    "a factor just below 100": wpa(scaleDownLimitFactor="99.999999999"),
    "the largest manifest": wpa(metrics=[LARGE_METRIC] * MAX_METRICS),
    "a status of any form": wpa() | {"status": "x"},
    "a name for the server to complete": wpa() | {"metadata": {"generateName": "web-"}},
}
REFUSED: dict[str, Manifest] = {
    "a float that is whole as a count": wpa(maxReplicas=9.0),
    "a float that is whole as a mark": wpa(metrics=[metric(highWatermark=1.0)]),
    "a boolean as tolerance": wpa(tolerance=True),
    "an exponent in the tolerance": wpa(tolerance="1e-2"),
    "an empty tolerance": wpa(tolerance=""),
    "a space before a mark": wpa(metrics=[metric(highWatermark=" 1")]),
    "a space before the tolerance": wpa(tolerance=" 0.5"),
    "a space before a factor": wpa(scaleUpLimitFactor=" 50"),
    "a line end after a mark": wpa(metrics=[metric(highWatermark="1\n")]),
    "a line end after the tolerance": wpa(tolerance="0.5\n"),
    "a whole mark beyond 64 bits": wpa(metrics=[metric(highWatermark=2**63)]),
    "a count beyond 32 bits": wpa(maxReplicas=2**31),
    "a factor that rounds up to 100": wpa(scaleDownLimitFactor="99.9999999999"),
    "zero as the only mark": wpa(metrics=[metric(highWatermark=ABSENT, lowWatermark=0)]),
    "a negative low mark": wpa(metrics=[metric(lowWatermark=-1)]),
    "null as a metric": wpa(metrics=[None]),
    "null as a label": selecting(matchLabels={"a": None}),
    "null as a setting": advised(settings={"a": None}),
    "null as a value": selecting(matchExpressions=[{"key": "a", "operator": "In", "values": [None]}]),
    "a selector in an unused block": wpa(metrics=[metric() | {"resource": {"metricSelector": {"matchlabels": {}}}}]),
    "a mark in an unused block": wpa(metrics=[metric() | {"resource": {"highWatermark": "x"}}]),
    "no spec": manifest_of({"name": "web"}, {}),
}
