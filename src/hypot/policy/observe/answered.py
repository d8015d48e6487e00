"""The answers of the custom and external metrics APIs, each for exactly the query that was sent."""

from collections.abc import Iterable, Mapping
from typing import Any

from hypot.kinds.base import Ref
from hypot.kinds.metric_values import MetricValue, read_custom, read_value
from hypot.policy.model.seen import Failure
from hypot.policy.observe.freshness import MOST_AHEAD, is_old
from hypot.policy.observe.metric_queries import MetricQuery, external_query, object_query, pods_query
from hypot.policy.observe.questions import Chosen, Values
from hypot.policy.observe.read_values import all_values

Items = tuple[Mapping[str, Any], ...]
# Each reconcile sends all other queries.
NOT_QUERIED = "its namespace has not opted in, or its target has no scale"


class Answered:
    """The answers by query; it has the same interface as the values of a dump."""

    def __init__(self, found: Mapping[MetricQuery, Items | Failure], otherwise: Values | None = None) -> None:
        """Take the answers, without values that are too old. `otherwise` answers the queries that were not sent."""
        self.found, self._otherwise = found, otherwise

    def of_pods(
        self, metric: str, selector: Chosen, namespace: str, pods: Iterable[str], pod_selector: str
    ) -> Mapping[str, MetricValue] | Failure:
        """A metric's value for each pod that has one; the query was for the pods of this selector."""
        query = pods_query(metric, selector, namespace, pod_selector)
        if self._otherwise is not None and query not in self.found:
            return self._otherwise.of_pods(metric, selector, namespace, pods, pod_selector)
        items = self._of(query)
        if isinstance(items, Failure):
            return items
        values = {one.of.name: one.value for one in map(read_custom, items)}
        return {name: value for name, value in values.items() if value is not None}

    def of_object(self, metric: str, selector: Chosen, namespace: str, ref: Ref) -> int | Failure:
        query = object_query(metric, selector, namespace, ref)
        if self._otherwise is not None and query not in self.found:
            return self._otherwise.of_object(metric, selector, namespace, ref)
        items = self._of(query)
        if isinstance(items, Failure):
            return items
        value = read_value(items[0]) if items else None
        if value is None:
            return Failure(f"the metric {metric} of {ref} has no value that can be read")
        return value.milli

    def external(self, metric: str, selector: Chosen, namespace: str) -> tuple[int, ...] | Failure:
        """The values of all series of the answer, also of those with equal labels."""
        query = external_query(metric, selector, namespace)
        if self._otherwise is not None and query not in self.found:
            return self._otherwise.external(metric, selector, namespace)
        items = self._of(query)
        if isinstance(items, Failure):
            return items
        values = all_values(map(read_value, items))
        if isinstance(values, Failure):
            return values
        return tuple([value.milli for value in values])

    def _of(self, query: MetricQuery) -> Items | Failure:
        return self.found.get(query, Failure(f"{query.path} was not queried: {NOT_QUERIED}"))


def timely(query: MetricQuery, items: Items, now: float) -> Items | Failure:
    """The answer without values that are too old or from the future; of pods one by one, else all or none."""
    stale = [item for item in items if _is_stale(read_value(item), now)]
    if not stale:
        return items
    if query.is_of_pods:
        return tuple([item for item in items if item not in stale])
    return Failure(f"the metric {query.metric} is too old, or from the future")


def _is_stale(value: MetricValue | None, now: float) -> bool:
    """Whether a value is too old or from the future. A value that never changes soon becomes too old.

    A value without a time is accepted: some adapters give none, and they compute the value for this query.
    Refusing it would leave its autoscalers without any metric forever.
    """
    if value is None or not value.at:
        return False
    return value.at > now + MOST_AHEAD or is_old(value.at, value.window, now)
