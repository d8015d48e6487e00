"""The usage of all pods from a Prometheus that scrapes the kubelets, instead of metrics.k8s.io."""

import asyncio
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import aiohttp
import msgspec

from hypot.cluster.prometheus import PrometheusApi, PrometheusError, VectorAnswer, VectorSeries, read_answer
from hypot.cluster.time_slice import TimeSlice
from hypot.policy.model.seen import PodSample
from hypot.run.observe.asking import LARGEST_USAGE, MOST_CONTAINERS, has_too_many
from hypot.run.observe.pod_metrics import Named, PodUsage

ANSWER_WITHIN = 10.0
# No container uses as many cores or bytes: such a value is not a measurement.
MOST = 1e18
# The window for averaging cpu: two scrapes of a kubelet that is scraped once a minute.
WINDOW = 120.0
_OF = 'container!="",container!="POD",pod!=""'
_BY = "by (namespace, pod, container)"
CPU = f"sum {_BY} (rate(container_cpu_usage_seconds_total{{{_OF}}}[{WINDOW:.0f}s]))"
MEMORY = f"sum {_BY} (container_memory_working_set_bytes{{{_OF}}})"
# A query returns its own time; the time of the measurement needs a separate query.
MEASURED = f"max {_BY} (timestamp(container_memory_working_set_bytes{{{_OF}}}))"
# The objects and texts of one series: itself and its labels; their names and values, and the value.
SERIES = (2, 9)


_decoder = msgspec.json.Decoder(VectorAnswer)
Place = tuple[str, str, str]


class Prometheus:
    """Sends three queries per reconcile, whatever the number of pods."""

    def __init__(self, api: PrometheusApi) -> None:
        self._api = api

    async def read(self) -> PodUsage:
        try:
            async with asyncio.timeout(ANSWER_WITHIN):
                cpu, memory, measured = await asyncio.gather(*[self._ask(query) for query in (CPU, MEMORY, MEASURED)])
        except TimeoutError:
            return PodUsage({}, f"Prometheus did not answer within {ANSWER_WITHIN:.0f} s")
        except (aiohttp.ClientError, OSError, PrometheusError) as error:
            return PodUsage({}, f"Prometheus cannot be queried: {str(error) or type(error).__name__}")
        return await _usage(cpu, memory, measured)

    async def _ask(self, query: str) -> dict[Place, float]:
        status, body = await self._api.ask("query", {"query": query}, LARGEST_USAGE)
        if has_too_many(body, *SERIES):
            raise PrometheusError(f"its answer has more than {MOST_CONTAINERS} series")
        read = read_answer(_decoder, status, body)
        if read.data is None:
            raise PrometheusError(f"it answers {status} without data")
        return dict(_values(read.data.result))


def _values(series: list[VectorSeries]) -> Iterator[tuple[Place, float]]:
    for each in series:
        try:
            amount = float(each.value[1])
        except ValueError:
            continue
        if 0 <= amount < MOST:
            labels = each.metric
            yield (labels.get("namespace", ""), labels.get("pod", ""), labels.get("container", "")), amount


class _Found(NamedTuple):
    """The containers of one pod, and when the oldest of them was measured."""

    containers: list[tuple[str, dict[str, int]]]
    at: float


async def _usage(cpu: dict[Place, float], memory: dict[Place, float], measured: dict[Place, float]) -> PodUsage:
    """A container may lack a sample of one resource; a container without a measurement time has no sample."""
    found: dict[Named, _Found] = {}
    time_slice = TimeSlice()
    for place, at in measured.items():
        namespace, pod, container = place
        amounts: dict[str, int] = {}
        if place in cpu:
            amounts["cpu"] = math.ceil(cpu[place] * 1000)
        if place in memory:
            amounts["memory"] = math.ceil(memory[place]) * 1000
        known = found.get((namespace, pod), _Found([], math.inf))
        known.containers.append((container, amounts))
        found[namespace, pod] = known._replace(at=min(known.at, at))
        if time_slice.is_due():
            await time_slice.take()
    return PodUsage({named: _sample(each) for named, each in found.items()})


def _sample(found: _Found) -> PodSample:
    return PodSample(found.at, WINDOW, tuple(sorted(found.containers, key=_name)))


def _name(container: tuple[str, Any]) -> str:
    return container[0]
