"""Values of custom and external metrics, read from the answers of their APIs, for the queries of autoscalers."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import chain
from sys import float_info
from typing import Any, NamedTuple
from urllib.parse import quote

from hypot.kinds.base import DEFAULT_NAMESPACE, Ref
from hypot.kinds.nested import inner
from hypot.kinds.selector import Selector, SelectorError, read_selector, show_selector
from hypot.policy.model.seen import Failure, Value
from hypot.policy.model.state import read_time
from hypot.policy.observe.questions import Chosen
from hypot.policy.observe.read_pods import labels_of, read_amount, read_duration
from hypot.policy.observe.read_scale import plural

_CUSTOM = "/apis/custom.metrics.k8s.io/v1beta1"
_EXTERNAL = "/apis/external.metrics.k8s.io/v1beta1"
_DEFAULT_WINDOW = 60.0


class _Described(NamedTuple):
    """One value of a custom metric, and the selector of its query."""

    namespace: str
    name: str
    selector: Any
    at: float
    value: Value | None


class _ValueSeries(NamedTuple):
    labels: Mapping[str, str]
    at: float
    value: Value | None


def read_value(item: Mapping[str, Any]) -> Value | None:
    """The value in an item of either API; None if it is not a quantity."""
    amount = read_amount(item.get("value"))
    return None if amount is None else Value(amount, _time(item), _window(item))


def _time(item: Mapping[str, Any]) -> float:
    """When a value was measured; 0 if that is unknown."""
    return read_time(item.get("timestamp")) or 0.0


def _window(item: Mapping[str, Any]) -> float:
    """Seconds: custom.metrics.k8s.io/v1beta2 calls them `windowSeconds`, v1beta1 of both APIs calls them `window`.

    A null is absent. The APIs write a number; a duration such as 300s is read too, as in pod metrics.
    """
    written = next((item[name] for name in ("windowSeconds", "window") if item.get(name) is not None), None)
    seconds = read_duration(written) if isinstance(written, str) else written
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        return _DEFAULT_WINDOW
    # This is false for NaN, and for an integer that no float can hold.
    return float(seconds) if abs(seconds) <= float_info.max else _DEFAULT_WINDOW


def all_values(values: Iterable[Value | None]) -> tuple[Value, ...] | Failure:
    """All values of an external metric: a sum that lacks a part would be too small and scale the target down."""
    found = list(values)
    readable = tuple([value for value in found if value is not None])
    return readable if len(readable) == len(found) else Failure("one of its values is not a quantity")


def resource_of(ref: Ref) -> str:
    """The resource of an object, as the path of a query names it."""
    resource = plural(ref.kind or "")
    return f"{resource}.{ref.group}" if ref.group else resource


def selector_text(selector: Chosen) -> str:
    """A selector as the parameter of a query; empty if it cannot be read."""
    try:
        return show_selector(selector)
    except SelectorError:
        return ""


class MetricValues:
    """All values of the input, by metric name."""

    def __init__(self) -> None:
        self._custom: dict[tuple[str, str], list[_Described]] = defaultdict(list)
        self._of_pods: dict[tuple[str, str], dict[str, list[_Described]]] = {}
        self._external: dict[str, dict[tuple[Any, ...], list[_ValueSeries]]] = defaultdict(dict)
        self._sums: dict[tuple[str, Selector], tuple[int, ...] | Failure] = {}

    def add_custom(self, data: Mapping[str, Any]) -> None:
        """Add a MetricValue: v1beta1 has the metric's name next to the value, v1beta2 has a block for it."""
        of, metric = inner(data, "describedObject"), inner(data, "metric")
        name = str(data.get("metricName") or metric.get("name") or "")
        selector = data.get("selector") or metric.get("selector")
        namespace = str(of.get("namespace") or "")
        described = _Described(namespace, str(of.get("name") or ""), selector, _time(data), read_value(data))
        self._custom[str(of.get("kind") or ""), name].append(described)

    def add_external(self, items: Iterable[Mapping[str, Any]]) -> None:
        """Add the items of one answer. All of them count; of a series that is in two answers, the newest counts.

        Labels identify a series between two answers; all series without labels are the same one.
        """
        answer: dict[tuple[str, tuple[Any, ...]], list[_ValueSeries]] = defaultdict(list)
        for item in items:
            labels = labels_of({"metadata": {"labels": item.get("metricLabels")}})
            identity = tuple(sorted(labels.items()))
            series = _ValueSeries(labels, _time(item), read_value(item))
            answer[str(item.get("metricName") or ""), identity].append(series)
        for (metric, identity), found in answer.items():
            known = self._external[metric].get(identity, ())
            if not _is_older(_newest(found), _newest(known)):
                self._external[metric][identity] = found

    def of_pods(
        self, metric: str, selector: Chosen, namespace: str, pods: Iterable[str], pod_selector: str
    ) -> Mapping[str, Value] | Failure:
        """A metric's value for each pod that has one."""
        values = self._by_pod(metric, namespace)
        if not values:
            return Failure(_missing(f"{_CUSTOM}/namespaces/{namespace}/pods/*/{metric}", selector, pod_selector))
        best = {pod: _best(values[pod], selector) for pod in pods if pod in values}
        return {pod: found.value for pod, found in best.items() if found is not None and found.value is not None}

    def _by_pod(self, metric: str, namespace: str) -> dict[str, list[_Described]]:
        if (metric, namespace) not in self._of_pods:
            values: dict[str, list[_Described]] = defaultdict(list)
            for one in self._custom.get(("Pod", metric), ()):
                if (one.namespace or DEFAULT_NAMESPACE) == namespace:
                    values[one.name].append(one)
            self._of_pods[metric, namespace] = values
        return self._of_pods[metric, namespace]

    def of_object(self, metric: str, selector: Chosen, namespace: str, ref: Ref) -> int | Failure:
        """A metric's value for an object; for a Namespace it is always the own one, whatever name is written."""
        is_namespace = ref.kind == "Namespace" and not ref.group
        name = namespace if is_namespace else ref.name
        asked = self._custom.get((ref.kind or "", metric), ())
        found = _best([one for one in asked if one.name == name and one.namespace in {"", namespace}], selector)
        if found is None:
            path = "metrics" if is_namespace else f"{resource_of(ref)}/{ref.name}"
            return Failure(_missing(f"{_CUSTOM}/namespaces/{namespace}/{path}/{metric}", selector))
        return Failure("its value in the input is not a quantity") if found.value is None else found.value.milli

    def external(self, metric: str, selector: Chosen, namespace: str) -> tuple[int, ...] | Failure:
        """The values of all series that match; the API does not say which namespace a series belongs to."""
        if metric not in self._external:
            return Failure(_missing(f"{_EXTERNAL}/namespaces/{namespace}/{metric}", None, selector_text(selector)))
        try:
            wanted = read_selector(selector)
        except SelectorError as error:
            return Failure(str(error), "spec")
        if (metric, wanted) not in self._sums:
            self._sums[metric, wanted] = _amounts(chain.from_iterable(self._external[metric].values()), wanted)
        return self._sums[metric, wanted]


def _newest(series: Iterable[_ValueSeries]) -> float:
    return max([one.at for one in series], default=0.0)


def _is_older(at: float, than: float) -> bool:
    """Whether a value is older than one that comes before it in the input; if a time is unknown, it is not."""
    return 0 < at < than


def _amounts(series: Iterable[_ValueSeries], wanted: Selector) -> tuple[int, ...] | Failure:
    found = all_values(one.value for one in series if wanted.matches(one.labels))
    return found if isinstance(found, Failure) else tuple([value.milli for value in found])


def _best(values: list[_Described], selector: Chosen) -> _Described | None:
    """The newest value with exactly this selector, else the newest without any selector."""
    wanted = _meaning(selector)
    exact = [one for one in values if one.selector and _meaning(one.selector) == wanted]
    newest: _Described | None = None
    for one in exact or [one for one in values if not one.selector]:
        if newest is None or not _is_older(one.at, newest.at):
            newest = one
    return newest


def _meaning(selector: Any) -> object:
    """What a selector asks for, independent of the order it is written in."""
    try:
        requirements = read_selector(selector if isinstance(selector, Mapping) else None).requirements
    except SelectorError:
        return str(selector)
    return frozenset((r.key, r.operator, frozenset(r.values)) for r in requirements)


def _missing(path: str, metric_selector: Chosen, label_selector: str = "") -> str:
    """The message if the input has no value: the command that gets it."""
    asked = {"labelSelector": label_selector, "metricLabelSelector": selector_text(metric_selector)}
    query = "&".join(f"{key}={quote(text, safe='')}" for key, text in asked.items() if text)
    return f"no value in the input; add it: kubectl get --raw '{path}{'?' if query else ''}{query}'"
