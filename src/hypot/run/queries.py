"""Custom and external metrics: every distinct question is asked once per sweep, whoever wants the answer."""

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote

from hypot.cluster.port import Port, Request, UnreachableError
from hypot.kinds.base import Ref
from hypot.kinds.selector import SelectorError, show_selector
from hypot.policy.answers import Chosen
from hypot.policy.freshness import is_old
from hypot.policy.memory import read_time
from hypot.policy.podrow import inner, mappings, read_amount
from hypot.policy.questions import Questions
from hypot.policy.scalerow import plural
from hypot.policy.seen import Failure, Value

_CUSTOM = "/apis/custom.metrics.k8s.io/v1beta2"
_EXTERNAL = "/apis/external.metrics.k8s.io/v1beta1"
_DEFAULT_WINDOW = 60.0
# Questions that are under way at the same time.
AT_ONCE = 16

Items = tuple[Mapping[str, Any], ...]


def pods_query(metric: str, selector: Chosen, namespace: str, pod_selector: str) -> Request:
    path = f"{_CUSTOM}/namespaces/{quote(namespace)}/pods/*/{quote(metric, safe='')}"
    return Request("GET", path, _query(labelSelector=pod_selector, metricLabelSelector=_text(selector)))


def object_query(metric: str, selector: Chosen, namespace: str, ref: Ref) -> Request:
    """A namespace is asked about itself, whatever name is written."""
    if ref.kind == "Namespace" and not ref.group:
        path = f"metrics/{quote(metric, safe='')}"
    else:
        resource = plural(ref.kind or "") + (f".{ref.group}" if ref.group else "")
        path = f"{quote(resource)}/{quote(ref.name or '', safe='')}/{quote(metric, safe='')}"
    return Request(
        "GET", f"{_CUSTOM}/namespaces/{quote(namespace)}/{path}", _query(metricLabelSelector=_text(selector))
    )


def external_query(metric: str, selector: Chosen, namespace: str) -> Request:
    path = f"{_EXTERNAL}/namespaces/{quote(namespace)}/{quote(metric, safe='')}"
    return Request("GET", path, _query(labelSelector=_text(selector)))


def _query(**parts: str) -> dict[str, str]:
    return {key: text for key, text in parts.items() if text}


def _text(selector: Chosen) -> str:
    try:
        return show_selector(selector)
    except SelectorError:
        return ""


def queries_of(questions: Questions, namespace: str, pod_selector: str) -> list[Request]:
    """Everything that has to be asked for one autoscaler."""
    found = [pods_query(asked.name or "", asked.selector, namespace, pod_selector) for asked in questions.pods]
    found += [object_query(asked.name or "", asked.selector, namespace, ref) for asked, ref in questions.objects]
    return found + [external_query(asked.name, asked.selector, namespace) for asked in questions.external]


def _key(request: Request) -> tuple[str, tuple[tuple[str, str], ...]]:
    return request.path, tuple(sorted(request.query.items()))


class Answered:
    """What the metrics APIs said in this sweep; it answers as the values of a dump do."""

    def __init__(self, found: Mapping[Any, Items | Failure], now: float) -> None:
        self._found, self._now = found, now

    def of_pods(
        self, metric: str, selector: Chosen, namespace: str, pods: Iterable[str], pod_selector: str
    ) -> Mapping[str, Value] | Failure:
        """A metric's value for each pod that has one; the API was asked for the pods of this selector."""
        del pods
        items = self._of(pods_query(metric, selector, namespace, pod_selector))
        if isinstance(items, Failure):
            return items
        values = {str(inner(item, "describedObject").get("name") or ""): _value(item) for item in items}
        return {name: value for name, value in values.items() if value is not None and not self._is_stale(value)}

    def of_object(self, metric: str, selector: Chosen, namespace: str, ref: Ref) -> int | Failure:
        items = self._of(object_query(metric, selector, namespace, ref))
        if isinstance(items, Failure):
            return items
        value = _value(items[0]) if items else None
        if value is None:
            return Failure(f"the metric {metric} of {ref} has no value that can be read")
        return self._stale(metric) if self._is_stale(value) else value.milli

    def external(self, metric: str, selector: Chosen, namespace: str) -> tuple[int, ...] | Failure:
        """A sum without one of its parts would be too small, so one that cannot be read takes all of them away."""
        items = self._of(external_query(metric, selector, namespace))
        if isinstance(items, Failure):
            return items
        values = [value for item in items if (value := _value(item)) is not None]
        if len(values) < len(items):
            return Failure(f"a value of the external metric {metric} is no quantity")
        if any(map(self._is_stale, values)):
            return self._stale(metric)
        return tuple([value.milli for value in values])

    def _is_stale(self, value: Value) -> bool:
        """A value that does not tell its time is taken as it is."""
        return bool(value.at) and is_old(value.at, value.window, self._now)

    def _stale(self, metric: str) -> Failure:
        return Failure(f"the metric {metric} is too old to be believed")

    def _of(self, request: Request) -> Items | Failure:
        return self._found.get(_key(request), Failure(f"{request.path} was not asked in this sweep"))


def _value(item: Mapping[str, Any]) -> Value | None:
    amount, window = read_amount(item.get("value")), item.get("windowSeconds")
    seconds = float(window) if isinstance(window, int | float) else _DEFAULT_WINDOW
    return None if amount is None else Value(amount, read_time(item.get("timestamp")) or 0.0, seconds)


async def ask_all(port: Port, requests: Iterable[Request], now: float) -> Answered:
    """Each distinct question once, some at the same time."""
    distinct = {_key(request): request for request in requests}
    limit = asyncio.Semaphore(AT_ONCE)

    async def ask(request: Request) -> Items | Failure:
        async with limit:
            return await _ask(port, request)

    answers = await asyncio.gather(*[ask(request) for request in distinct.values()])
    return Answered(dict(zip(distinct, answers, strict=True)), now)


async def _ask(port: Port, request: Request) -> Items | Failure:
    try:
        answer = await port.call(request)
    except UnreachableError as error:
        return Failure(str(error))
    if not answer.ok:
        return Failure(f"{request.path} answers {answer.status}: {answer.message}")
    return tuple(mappings(inner(answer.json()).get("items")))
