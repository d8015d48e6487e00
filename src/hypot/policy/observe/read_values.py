"""Values of custom and external metrics, read from the answers of their APIs, for the queries of autoscalers."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Any
from urllib.parse import quote

from hypot.kinds.base import DEFAULT_NAMESPACE, Ref
from hypot.kinds.metric_values import (
    CUSTOM,
    EXTERNAL,
    CustomValue,
    ExternalValue,
    MetricValue,
    api_path,
    read_custom,
    read_external,
)
from hypot.kinds.selector import Selector, SelectorError, read_selector, show_selector
from hypot.policy.model.seen import Failure
from hypot.policy.observe.questions import Chosen
from hypot.policy.observe.read_scale import plural

_CUSTOM, _EXTERNAL = api_path(CUSTOM), api_path(EXTERNAL)


def all_values(values: Iterable[MetricValue | None]) -> tuple[MetricValue, ...] | Failure:
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
        self._custom: dict[tuple[str, str], list[CustomValue]] = defaultdict(list)
        self._of_pods: dict[tuple[str, str], dict[str, list[CustomValue]]] = {}
        self._external: dict[str, dict[tuple[Any, ...], list[ExternalValue]]] = defaultdict(dict)
        self._sums: dict[tuple[str, Selector], tuple[int, ...] | Failure] = {}

    def add_custom(self, data: Mapping[str, Any]) -> None:
        one = read_custom(data)
        self._custom[one.of.kind, one.metric].append(one)

    def add_external(self, items: Iterable[Mapping[str, Any]]) -> None:
        """Add the items of one answer. All of them count; of a series that is in two answers, the newest counts.

        Labels identify a series between two answers; all series without labels are the same one.
        """
        answer: dict[tuple[str, tuple[Any, ...]], list[ExternalValue]] = defaultdict(list)
        for item in items:
            one = read_external(item)
            answer[one.metric, tuple(sorted(one.labels.items()))].append(one)
        for (metric, identity), found in answer.items():
            known = self._external[metric].get(identity, ())
            if not _is_older(_newest(found), _newest(known)):
                self._external[metric][identity] = found

    def of_pods(
        self, metric: str, selector: Chosen, namespace: str, pods: Iterable[str], pod_selector: str
    ) -> Mapping[str, MetricValue] | Failure:
        """A metric's value for each pod that has one."""
        values = self._by_pod(metric, namespace)
        if not values:
            return Failure(_missing(f"{_CUSTOM}/namespaces/{namespace}/pods/*/{metric}", selector, pod_selector))
        best = {pod: _best(values[pod], selector) for pod in pods if pod in values}
        return {pod: found.value for pod, found in best.items() if found is not None and found.value is not None}

    def _by_pod(self, metric: str, namespace: str) -> dict[str, list[CustomValue]]:
        if (metric, namespace) not in self._of_pods:
            values: dict[str, list[CustomValue]] = defaultdict(list)
            for one in self._custom.get(("Pod", metric), ()):
                if (one.of.namespace or DEFAULT_NAMESPACE) == namespace:
                    values[one.of.name].append(one)
            self._of_pods[metric, namespace] = values
        return self._of_pods[metric, namespace]

    def of_object(self, metric: str, selector: Chosen, namespace: str, ref: Ref) -> int | Failure:
        """A metric's value for an object; for a Namespace it is always the own one, whatever name is written."""
        is_namespace = ref.kind == "Namespace" and not ref.group
        name = namespace if is_namespace else ref.name
        asked = self._custom.get((ref.kind or "", metric), ())
        found = _best([one for one in asked if one.of.name == name and one.of.namespace in {"", namespace}], selector)
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


def _newest(series: Iterable[ExternalValue]) -> float:
    return max([one.at for one in series], default=0.0)


def _is_older(at: float, than: float) -> bool:
    """Whether a value is older than one that comes before it in the input; if a time is unknown, it is not."""
    return 0 < at < than


def _amounts(series: Iterable[ExternalValue], wanted: Selector) -> tuple[int, ...] | Failure:
    found = all_values(one.value for one in series if wanted.matches(one.labels))
    return found if isinstance(found, Failure) else tuple([value.milli for value in found])


def _best(values: list[CustomValue], selector: Chosen) -> CustomValue | None:
    """The newest value with exactly this selector, else the newest without any selector."""
    wanted = _meaning(selector)
    exact = [one for one in values if one.selector and _meaning(one.selector) == wanted]
    newest: CustomValue | None = None
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
