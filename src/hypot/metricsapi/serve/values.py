"""The values that answer a query, as bytes that are made once per sample."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

import msgspec

from hypot.cluster.clock import boot
from hypot.kinds.metric_values import (
    ALL,
    CUSTOM,
    CustomValue,
    ExternalValue,
    MetricObject,
    custom_list,
    external_list,
    write_custom,
    write_external,
)
from hypot.kinds.selector import Selector
from hypot.metricsapi.ages import Ages
from hypot.metricsapi.serve.lists import ListChoice, ListItem, Lists
from hypot.metricsapi.serve.query import PODS, ValueQuery
from hypot.metricsapi.targets import ScrapeTarget, ScrapeTargets

_encode = msgspec.json.Encoder().encode
# The label of an external series that names its pod.
POD_LABEL = "pod"


class UnknownMetricError(LookupError):
    """A metric that no rule serves, or an object without a value; the message is for the client."""


class _Place(NamedTuple):
    """A rule that serves a metric, and which of its metrics that is."""

    rule: str
    i: int


class ServedValues:
    """Answers queries from the targets."""

    def __init__(self, targets: ScrapeTargets, ages: Ages, clock: Callable[[], float] = boot) -> None:
        self._targets, self._ages, self._clock = targets, ages, clock
        self._places = {external: self._served(external=external) for external in (False, True)}
        self._lists = Lists()

    def _served(self, *, external: bool) -> dict[str, list[_Place]]:
        found: dict[str, list[_Place]] = {}
        for rule in self._targets.plan.rules:
            for i, served in enumerate(rule.served):
                for name in served.names if served.external or not external else ():
                    found.setdefault(name, []).append(_Place(rule.name, i))
        return found

    def names(self, *, external: bool) -> tuple[str, ...]:
        """The metrics that are served."""
        return tuple(self._places[external])

    def owns(self, query: ValueQuery) -> bool:
        """Whether a rule serves this metric."""
        external = query.group != CUSTOM
        return query.metric in self._places[external] and (external or query.resource == PODS)

    def answer(self, query: ValueQuery) -> list[bytes]:
        """The list that answers a query, in pieces. Raises an UnknownMetricError if there is nothing to answer with."""
        if not self.owns(query):
            of = "" if query.group != CUSTOM else f" of {query.resource}"
            raise UnknownMetricError(f"the metric {query.metric}{of} is not served: no rule has this name")
        items = self._texts(query, self._clock()) if query.series.matches({}) else []
        if not items and query.name != ALL:
            raise UnknownMetricError(
                f"{query.resource} {query.name} in {query.namespace} has no value of {query.metric}"
            )
        before, after = _around(query)
        return [before, *_separated(items), after]

    def _texts(self, query: ValueQuery, now: float) -> list[bytes]:
        """The items of the answer, one or some together in each text."""
        if query.name == ALL and not query.series.requirements:
            places = self._places[query.group != CUSTOM][query.metric]
            generation = tuple([self._targets.generation(place.rule, query.namespace) for place in places])
            choose, write = partial(self._chosen, query), partial(self._item, query)
            return self._lists.texts(query, now, generation, choose, write)
        items = [self._item(query, choice, now) for choice in self._chosen(query)]
        return [item.text for item in items if item is not None]

    def _chosen(self, query: ValueQuery) -> list[ListChoice]:
        """The targets that a query is about. If two rules serve the metric for one pod, the first one counts."""
        labels, found = _labels if query.group == CUSTOM else _series_labels, dict[str, ListChoice]()
        for place in self._places[query.group != CUSTOM][query.metric]:
            pods = self._targets.of_rule(place.rule, query.namespace)
            for target in pods.values() if query.name == ALL else filter(None, [pods.get(query.name)]):
                if query.objects.matches(labels(target)):
                    found.setdefault(target.pod.name, ListChoice(target, place.i))
        return list(found.values())

    def _item(self, query: ValueQuery, choice: ListChoice, now: float) -> ListItem | None:
        """A value in the form of this API, made at its first use."""
        target, i = choice
        key = (query.group, query.version, query.metric)
        kept: ListItem | None = None if query.series.requirements else target.made.get(key)
        if kept is not None and now <= kept.until:
            return kept
        value = target.value(i, now, self._ages)
        if value is None:
            return None
        if query.group == CUSTOM:
            pod = MetricObject("Pod", target.pod.namespace, target.pod.name, uid=target.pod.uid)
            one = CustomValue(pod, query.metric, value, _structured(query.series))
            text = _encode(write_custom(one, query.version))
        else:
            text = _encode(write_external(ExternalValue(query.metric, _series_labels(target), value)))
        made = ListItem(target.expires(i, self._ages), text)
        if not query.series.requirements:
            target.made[key] = made
        return made


def _labels(target: ScrapeTarget) -> Mapping[str, str]:
    return target.pod.labels


def _series_labels(target: ScrapeTarget) -> Mapping[str, str]:
    return {**target.pod.labels, POD_LABEL: target.pod.name}


def _structured(selector: Selector) -> Mapping[str, object] | None:
    """A selector as a LabelSelector; null if it is empty."""
    if not selector.requirements:
        return None
    words = {"in": "In", "notin": "NotIn", "exists": "Exists", "!": "DoesNotExist"}
    written = [
        {"key": one.key, "operator": words.get(one.operator, one.operator), "values": list(one.values)}
        for one in selector.requirements
    ]
    return {"matchExpressions": written}


def _separated(items: list[bytes]) -> list[bytes]:
    return [part for item in items for part in (b",", item)][1:]


def _around(query: ValueQuery) -> tuple[bytes, bytes]:
    """What comes before and after the items."""
    empty = custom_list([], query.version) if query.group == CUSTOM else external_list([])
    before, after = _encode(empty).split(b"[]")
    return before + b"[", b"]" + after
