"""What holds for every query and its answer: the server reads what the controller writes, and the other way round."""

from contextlib import suppress

from hypothesis import given
from hypothesis import strategies as st

from hypot.kinds.metric_values import (
    CUSTOM_VERSIONS,
    CustomValue,
    ExternalValue,
    MetricObject,
    MetricValue,
    read_custom,
    read_external,
    write_custom,
    write_external,
)
from hypot.kinds.selector import parse_selector, read_selector
from hypot.metricsapi.serve.query import BadQueryError, read_query
from hypot.policy.observe.metric_queries import external_query, pods_query

names = st.text("abcxyz0123456789-", min_size=1, max_size=10)
# Any text that may be a segment of a path.
metrics = st.text(st.characters(codec="utf-8", exclude_characters="/"), min_size=1, max_size=10).filter(
    lambda text: text not in {".", ".."}
)
labels = st.dictionaries(st.sampled_from(["app", "tier"]), st.sampled_from(["a", "b", ""]), max_size=2)
selectors = labels.map(lambda found: {"matchLabels": found} if found else None)


@given(names, metrics, selectors, st.sampled_from(["app=web", "a in (b,c),!d", ""]))
def test_a_query_for_pods(namespace, metric, selector, pods):
    """Whatever the metric is called."""
    asked = pods_query(metric, selector, namespace, pods)
    found = read_query(asked.path, dict(asked.parameters))
    assert (found.namespace, found.resource, found.name, found.metric) == (namespace, "pods", "*", metric)
    assert found.objects == parse_selector(pods)
    assert set(found.series.requirements) == set(read_selector(selector).requirements)


@given(names, metrics, selectors)
def test_a_query_for_series(namespace, metric, selector):
    asked = external_query(metric, selector, namespace)
    found = read_query(asked.path, dict(asked.parameters))
    assert (found.namespace, found.metric) == (namespace, metric)
    assert set(found.objects.requirements) == set(read_selector(selector).requirements)


paths = st.lists(
    st.sampled_from(
        ["apis", "custom.metrics.k8s.io", "v1beta2", "namespaces", "metrics", "pods", "*", "%2A", "%", "a", ""]
    )
    | st.text(max_size=4),
    max_size=9,
).map("/".join)
parameters = st.dictionaries(
    st.sampled_from(["labelSelector", "metricLabelSelector", "fieldSelector", "pretty"]),
    st.text("ab=!,()<> in.metadata", max_size=12),
)


@given(paths | paths.map("/apis/custom.metrics.k8s.io/v1beta2/namespaces/{}".format), parameters)
def test_any_request(path, more):
    """It is a query, or none, or refused with a message for the client."""
    with suppress(BadQueryError):
        found = read_query(path, more)
        assert found is None or all((found.name, found.metric))


# The window is in whole seconds, and times too; what covers no time has no window.
values = st.builds(MetricValue, st.integers(-(10**18), 10**18), st.integers(0, 2**32), st.integers(1, 600))
texts = st.text(max_size=8)


@given(st.sampled_from(CUSTOM_VERSIONS), st.builds(MetricObject, texts, texts, texts, texts, texts), texts, values)
def test_a_custom_value_that_is_written_and_read(version, described, metric, value):
    one = CustomValue(described, metric, value, None, value.at)
    assert read_custom(write_custom(one, version)) == one


@given(texts, st.dictionaries(texts, texts, max_size=3), values)
def test_an_external_value_that_is_written_and_read(metric, found, value):
    one = ExternalValue(metric, found, value, value.at)
    assert read_external(write_external(one)) == one
