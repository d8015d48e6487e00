"""The values that answer a query, as bytes that are made once per sample."""

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
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
from hypot.metricsapi.serve.query import PODS, ValueQuery
from hypot.metricsapi.targets import ScrapeTarget, ScrapeTargets

_encode = msgspec.json.Encoder().encode
MOST_CHOICES = 256
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
        self._choices: OrderedDict[tuple[str, str, Selector], tuple[int, list[ScrapeTarget]]] = OrderedDict()

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

    def answer(self, query: ValueQuery) -> bytes:
        """The list that answers a query. Raises an UnknownMetricError if there is nothing to answer with."""
        if not self.owns(query):
            of = "" if query.group != CUSTOM else f" of {query.resource}"
            raise UnknownMetricError(f"the metric {query.metric}{of} is not served: no rule has this name")
        items = list(self._items(query)) if query.series.matches({}) else []
        if not items and query.name != ALL:
            raise UnknownMetricError(
                f"{query.resource} {query.name} in {query.namespace} has no value of {query.metric}"
            )
        head = _heads(query)
        return b"".join((head[0], b",".join(items), head[1]))

    def _items(self, query: ValueQuery) -> Iterator[bytes]:
        """If two rules serve the metric for one pod, the first one counts."""
        now, seen = self._clock(), set[str]()
        places = self._places[query.group != CUSTOM][query.metric]
        for place in places:
            for target in self._chosen(place.rule, query):
                if target.pod.name not in seen and (found := self._item(target, place.i, query, now)):
                    yield found
                if len(places) > 1:
                    seen.add(target.pod.name)

    def _chosen(self, rule: str, query: ValueQuery) -> list[ScrapeTarget] | Iterator[ScrapeTarget]:
        pods = self._targets.of_rule(rule, query.namespace)
        if query.group != CUSTOM:
            return (each for each in pods.values() if query.objects.matches(_series_labels(each)))
        if query.name != ALL:
            return (
                each for name, each in pods.items() if name == query.name and query.objects.matches(each.pod.labels)
            )
        key = (rule, query.namespace, query.objects)
        known = self._choices.get(key)
        if known is None or known[0] != self._targets.generation:
            chosen = [each for each in pods.values() if query.objects.matches(each.pod.labels)]
            known = self._choices[key] = (self._targets.generation, chosen)
            while len(self._choices) > MOST_CHOICES:
                self._choices.popitem(last=False)
        return known[1]

    def _item(self, target: ScrapeTarget, i: int, query: ValueQuery, now: float) -> bytes | None:
        """A value in the form of this API, made at its first use."""
        key = (query.group, query.version, query.metric, bool(query.series.requirements))
        kept = target.made.get(key)
        if kept is not None and now <= kept[0]:
            return kept[1]
        value = target.value(i, now, self._ages)
        if value is None:
            return None
        if query.group == CUSTOM:
            pod = MetricObject("Pod", target.pod.namespace, target.pod.name, uid=target.pod.uid)
            one = CustomValue(pod, query.metric, value, _structured(query.series))
            made = _encode(write_custom(one, query.version))
        else:
            made = _encode(write_external(ExternalValue(query.metric, _series_labels(target), value)))
        if not query.series.requirements:
            target.made[key] = (target.expires(i, self._ages), made)
        return made


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


def _heads(query: ValueQuery) -> tuple[bytes, bytes]:
    """What comes before and after the items."""
    empty = custom_list([], query.version) if query.group == CUSTOM else external_list([])
    before, after = _encode(empty).split(b"[]")
    return before + b"[", b"]" + after
