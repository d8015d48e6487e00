"""Values of custom and external metrics, read from the answers of their APIs, for the queries of autoscalers."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple
from urllib.parse import quote

from hypot.kinds.base import DEFAULT_NAMESPACE, Ref
from hypot.kinds.selector import Selector, SelectorError, read_selector, show_selector
from hypot.policy.model.seen import Failure, Value
from hypot.policy.model.state import read_time
from hypot.policy.observe.read_pods import inner, labels_of, read_amount
from hypot.policy.observe.read_scale import plural

Chosen = Mapping[str, Any] | None
_CUSTOM = "/apis/custom.metrics.k8s.io/v1beta1"
_EXTERNAL = "/apis/external.metrics.k8s.io/v1beta1"
_DEFAULT_WINDOW = 60.0


class _Described(NamedTuple):
    """One value of a custom metric, and the selector of its query."""

    namespace: str
    name: str
    selector: Any
    value: Value | None


class _ValueSeries(NamedTuple):
    labels: Mapping[str, str]
    milli: int | None


class MetricValues:
    """All values of the input, by metric name."""

    def __init__(self) -> None:
        self._custom: dict[tuple[str, str], list[_Described]] = defaultdict(list)
        self._of_pods: dict[tuple[str, str], dict[str, list[_Described]]] = {}
        self._external: dict[str, dict[tuple[Any, ...], _ValueSeries]] = defaultdict(dict)
        self._sums: dict[tuple[str, Selector], tuple[int, ...] | Failure] = {}

    def add_custom(self, data: Mapping[str, Any]) -> None:
        """Add a MetricValue: v1beta1 has the metric's name next to the value, v1beta2 has a block for it."""
        of, metric = inner(data, "describedObject"), inner(data, "metric")
        name = str(data.get("metricName") or metric.get("name") or "")
        window = data.get("windowSeconds")
        amount = read_amount(data.get("value"))
        seconds = float(window) if isinstance(window, int | float) else _DEFAULT_WINDOW
        value = None if amount is None else Value(amount, read_time(data.get("timestamp")) or 0.0, seconds)
        selector = data.get("selector") or metric.get("selector")
        namespace = str(of.get("namespace") or "")
        described = _Described(namespace, str(of.get("name") or ""), selector, value)
        self._custom[str(of.get("kind") or ""), name].append(described)

    def add_external(self, data: Mapping[str, Any]) -> None:
        labels = labels_of({"metadata": {"labels": data.get("metricLabels")}})
        # Answers to two queries may share a series. Labels identify it; without labels, only an exact copy is the same.
        unnamed = (str(data.get("value")), str(data.get("timestamp")))
        key = tuple(sorted(labels.items())) or unnamed
        self._external[str(data.get("metricName") or "")][key] = _ValueSeries(labels, read_amount(data.get("value")))

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
            path = "metrics" if is_namespace else f"{_resource(ref)}/{ref.name}"
            return Failure(_missing(f"{_CUSTOM}/namespaces/{namespace}/{path}/{metric}", selector))
        return Failure("its value in the input is not a quantity") if found.value is None else found.value.milli

    def external(self, metric: str, selector: Chosen, namespace: str) -> tuple[int, ...] | Failure:
        """The values of all series that match; the API does not say which namespace a series belongs to."""
        if metric not in self._external:
            return Failure(_missing(f"{_EXTERNAL}/namespaces/{namespace}/{metric}", None, _text(selector)))
        try:
            wanted = read_selector(selector)
        except SelectorError as error:
            return Failure(str(error), "spec")
        if (metric, wanted) not in self._sums:
            self._sums[metric, wanted] = _amounts(self._external[metric].values(), wanted)
        return self._sums[metric, wanted]


def _amounts(series: Iterable[_ValueSeries], wanted: Selector) -> tuple[int, ...] | Failure:
    found = [one.milli for one in series if wanted.matches(one.labels)]
    amounts = tuple([amount for amount in found if amount is not None])
    # A sum that lacks a part would be too small and scale the target down.
    return amounts if len(amounts) == len(found) else Failure("one of its values in the input is not a quantity")


def _best(values: list[_Described], selector: Chosen) -> _Described | None:
    """The newest value with exactly this selector, else the newest without any selector."""
    wanted = _meaning(selector)
    exact = [one for one in values if one.selector and _meaning(one.selector) == wanted]
    fitting = exact or [one for one in values if not one.selector]
    return fitting[-1] if fitting else None


def _meaning(selector: Any) -> object:
    """What a selector asks for, independent of the order it is written in."""
    try:
        requirements = read_selector(selector if isinstance(selector, Mapping) else None).requirements
    except SelectorError:
        return str(selector)
    return frozenset((r.key, r.operator, frozenset(r.values)) for r in requirements)


def _resource(ref: Ref) -> str:
    resource = plural(ref.kind or "")
    return f"{resource}.{ref.group}" if ref.group else resource


def _text(selector: Chosen) -> str:
    try:
        return show_selector(selector)
    except SelectorError:
        return ""


def _missing(path: str, metric_selector: Chosen, label_selector: str = "") -> str:
    """The message if the input has no value: the command that gets it."""
    asked = {"labelSelector": label_selector, "metricLabelSelector": _text(metric_selector)}
    query = "&".join(f"{key}={quote(text, safe='')}" for key, text in asked.items() if text)
    return f"no value in the input; add it: kubectl get --raw '{path}{'?' if query else ''}{query}'"
