"""The wire forms of the metrics APIs: what is written, and what is made of odd items."""

import pytest

from hypot.kinds.metric_values import (
    CustomValue,
    ExternalValue,
    MetricObject,
    MetricValue,
    custom_list,
    external_list,
    read_custom,
    read_external,
    write_custom,
    write_external,
)

POD = MetricObject("Pod", "shop", "web-0")
NAMESPACE = MetricObject("Namespace", "", "shop")


@pytest.mark.parametrize(
    ("window", "written"), [(0.0, None), (0.4, None), (0.6, 1), (59.6, 60), (60.0, 60), (60.4, 60), (600.0, 600)]
)
def test_windows(window, written):
    """Whole seconds; a value of a moment has none. Each version has its own key."""
    value = MetricValue(1, 0.0, window)
    newer, older = (write_custom(CustomValue(POD, "hits", value), version) for version in ("v1beta2", "v1beta1"))
    external = write_external(ExternalValue("hits", {}, value))
    assert [newer.get("windowSeconds"), older.get("window"), external.get("window")] == [written] * 3
    assert "window" not in newer
    assert "windowSeconds" not in older


@pytest.mark.parametrize(("milli", "text"), [(0, "0"), (166, "166m"), (450_000, "450"), (2_000_000, "2k"), (-5, "-5m")])
def test_amounts(milli, text):
    assert write_external(ExternalValue("hits", {}, MetricValue(milli)))["value"] == text


def test_the_described_object():
    """What is not known is left out; a Namespace is in none."""
    found = write_custom(CustomValue(NAMESPACE, "hits", MetricValue(1)), "v1beta2")["describedObject"]
    assert found == {"kind": "Namespace", "name": "shop", "apiVersion": "v1"}


def test_a_value_that_cannot_be_written():
    with pytest.raises(ValueError, match="could not be read"):
        write_custom(CustomValue(POD, "hits", None), "v1beta2")
    with pytest.raises(ValueError, match="could not be read"):
        write_external(ExternalValue("hits", {}, None))


def test_empty_lists():
    """Items are never null."""
    assert (custom_list([], "v1beta1")["items"], external_list([])["items"]) == ([], [])


@pytest.mark.parametrize("item", [{}, {"value": None}, {"value": "much"}, {"value": []}, {"value": "1e999"}])
def test_what_is_no_value(item):
    """Its time is known all the same."""
    item = {**item, "timestamp": "1970-01-01T00:01:00Z"}
    assert (read_custom(item).value, read_custom(item).at) == (None, 60.0)
    assert (read_external(item).value, read_external(item).at) == (None, 60.0)


@pytest.mark.parametrize(
    "item",
    [
        {"value": "1", "describedObject": [], "metric": 3, "timestamp": 7},
        {"value": "1", "describedObject": {"kind": None}, "metric": {"name": None}, "metricLabels": "a"},
    ],
)
def test_odd_items(item):
    """They belong to no object and no metric."""
    nobody = MetricObject("", "", "", "", "")
    assert read_custom(item) == CustomValue(nobody, "", MetricValue(1000))
    assert read_external(item) == ExternalValue("", {}, MetricValue(1000))
