"""The usage of all pods, by one call for each reconcile (one for each namespace where only some are looked at)."""

import asyncio
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import msgspec
import structlog

from hypot.cluster.port import Answer, Port, Request, UnreachableError
from hypot.core.quantity import QuantityError, milli
from hypot.policy.model.seen import PodSample
from hypot.policy.model.state import read_time
from hypot.policy.observe.read_pods import inner, read_duration
from hypot.run.time_slice import TimeSlice

log = structlog.get_logger()
METRICS = "/apis/metrics.k8s.io/v1beta1"
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


class _Listed(msgspec.Struct, gc=False):
    """Each item as it stands: to read all of them at once would hold everybody else up."""

    items: list[msgspec.Raw] | None = None


_list_decoder, _item_decoder = msgspec.json.Decoder(_Listed), msgspec.json.Decoder(_PodMetrics)


class PodUsage(NamedTuple):
    """Samples by pod; where there are none, why."""

    samples: dict[Named, PodSample]
    trouble: str = ""


class MetricsApi:
    """metrics.k8s.io, whoever serves it."""

    def __init__(self, port: Port, namespaces: Sequence[str], timeout: float = 10.0) -> None:
        self._port, self._timeout = port, timeout
        self._paths = [f"{METRICS}/namespaces/{each}/pods" for each in namespaces] or [f"{METRICS}/pods"]

    async def read(self) -> PodUsage:
        """What is said now. One namespace that cannot be read does not take the others' samples away."""
        read = await asyncio.gather(*[self._read(path) for path in self._paths])
        samples = {named: sample for usage in read for named, sample in usage.samples.items()}
        return PodUsage(samples, next((usage.trouble for usage in read if usage.trouble), ""))

    async def _read(self, path: str) -> PodUsage:
        try:
            answer = await self._port.call(Request("GET", path, timeout=self._timeout))
        except UnreachableError as error:
            return PodUsage({}, str(error))
        if not answer.ok:
            return PodUsage({}, f"the resource metrics API answers {answer.status}: {answer.message}")
        return await _samples(answer)


async def _samples(answer: Answer) -> PodUsage:
    try:
        listed = _list_decoder.decode(answer.body)
    except msgspec.DecodeError as error:
        return PodUsage({}, f"the resource metrics API's answer cannot be read: {error}")
    samples: dict[Named, PodSample] = {}
    odd: list[tuple[msgspec.Raw, str]] = []
    time_slice = TimeSlice()
    for raw in listed.items or ():
        try:
            item = _item_decoder.decode(raw)
        except msgspec.DecodeError as error:
            odd.append((raw, str(error)))
            continue
        samples[item.metadata.namespace, item.metadata.name] = _sample(item)
        if time_slice.is_due():
            await time_slice.take()
    if odd:
        log.warning("samples passed over", pods=len(odd), first=_named(odd[0][0]), error=odd[0][1])
    return PodUsage(samples)


def _named(raw: msgspec.Raw) -> str:
    """Whose sample it would be, where that can be told."""
    try:
        metadata = inner(msgspec.json.decode(raw), "metadata")
    except (msgspec.DecodeError, UnicodeDecodeError):
        return ""
    return f"{metadata.get('namespace')}/{metadata.get('name')}"


def _sample(item: _PodMetrics) -> PodSample:
    containers = tuple([(each.name, _amounts(each.usage)) for each in item.containers])
    return PodSample(_moment(item.timestamp), _seconds(item.window), containers, item.metadata.labels)


def _amounts(usage: dict[str, str]) -> dict[str, int]:
    """Milli-units; what cannot be read counts as absent, and so does less than nothing."""
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
