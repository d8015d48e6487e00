"""The usage of all pods, by one call per reconcile (one per namespace if only some are watched)."""

import asyncio
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import msgspec
import structlog

from hypot.cluster.page import UnreadableError, read_items, read_object
from hypot.cluster.port import Answer, Port, Request, UnreachableError
from hypot.cluster.time_slice import TimeSlice
from hypot.core.instant import read_duration, read_time
from hypot.core.quantity import QuantityError, milli
from hypot.kinds.metric_values import RESOURCE, api_path
from hypot.kinds.values.nested import inner
from hypot.policy.model.seen import PodSample
from hypot.run.observe.asking import LARGEST_USAGE, MOST_CONTAINERS, USAGE_AT_ONCE, has_too_many

log = structlog.get_logger()
METRICS = api_path(RESOURCE)
# Namespace and name of a pod.
Named = tuple[str, str]


class _MetricsMetadata(msgspec.Struct, gc=False):
    name: str = ""
    namespace: str = ""
    labels: dict[str, str] = {}


class _Container(msgspec.Struct, gc=False):
    name: str = ""
    usage: dict[str, str] = {}


class _PodMetrics(msgspec.Struct, gc=False):
    metadata: _MetricsMetadata
    timestamp: str = ""
    window: str = ""
    containers: list[_Container] = []


_item_decoder = msgspec.json.Decoder(_PodMetrics)


class PodUsage(NamedTuple):
    """Samples by pod, and why some or all of them could not be read."""

    samples: dict[Named, PodSample]
    trouble: str = ""


class MetricsApi:
    """The metrics.k8s.io API, from any provider."""

    def __init__(self, port: Port, namespaces: Sequence[str], timeout: float = 10.0) -> None:
        self._port, self._timeout = port, timeout
        self._turns = asyncio.Semaphore(USAGE_AT_ONCE)
        self._paths = [f"{METRICS}/namespaces/{each}/pods" for each in namespaces] or [f"{METRICS}/pods"]

    async def read(self) -> PodUsage:
        """The current samples. A namespace that cannot be read does not remove the samples of the others."""
        read = await asyncio.gather(*[self._read(path) for path in self._paths])
        samples = {named: sample for usage in read for named, sample in usage.samples.items()}
        return PodUsage(samples, next((usage.trouble for usage in read if usage.trouble), ""))

    async def _read(self, path: str) -> PodUsage:
        async with self._turns:
            return await self._asked(Request("GET", path, timeout=self._timeout, largest=LARGEST_USAGE))

    async def _asked(self, request: Request) -> PodUsage:
        try:
            answer = await self._port.call(request)
        except UnreachableError as error:
            return PodUsage({}, str(error))
        if not answer.ok:
            return PodUsage({}, f"the resource metrics API answers {answer.status}: {answer.message}")
        return await _samples(answer)


# The objects and texts of one container, and as many for each pod: names, times, usage, and some labels.
CONTAINER = (6, 48)


async def _samples(answer: Answer) -> PodUsage:
    if has_too_many(answer.body, *CONTAINER):
        return PodUsage({}, f"the resource metrics API's answer has more than {MOST_CONTAINERS} containers")
    try:
        # Undecoded: decoding all of them at once would block other tasks.
        listed = read_items(answer.body)
    except UnreadableError as error:
        return PodUsage({}, f"the resource metrics API's answer cannot be read: {error}")
    samples: dict[Named, PodSample] = {}
    odd, first, why = 0, "", ""
    time_slice = TimeSlice()
    for raw in listed:
        try:
            item = _item_decoder.decode(raw)
            samples[item.metadata.namespace, item.metadata.name] = _sample(item)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            odd += 1
            if odd == 1:
                first, why = _named(raw), str(error)
        if time_slice.is_due():
            await time_slice.take()
    if odd:
        log.warning("samples ignored", pods=odd, first=first, error=why)
    return PodUsage(samples)


def _named(raw: msgspec.Raw) -> str:
    """The pod of an unreadable sample; empty if that cannot be read either."""
    try:
        metadata = inner(read_object(raw), "metadata")
    except UnreadableError:
        return ""
    return f"{metadata.get('namespace')}/{metadata.get('name')}"


def _sample(item: _PodMetrics) -> PodSample:
    containers = tuple([(each.name, _amounts(each.usage)) for each in item.containers])
    return PodSample(_moment(item.timestamp), _seconds(item.window), containers, item.metadata.labels)


def _amounts(usage: dict[str, str]) -> dict[str, int]:
    """The amounts in milli-units; unreadable and negative amounts count as absent."""
    found: dict[str, int] = {}
    for resource, text in usage.items():
        try:
            amount = milli(text)
        except QuantityError:
            continue
        if amount >= 0:
            found[resource] = amount
    return found


@lru_cache(4096)
def _moment(text: str) -> float:
    return read_time(text) or 0.0


@lru_cache(256)
def _seconds(text: str) -> float:
    return read_duration(text) or 0.0
