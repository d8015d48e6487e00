"""The usage of a workload over weeks, from the Prometheus that also has the usage of now.

Pods of the past are found by their names, because only their names are left of them.
"""

import asyncio
import re
from collections.abc import Iterable, Iterator

import aiohttp
import msgspec

from hypot.cluster.prometheus import PrometheusAnswer, PrometheusApi, PrometheusError, read_answer
from hypot.core.amount import CPU
from hypot.kinds.base import Ref
from hypot.kinds.tortoise.settings import DAY
from hypot.policy.model.size import Place
from hypot.run.observe.prometheus import MOST
from hypot.run.observe.recommenders import shown_error

# The step of a query in seconds: a rate over five minutes leaves nothing out.
STEP = 300
# One query is for a week: many short ones leave room for others.
WEEK = round(7 * DAY)
ANSWER_WITHIN = 30.0
# About five times a week of usage.
LARGEST = 1 << 19
# Where pods of a kind that nothing is known about may have different names, so many are looked for.
MOST_STEMS = 8
# The letters of names that Kubernetes makes. They spell no words, so `web-api-…` is not a pod of `web`.
_LETTER = "[bcdfghjklmnpqrstvwxz2456789]"
_SUFFIX = f"{_LETTER}{{5}}"
_HASH = f"{_LETTER}{{1,10}}"
# What Kubernetes leaves of a name when it adds a suffix.
_LONGEST_STEM = 58
_TEMPLATED = frozenset({"Deployment", "Rollout"})
_PLAIN = frozenset({"ReplicaSet", "ReplicationController"})
_NUMBERED = frozenset({"StatefulSet"})


class _RangeSeries(msgspec.Struct, gc=False):
    values: list[tuple[float, str]] = []


class _RangeData(msgspec.Struct, gc=False):
    result: list[_RangeSeries] = []


class _RangeAnswer(PrometheusAnswer, gc=False):
    data: _RangeData = msgspec.field(default_factory=_RangeData)


_decoder = msgspec.json.Decoder(_RangeAnswer)


class PastUsage:
    """Reads the usage of one container of all pods of a workload."""

    def __init__(self, api: PrometheusApi) -> None:
        self._api = api

    async def read(self, query: str, start: float, end: float) -> dict[int, float]:
        """The usage at each time that it is known, in cores or bytes. Raises a PrometheusError."""
        found: dict[int, float] = {}
        first, last = -(-int(start) // STEP) * STEP, int(end) // STEP * STEP
        while first <= last:
            until = min(last, first + WEEK - STEP)
            found.update(await self._part(query, first, until))
            first = until + STEP
        return found

    async def _part(self, query: str, first: int, last: int) -> Iterator[tuple[int, float]]:
        form = {"query": query, "start": str(first), "end": str(last), "step": str(STEP)}
        try:
            async with asyncio.timeout(ANSWER_WITHIN):
                status, body = await self._api.ask("query_range", form, LARGEST)
        except TimeoutError:
            raise PrometheusError(f"it did not answer within {ANSWER_WITHIN:.0f} s") from None
        except (aiohttp.ClientError, OSError) as error:
            raise PrometheusError(shown_error(error)) from error
        series = read_answer(_decoder, status, body).data.result
        if len(series) > 1:
            raise PrometheusError(f"it answers with {len(series)} series instead of one")
        return _points(series[0].values if series else (), first, last)


def _points(values: Iterable[tuple[float, str]], first: int, last: int) -> Iterator[tuple[int, float]]:
    """The numbers that can be measurements, at times that were asked for."""
    for at, text in values:
        try:
            amount = float(text)
        except ValueError:
            continue
        if first <= at <= last and at % STEP == 0 and 0 <= amount < MOST:
            yield int(at), amount


def query_of(place: Place, namespace: str, pods: str) -> str:
    """The query for what all pods with such names together use in one place."""
    container, resource = place
    labels = f'namespace="{_plain(namespace)}",pod=~"{pods}",container="{_plain(container)}"'
    if resource == CPU:
        return f"sum(rate(container_cpu_usage_seconds_total{{{labels}}}[{STEP}s]))"
    return f"sum(container_memory_working_set_bytes{{{labels}}})"


def names_of_pods(target: Ref, pods: Iterable[str]) -> str:
    """A regular expression for the names of all pods that the target ever had; `pods` are those of now.

    Of a kind that nothing is known about, all pods are called like those of now. Empty if nobody knows.
    """
    kind, name = target.kind or "", target.name or ""
    if kind in _TEMPLATED:
        return _templated(name)
    if kind in _PLAIN:
        return _suffixed(name)
    if kind in _NUMBERED:
        return f"{_escaped(name)}-[0-9]+"
    return "|".join(sorted({pattern for pod in pods if (pattern := _alike(pod))})[:MOST_STEMS])


def _templated(name: str) -> str:
    """A pod of a ReplicaSet whose name ends in a hash; of a long name, a part of the hash may be missing."""
    if len(name) + 12 <= _LONGEST_STEM:
        return f"{_escaped(name)}-{_HASH}-{_SUFFIX}"
    return f"{_escaped(name)}-{_LETTER}{{0,10}}-?{_SUFFIX}" if len(name) < _LONGEST_STEM else _suffixed(name)


def _suffixed(name: str) -> str:
    return f"{_escaped(f'{name}-'[:_LONGEST_STEM])}{_SUFFIX}"


def _alike(pod: str) -> str:
    """The names of the pods that have the same maker as this one."""
    if made := re.fullmatch(f"(.+)-{_HASH}-{_SUFFIX}", pod):
        return _templated(made[1])
    if made := re.fullmatch("(.+)-[0-9]+", pod):
        return f"{_escaped(made[1])}-[0-9]+"
    made = re.fullmatch(f"(.+)-{_SUFFIX}", pod)
    return _suffixed(made[1]) if made else ""


def _escaped(name: str) -> str:
    return _plain(name).replace(".", "[.]")


def _plain(name: str) -> str:
    """A name that the API server accepts; it has a meaning of its own neither in a query nor in a pattern, but dots."""
    if not re.fullmatch("[a-z0-9.-]+", name):
        raise PrometheusError(f"{name[:100]!r} cannot be the name of an object")
    return name
