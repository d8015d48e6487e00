"""Custom and external metrics: every distinct query is sent once per reconcile, however many autoscalers need it."""

import asyncio
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any
from urllib.parse import quote

from hypot.cluster.port import Port, Request, UnreachableError
from hypot.kinds.base import Ref
from hypot.kinds.metric_values import CUSTOM, CUSTOM_VERSIONS, EXTERNAL, MetricValue, api_path, read_custom, read_value
from hypot.kinds.values.nested import inner, mappings
from hypot.policy.model.seen import Failure
from hypot.policy.observe.freshness import MOST_AHEAD, is_old
from hypot.policy.observe.questions import Chosen, Questions
from hypot.policy.observe.read_values import all_values, resource_of, selector_text
from hypot.run.observe.asking import LARGEST_METRIC, LIMITS, Crowd, Question, TimeLimits

_CUSTOM, _EXTERNAL = api_path(CUSTOM, CUSTOM_VERSIONS[0]), api_path(EXTERNAL)

# Each reconcile queries all others.
NOT_QUERIED = "its namespace has not opted in, or its target has no scale"
Items = tuple[Mapping[str, Any], ...]
_Key = tuple[str, tuple[tuple[str, str], ...]]


def pods_query(metric: str, selector: Chosen, namespace: str, pod_selector: str) -> Request:
    path = f"{_CUSTOM}/namespaces/{quote(namespace)}/pods/*/{quote(metric, safe='')}"
    return _asked(path, labelSelector=pod_selector, metricLabelSelector=selector_text(selector))


def object_query(metric: str, selector: Chosen, namespace: str, ref: Ref) -> Request:
    """The query for an object; a Namespace is always the autoscaler's own, whatever name the reference has."""
    if ref.kind == "Namespace" and not ref.group:
        path = f"metrics/{quote(metric, safe='')}"
    else:
        path = f"{quote(resource_of(ref))}/{quote(ref.name or '', safe='')}/{quote(metric, safe='')}"
    return _asked(f"{_CUSTOM}/namespaces/{quote(namespace)}/{path}", metricLabelSelector=selector_text(selector))


def external_query(metric: str, selector: Chosen, namespace: str) -> Request:
    path = f"{_EXTERNAL}/namespaces/{quote(namespace)}/{quote(metric, safe='')}"
    return _asked(path, labelSelector=selector_text(selector))


def _asked(path: str, **parts: str) -> Request:
    return Request("GET", path, {key: text for key, text in parts.items() if text}, largest=LARGEST_METRIC)


def queries_of(questions: Questions, namespace: str, pod_selector: str) -> list[Request]:
    """All queries for one autoscaler."""
    found = [pods_query(asked.name or "", asked.selector, namespace, pod_selector) for asked in questions.pods]
    found += [object_query(asked.name or "", asked.selector, namespace, ref) for asked, ref in questions.objects]
    return found + [external_query(asked.name, asked.selector, namespace) for asked in questions.external]


def _key(request: Request) -> _Key:
    return request.path, tuple(sorted(request.query.items()))


class Answered:
    """The answers of the metrics APIs in this reconcile; it has the same interface as the values of a dump."""

    def __init__(self, found: Mapping[Any, Items | Failure], now: float) -> None:
        self._found, self._now = found, now

    def of_pods(
        self, metric: str, selector: Chosen, namespace: str, pods: Iterable[str], pod_selector: str
    ) -> Mapping[str, MetricValue] | Failure:
        """A metric's value for each pod that has one; the query was for the pods of this selector."""
        del pods
        items = self._of(pods_query(metric, selector, namespace, pod_selector))
        if isinstance(items, Failure):
            return items
        values = {one.of.name: one.value for one in map(read_custom, items)}
        return {name: value for name, value in values.items() if value is not None and not self._is_stale(value)}

    def of_object(self, metric: str, selector: Chosen, namespace: str, ref: Ref) -> int | Failure:
        items = self._of(object_query(metric, selector, namespace, ref))
        if isinstance(items, Failure):
            return items
        value = read_value(items[0]) if items else None
        if value is None:
            return Failure(f"the metric {metric} of {ref} has no value that can be read")
        return self._stale(metric) if self._is_stale(value) else value.milli

    def external(self, metric: str, selector: Chosen, namespace: str) -> tuple[int, ...] | Failure:
        """The values of all series of the answer, also of those with equal labels."""
        items = self._of(external_query(metric, selector, namespace))
        if isinstance(items, Failure):
            return items
        values = all_values(map(read_value, items))
        if isinstance(values, Failure):
            return values
        if any(map(self._is_stale, values)):
            return self._stale(metric)
        return tuple([value.milli for value in values])

    def _is_stale(self, value: MetricValue) -> bool:
        """Whether a value is too old or from the future. A value that never changes soon becomes too old.

        A value without a time is accepted: some adapters give none, and they compute the value for this query.
        Refusing it would leave its autoscalers without any metric for ever.
        """
        if not value.at:
            return False
        return value.at > self._now + MOST_AHEAD or is_old(value.at, value.window, self._now)

    def _stale(self, metric: str) -> Failure:
        return Failure(f"the metric {metric} is too old, or from the future")

    def _of(self, request: Request) -> Items | Failure:
        return self._found.get(_key(request), Failure(f"{request.path} was not queried: {NOT_QUERIED}"))


class MetricApis:
    """Both APIs, each with its own deadline: an adapter that hangs does not take the time of the other."""

    def __init__(self, port: Port, limits: TimeLimits = LIMITS) -> None:
        self._port = port
        self._crowds = {api: Crowd(limits) for api in (_CUSTOM, _EXTERNAL)}

    async def ask(self, requests: Iterable[Request], now: float) -> Answered:
        """Send each distinct query once, several at the same time."""
        distinct = {_key(request): request for request in requests}
        found = await asyncio.gather(*[self._ask(api, distinct) for api in self._crowds])
        return Answered({key: answer for answers in found for key, answer in answers.items()}, now)

    async def _ask(self, api: str, distinct: Mapping[_Key, Request]) -> dict[_Key, Items | Failure]:
        asked = {key: request for key, request in distinct.items() if request.path.startswith(api)}
        questions = [self._question(api, request) for request in asked.values()]
        return dict(zip(asked, await self._crowds[api].ask(questions), strict=True))

    def _question(self, api: str, request: Request) -> Question[Items | Failure]:
        """The question for a request; its tenant is the namespace in the path."""
        tenant = request.path.removeprefix(f"{api}/namespaces/").split("/", 1)[0]
        return Question(tenant, request.path, request.path, partial(_ask, self._port, request))


async def _ask(port: Port, request: Request) -> Items | Failure:
    try:
        answer = await port.call(request)
    except UnreachableError as error:
        return Failure(str(error))
    if not answer.ok:
        return Failure(f"{request.path} answers {answer.status}: {answer.message}")
    return tuple(mappings(inner(answer.json()).get("items")))
