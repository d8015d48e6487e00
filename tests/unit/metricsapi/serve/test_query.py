"""Paths and parameters of queries."""

import pytest

from hypot.kinds.selector import Selector, parse_selector
from hypot.metricsapi.serve.query import BadQueryError, ValueQuery, read_query, versions_of

CUSTOM, EXTERNAL = "custom.metrics.k8s.io", "external.metrics.k8s.io"
BASE = f"/apis/{CUSTOM}/v1beta2"
ALL = Selector()


def read(path, **parameters):
    return read_query(path, parameters)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/namespaces/ns/pods/web-0/hits", ("ns", "pods", "web-0", "hits")),
        ("/namespaces/ns/pods/*/hits", ("ns", "pods", "*", "hits")),
        ("/namespaces/ns/pods/%2A/hits", ("ns", "pods", "*", "hits")),
        ("/namespaces/ns/pods/%2a/shoot%3Ahits%3Arate/", ("ns", "pods", "*", "shoot:hits:rate")),
        ("/namespaces/ns/pods/*/a%2Fb", ("ns", "pods", "*", "a/b")),
        ("/namespaces/ns/deployments.apps/web/hits", ("ns", "deployments.apps", "web", "hits")),
        ("/namespaces/ns/metrics/hits", ("", "namespaces", "ns", "hits")),
        ("/namespaces/ns/metrics/web-0/hits", ("ns", "metrics", "web-0", "hits")),
        ("/nodes/*/hits", ("", "nodes", "*", "hits")),
    ],
)
@pytest.mark.parametrize("version", ["v1beta1", "v1beta2"])
def test_custom_metrics(path, version, expected):
    """Namespace, resource, name and metric."""
    assert read(f"/apis/{CUSTOM}/{version}{path}") == ValueQuery(CUSTOM, version, *expected, ALL, ALL)


def test_external_metrics():
    path = f"/apis/{EXTERNAL}/v1beta1/namespaces/ns/queue"
    assert read(path) == ValueQuery(EXTERNAL, "v1beta1", "ns", "", "*", "queue", ALL, ALL)


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/apis",
        "/apis/",
        f"/apis/{CUSTOM}",
        BASE,
        f"{BASE}/blah",
        f"{BASE}/nodes/foo",
        f"{BASE}/namespaces/ns/pods/bar",
        f"{BASE}/namespaces/ns/pods",
        f"{BASE}/namespaces/ns/hits",
        f"{BASE}/namespaces/ns/pods/a/hits/more",
        f"{BASE}/namespaces//pods/a/hits",
        f"{BASE}/namespaces/ns/pods//hits",
        f"/apis/{CUSTOM}/v1/namespaces/ns/pods/a/hits",
        "/apis/metrics.k8s.io/v1beta1/namespaces/ns/pods/a/hits",
        f"/apis/{EXTERNAL}/v1beta2/namespaces/ns/queue",
        f"/apis/{EXTERNAL}/v1beta1/namespaces/ns/group/queue",
        f"/apis/{EXTERNAL}/v1beta1/nodes/a/queue",
        f"/apis/{EXTERNAL}/v1beta1/namespaces/ns",
        f"/api/{CUSTOM}/v1beta2/namespaces/ns/pods/a/hits",
    ],
)
def test_other_paths(path):
    assert read(path) is None


def test_selectors():
    found = read(f"{BASE}/namespaces/ns/pods/*/hits", labelSelector="app=web,!old", metricLabelSelector="code in (200)")
    assert (found.objects, found.series) == (parse_selector("app=web,!old"), parse_selector("code in (200)"))


@pytest.mark.parametrize(
    ("name", "field", "found"),
    [
        ("*", "metadata.name=web-0", "web-0"),
        ("web-0", "metadata.name=web-0", "web-0"),
        ("*", "", "*"),
    ],
)
def test_a_field_selector(name, field, found):
    assert read(f"{BASE}/namespaces/ns/pods/{name}/hits", fieldSelector=field).name == found


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"labelSelector": "a=b=c"}, "labelSelector: unable to parse requirement"),
        ({"metricLabelSelector": "a in"}, "metricLabelSelector: unable to parse requirement"),
        ({"labelSelector": "a=b,"}, "labelSelector: found the end after ','"),
        ({"fieldSelector": "metadata.name=other"}, "fieldSelector: only metadata.name is supported"),
        ({"fieldSelector": "status.phase=Running"}, "fieldSelector: only metadata.name is supported"),
        ({"fieldSelector": "metadata.name="}, "fieldSelector: only metadata.name is supported"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(BadQueryError) as error:
        read(f"{BASE}/namespaces/ns/pods/web-0/hits", **parameters)
    assert str(error.value).startswith(message)


def test_versions():
    """The preferred one is first."""
    assert [versions_of(group) for group in (CUSTOM, EXTERNAL, "other")] == [("v1beta2", "v1beta1"), ("v1beta1",), ()]
