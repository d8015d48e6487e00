"""The query of a rule: which series, with which weights, and how texts are escaped."""

import pytest

from hypot.metricsapi.prometheus.promql import PodLabels, labels_of_pods, query_of
from unit.metricsapi.pods_world import DEPTH, RATE, plan_with, rule

GAUGE = {"gauge": "depth", "names": ["queue"]}


def asked(metric=GAUGE, **changes):
    """The query of a rule with one metric, by part."""
    source = changes.pop("prometheus", {})
    (one,) = plan_with(rule("web", metric, **{"scrape": None, "prometheus": source, **changes})).rules
    return parts(query_of(one, 60.0))


def parts(query):
    found = {}
    for part in query.split("\nor\n"):
        inner, _, after = part.removeprefix("label_replace(").rpartition(', "hypot_part", "')
        found[after.removesuffix('", "", "")')] = inner
    return found


def total(metric=GAUGE, **changes):
    return asked(metric, **changes)["0 now total"]


BY = "sum by (namespace, pod)"


def test_a_gauge():
    """Its total, when it was scraped, and whether that was at several times."""
    at = 'timestamp(depth{pod!=""})'
    assert asked() == {
        "0 now total": f'{BY} (depth{{pod!=""}})',
        "0 now at": f"min by (namespace, pod) ({at})",
        "0 now several": f"max by (namespace, pod) ({at}) > min by (namespace, pod) ({at})",
    }


def test_a_counter():
    """The same again, a window earlier."""
    found = asked({"counter": "requests_total", "names": ["rps"]})
    assert found["0 earlier total"] == f'{BY} (requests_total{{pod!=""}} offset 60000ms)'
    assert 'timestamp(requests_total{pod!=""} offset 60000ms)' in found["0 earlier at"]
    assert len(found) == 6


def test_several_metrics_are_one_query():
    (one,) = plan_with(rule("web", RATE, DEPTH, scrape=None, prometheus={})).rules
    assert [key[0] for key in parts(query_of(one, 60.0))] == ["0"] * 6 + ["1"] * 3


@pytest.mark.parametrize(
    ("where", "matchers"),
    [
        ({"matchLabels": {"code": "200"}}, 'code="200"'),
        ({"matchExpressions": [{"key": "code", "operator": "NotIn", "values": ["503"]}]}, 'code!="503"'),
        ({"matchExpressions": [{"key": "code", "operator": "In", "values": ["5.3", "200"]}]}, 'code=~"5\\\\.3|200"'),
        ({"matchExpressions": [{"key": "code", "operator": "NotIn", "values": ["a", "b"]}]}, 'code!~"a|b"'),
        ({"matchExpressions": [{"key": "code", "operator": "Exists"}]}, 'code!=""'),
        ({"matchExpressions": [{"key": "code", "operator": "DoesNotExist"}]}, 'code=""'),
        # A label without a value is no label.
        ({"matchLabels": {"code": ""}}, 'code="",code!=""'),
        ({"matchExpressions": [{"key": "code", "operator": "In", "values": ["", "200"]}]}, 'code="200"'),
        ({"matchExpressions": [{"key": "code", "operator": "NotIn", "values": [""]}]}, 'code=~".*"'),
    ],
)
def test_lines_that_count(where, matchers):
    """The others count nothing, but they show that the metric is there."""
    found = total({**GAUGE, "where": where})
    assert found == f'{BY} (depth{{pod!="",{matchers}}} or 0 * depth{{pod!=""}})'


def test_weights():
    """Of several the first that matches counts, as `or` keeps the first operand that has a series."""
    weights = [{"where": {"matchLabels": {"verb": "LIST"}}, "weight": 5}, {"weight": 0.5}]
    assert total({**GAUGE, "weights": weights}) == (
        f'{BY} (5.0 * depth{{pod!="",verb="LIST"}} or 0.5 * depth{{pod!=""}} or depth{{pod!=""}})'
    )


@pytest.mark.parametrize(
    ("namespaces", "matcher"),
    [
        ({"names": ["shop"]}, 'namespace="shop",'),
        ({"names": ["shop", "bank"]}, 'namespace=~"bank|shop",'),
        ({"prefix": "shoot-"}, 'namespace=~"shoot-.*",'),
        ({"selector": {"matchLabels": {"a": "b"}}}, ""),
        (None, ""),
    ],
)
def test_namespaces(namespaces, matcher):
    """As far as Prometheus knows them; labels of pods and namespaces are known from the cluster."""
    assert total(namespaces=namespaces) == f'{BY} (depth{{{matcher}pod!=""}})'


def test_other_labels_and_one_scrape():
    """Where the labels of pods have other names, and where a pod is scraped several times."""
    source = {"namespaceLabel": "ns", "podLabel": "pod_name", "where": {"matchLabels": {"job": "web"}}}
    assert total(prometheus=source) == 'sum by (ns, pod_name) (depth{pod_name!="",job="web"})'
    (one,) = plan_with(rule(scrape=None, prometheus=source)).rules
    assert labels_of_pods(one) == PodLabels("ns", "pod_name")


@pytest.mark.parametrize("window", [1, 90.5, 86_400])
def test_the_window(window):
    (one,) = plan_with(rule(scrape=None, prometheus={})).rules
    assert f"offset {int(window * 1000)}ms" in query_of(one, window)
