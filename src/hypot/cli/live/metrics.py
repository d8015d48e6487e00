"""Reads what pods use, and the custom and external metrics that autoscalers name."""

from collections.abc import Iterable
from typing import Any, Final

from hypot.cli.live.reader import CannotReadError, ClusterReader, Collection, Object
from hypot.cli.live.resources import USAGE
from hypot.kinds.catalogue import Autoscaler
from hypot.kinds.metric_values import CUSTOM, CUSTOM_LIST, CUSTOM_VERSIONS, EXTERNAL, EXTERNAL_LIST, VERSION
from hypot.kinds.values.nested import inner
from hypot.policy.families import family_of
from hypot.policy.model.seen import Failure, Scale
from hypot.policy.model.settings import Settings
from hypot.policy.observe.answered import Items
from hypot.policy.observe.freshness import OLDEST, Freshness, fresh
from hypot.policy.observe.metric_queries import CUSTOM_API, MetricQuery, queries_of
from hypot.policy.observe.read_pods import read_sample
from hypot.policy.observe.snapshot import Snapshot
from hypot.run.observe.asking import TimeLimits
from hypot.run.observe.queries import MetricApis

_NO_USAGE: Final = "the cluster serves no usage of pods: is metrics-server installed?"
_LIMITS: Final = TimeLimits(together=60.0, late=10.0)
# Objects that no scale depends on.
_OF_PODS: Final = frozenset({"Pod", "PodMetrics", "Node", "Status"})


async def read_usage(reader: ClusterReader, spaces: Iterable[str], now: float) -> None:
    """Read the usage of all pods of these namespaces, without samples that are too old."""
    found = await reader.read([Collection(USAGE, space, not_served=_NO_USAGE) for space in spaces])
    samples = {index: read_sample(data, {}) for index, data in enumerate(found)}
    _, stale, _ = fresh(samples, Freshness(), now, 0.0)
    if not stale:
        return
    old = {id(found[index]) for index in stale}
    reader.objects = [one for one in reader.objects if id(one) not in old]
    reader.notes.append(f"ignored the usage of {len(stale)} pods: it is more than {OLDEST:g} s old, or from the future")


async def read_metrics(reader: ClusterReader, chosen: Iterable[Autoscaler], settings: Settings, now: float) -> None:
    """Read every metric once, however many autoscalers need it."""
    asked = [(one, family_of(one).questions(one.readable(), settings)) for one in chosen]
    asked = [(one, asks) for one, asks in asked if asks.pods or asks.objects or asks.external]
    if not asked:
        return
    snapshot = Snapshot(one for one in reader.objects if one["kind"] not in _OF_PODS)
    queries: list[MetricQuery] = []
    for one, asks in asked:
        scale = snapshot.scale(one)
        if isinstance(scale, Scale):
            queries += queries_of(asks, one.namespace, scale.selector)
    answered = await MetricApis(reader.port, _LIMITS).ask(queries, now)
    for query, answer in answered.found.items():
        if isinstance(answer, Failure):
            reader.refuse(query.link, CannotReadError(answer.message))
        else:
            reader.objects.append(_answer(query, answer))


def _answer(query: MetricQuery, items: Items) -> Object:
    """The answer as the API gives it, with the query that it is for."""
    custom = query.path.startswith(CUSTOM_API)
    version, kind = (
        (f"{CUSTOM}/{CUSTOM_VERSIONS[0]}", CUSTOM_LIST) if custom else (f"{EXTERNAL}/{VERSION}", EXTERNAL_LIST)
    )
    made = [_item(item) for item in items]
    return {"apiVersion": version, "kind": kind, "metadata": {"selfLink": query.link}, "items": made}


_ITEM: Final = (
    "describedObject",
    "metric",
    "metricName",
    "metricLabels",
    "timestamp",
    "window",
    "windowSeconds",
    "value",
)


def _item(item: Any) -> dict[str, Any]:
    return {key: value for key, value in inner(item).items() if key in _ITEM}
