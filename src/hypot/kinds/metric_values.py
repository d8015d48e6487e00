"""The wire forms of the metrics APIs of Kubernetes: what a metrics server writes, and what autoscalers read."""

from collections.abc import Iterable, Mapping
from sys import float_info
from typing import Any, NamedTuple

from hypot.core.instant import read_duration, read_time, show_time
from hypot.core.quantity import QuantityError, format_milli, milli

CUSTOM, EXTERNAL, RESOURCE = "custom.metrics.k8s.io", "external.metrics.k8s.io", "metrics.k8s.io"
# The versions of custom metrics, the preferred one first.
CUSTOM_VERSIONS = ("v1beta2", "v1beta1")
VERSION = "v1beta1"
# The APIServices under which the API server finds both APIs.
API_SERVICES = (*(f"{version}.{CUSTOM}" for version in CUSTOM_VERSIONS), f"{VERSION}.{EXTERNAL}")
CUSTOM_LIST, EXTERNAL_LIST = "MetricValueList", "ExternalMetricValueList"
# What autoscalers assume if a value has no window.
DEFAULT_WINDOW = 60.0
ALL = "*"


def api_path(group: str, version: str = VERSION) -> str:
    return f"/apis/{group}/{version}"


class MetricValue(NamedTuple):
    """A value in milli-units, when it was measured (0 if that is unknown), and the seconds that it covers."""

    milli: int
    at: float = 0.0
    window: float = DEFAULT_WINDOW


class MetricObject(NamedTuple):
    """What a custom metric describes."""

    kind: str
    namespace: str
    name: str
    api_version: str = "v1"
    uid: str = ""


class CustomValue(NamedTuple):
    """One value of a custom metric, and the selector of its query. Without a value that can be read, `at` is known."""

    of: MetricObject
    metric: str
    value: MetricValue | None
    selector: Any = None
    at: float = 0.0


class ExternalValue(NamedTuple):
    """One series of an external metric. Without a value that can be read, `at` is known."""

    metric: str
    labels: Mapping[str, str]
    value: MetricValue | None
    at: float = 0.0


def read_value(item: Mapping[str, Any]) -> MetricValue | None:
    """The value in an item of either API; None if it is not a quantity."""
    try:
        amount = milli(item.get("value"))  # type: ignore[arg-type]
    except QuantityError:
        return None
    return MetricValue(amount, _time(item), _window(item))


def _time(item: Mapping[str, Any]) -> float:
    return read_time(item.get("timestamp")) or 0.0


def _window(item: Mapping[str, Any]) -> float:
    """Seconds: custom.metrics.k8s.io/v1beta2 calls them `windowSeconds`, v1beta1 of both APIs calls them `window`.

    A null is absent. The APIs write a number; a duration such as 300s is read too, as in pod metrics.
    """
    written = next((item[name] for name in ("windowSeconds", "window") if item.get(name) is not None), None)
    seconds = read_duration(written) if isinstance(written, str) else written
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        return DEFAULT_WINDOW
    # This is false for NaN, and for an integer that no float can hold.
    return float(seconds) if abs(seconds) <= float_info.max else DEFAULT_WINDOW


def read_custom(item: Mapping[str, Any]) -> CustomValue:
    """Read a MetricValue: v1beta1 has the metric's name next to the value, v1beta2 has a block for it."""
    of, metric = _block(item, "describedObject"), _block(item, "metric")
    described = MetricObject(*(str(of.get(key) or "") for key in ("kind", "namespace", "name", "apiVersion", "uid")))
    name = str(item.get("metricName") or metric.get("name") or "")
    selector = item.get("selector") or metric.get("selector")
    return CustomValue(described, name, read_value(item), selector, _time(item))


def read_external(item: Mapping[str, Any]) -> ExternalValue:
    labels = {str(key): str(value) for key, value in _block(item, "metricLabels").items()}
    return ExternalValue(str(item.get("metricName") or ""), labels, read_value(item), _time(item))


def _block(item: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = item.get(key)
    return found if isinstance(found, dict) else {}


def write_custom(one: CustomValue, version: str) -> dict[str, Any]:
    """An item of a MetricValueList. The selector has no short form: null stands for none."""
    described = {
        "kind": one.of.kind,
        "namespace": one.of.namespace,
        "name": one.of.name,
        "uid": one.of.uid,
        "apiVersion": one.of.api_version,
    }
    item: dict[str, Any] = {"describedObject": {key: text for key, text in described.items() if text}}
    if version == "v1beta1":
        return {**item, "metricName": one.metric, **_measured(one.value, "window"), "selector": one.selector}
    return {**item, "metric": {"name": one.metric, "selector": one.selector}, **_measured(one.value, "windowSeconds")}


def write_external(one: ExternalValue) -> dict[str, Any]:
    return {"metricName": one.metric, "metricLabels": dict(one.labels), **_measured(one.value, "window")}


def _measured(value: MetricValue | None, window: str) -> dict[str, Any]:
    if value is None:
        raise ValueError("a value that could not be read cannot be written")
    seconds = round(value.window)
    spans = {window: seconds} if seconds else {}
    return {"timestamp": show_time(value.at), **spans, "value": format_milli(value.milli)}


def custom_list(items: Iterable[Any], version: str) -> dict[str, Any]:
    return _list(CUSTOM_LIST, f"{CUSTOM}/{version}", items)


def external_list(items: Iterable[Any]) -> dict[str, Any]:
    return _list(EXTERNAL_LIST, f"{EXTERNAL}/{VERSION}", items)


def _list(kind: str, api_version: str, items: Iterable[Any]) -> dict[str, Any]:
    return {"kind": kind, "apiVersion": api_version, "metadata": {}, "items": list(items)}
