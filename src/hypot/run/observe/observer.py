"""The observed state of one reconcile: a snapshot of the watched objects, and what each reconcile has to query."""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import structlog

from hypot.cluster.discovery import Discovery, path_of
from hypot.cluster.port import Port, RefusedError, Request, UnreachableError
from hypot.cluster.time_slice import TimeSlice
from hypot.kinds.base import Ref
from hypot.kinds.catalogue import Autoscaler, find_autoscaler
from hypot.kinds.wpa import WPA
from hypot.policy.families import family_of
from hypot.policy.model.seen import Failure, PodSample, Reply, Scale, Seen, UsageView
from hypot.policy.model.settings import Settings
from hypot.policy.observe.absent import InCluster
from hypot.policy.observe.answered import Answered
from hypot.policy.observe.freshness import Freshness, fresh
from hypot.policy.observe.metric_queries import MetricQuery, queries_of
from hypot.policy.observe.questions import Questions
from hypot.policy.observe.read_scale import has_scale
from hypot.policy.observe.snapshot import NOTHING_EARLIER, Snapshot
from hypot.policy.observe.targets import ScaleTarget, key_of_ref, target_of
from hypot.run.internal_errors import InternalErrors
from hypot.run.observe.asking import Crowd, Question, TimeLimits
from hypot.run.observe.pod_metrics import Named, PodUsage
from hypot.run.observe.queries import MetricApis
from hypot.run.observe.recommenders import Asking, Recommenders
from hypot.run.observe.rows import AutoscalerRow, Object
from hypot.run.observe.watches import Watches
from hypot.run.outcome import Key

log = structlog.get_logger()
NOTHING = Answered({})
# The API server answers these itself, so more may run at the same time.
OF_SCALES = TimeLimits(at_once=64)


class UsageSource(Protocol):
    """A source of pod usage."""

    async def read(self) -> PodUsage: ...


class UsageReader(Protocol):
    """A store of past usage."""

    def view(self, key: Key) -> UsageView | None: ...


@dataclass(frozen=True, slots=True)
class WorldView:
    """The observed state for every autoscaler."""

    now: float
    snapshot: Snapshot
    rows: Mapping[Key, AutoscalerRow]
    samples: Mapping[Named, PodSample]
    # Pods whose samples are too old or do not change.
    stale: frozenset[Named]
    replies: Mapping[Key, Reply | Failure]
    questions: Mapping[Key, Questions]
    trouble: str = ""
    # Of the running pods whose usage is needed, the share without a fresh sample; 0 if there is no such pod.
    stale_share: float = 0.0


class _ClusterMessages(InCluster):
    """Reports the failure to read usage for every namespace, if usage could not be read at all."""

    def __init__(self) -> None:
        self.trouble = ""

    def samples(self, namespace: str) -> str:
        return self.trouble or super().samples(namespace)


class Observer:
    """Observes the cluster once per reconcile."""

    def __init__(
        self,
        port: Port,
        watches: Watches,
        source: UsageSource,
        history: UsageReader,
        discovery: Discovery,
        recommenders: Recommenders,
        settings: Settings,
        errors: InternalErrors | None = None,
    ) -> None:
        self._errors = errors or InternalErrors()
        self._port, self._watches, self._source, self._history = port, watches, source, history
        self._discovery, self._recommenders, self._settings = discovery, recommenders, settings
        self._questions: dict[Key, tuple[Autoscaler, Questions]] = {}
        self._metrics, self._scale_reads = MetricApis(port), Crowd(OF_SCALES)
        self._freshness, self._lasting = Freshness(), NOTHING_EARLIER
        # The error that was logged while usage could not be read.
        self._unexpected = ""

    async def look(self, keys: Mapping[Key, AutoscalerRow], now: float, boot: float) -> WorldView:
        reading = asyncio.ensure_future(self._source.read())
        try:
            return await self._look(reading, keys, now, boot)
        finally:
            reading.cancel()

    async def _look(
        self, reading: asyncio.Future[PodUsage], rows: Mapping[Key, AutoscalerRow], now: float, boot: float
    ) -> WorldView:
        messages = _ClusterMessages()
        snapshot = self._watches.snapshot(NOTHING, self._usage_of, messages, self._lasting)
        await self._take_pods(snapshot)
        asked = await self._asked(rows)
        for target, scale in await self._scales([rows[key].autoscaler for key in asked]):
            snapshot.take_scale(scale, target)
        snapshot.settle()
        queries, asking = self._queries(snapshot, rows, asked), self._asking(snapshot, rows, asked)
        snapshot.values, answers = await asyncio.gather(
            self._metrics.ask(queries, now), self._recommenders.ask(asking.values(), now)
        )
        replies = dict(zip(asking, answers, strict=True))
        usage = await self._read(reading)
        samples: Mapping[Named, PodSample] = usage.samples
        stale = frozenset[Named]()
        if samples:
            samples, stale, freshness = fresh(usage.samples, self._freshness, now, boot)
            self._freshness = await self._with_earlier(freshness) if usage.trouble else freshness
        messages.trouble = usage.trouble or ("all samples of usage are too old" if stale and not samples else "")
        await _take_samples(snapshot, samples)
        self._lasting = snapshot.lasting()
        share = await self._stale_share(snapshot, {key: rows[key] for key in asked if asked[key].asks_usage}, samples)
        return WorldView(now, snapshot, rows, samples, stale, replies, asked, usage.trouble, share)

    async def _read(self, reading: asyncio.Future[PodUsage]) -> PodUsage:
        try:
            usage = await reading
        except Exception as error:
            # Without usage nothing is scaled down by it; everything else continues.
            kind = type(error).__name__
            if kind != self._unexpected:
                log.exception("usage cannot be read")
            self._unexpected = kind
            return PodUsage({}, f"usage cannot be read: {kind}")
        self._unexpected = ""
        return usage

    async def _with_earlier(self, freshness: Freshness) -> Freshness:
        """Keep earlier samples of pods that still exist: their list could not be read this time."""
        known = dict(freshness.first)
        time_slice = TimeSlice()
        for named, first in self._freshness.first.items():
            if named not in known and self._watches.pods.get(named) is not None:
                known[named] = first
            if time_slice.is_due():
                await time_slice.take()
        return Freshness(known)

    async def _take_pods(self, snapshot: Snapshot) -> None:
        time_slice = TimeSlice()
        for (namespace, _), pod in list(self._watches.pods.items()):
            snapshot.take_pod(namespace, pod)
            if time_slice.is_due():
                await time_slice.take()

    def _usage_of(
        self, autoscaler: Autoscaler, seen: Seen, settings: Settings
    ) -> tuple[UsageView | None, tuple[str, ...]]:
        del seen, settings
        return self._history.view((autoscaler.KIND, autoscaler.namespace, autoscaler.name)), ()

    async def _asked(self, rows: Mapping[Key, AutoscalerRow]) -> dict[Key, Questions]:
        """The metrics that each object needs, without objects that had an internal error."""
        found, time_slice = {}, TimeSlice()
        for key, row in rows.items():
            try:
                found[key] = self._asks(key, row.autoscaler)
            except Exception as error:  # noqa: BLE001  it is this object's alone
                self._errors.add(key, "observe", error)
            if time_slice.is_due():
                await time_slice.take()
        return found

    def _asks(self, key: Key, autoscaler: Autoscaler) -> Questions:
        """The metrics that the object needs; they depend on the object alone, so they are computed once per version."""
        known = self._questions.get(key)
        if known is None or known[0] is not autoscaler:
            known = self._questions[key] = (
                autoscaler,
                family_of(autoscaler).questions(autoscaler.readable(), self._settings),
            )
        return known[1]

    def forget(self, keys: Iterable[Key]) -> None:
        for key in keys:
            self._questions.pop(key, None)

    def _queries(
        self, snapshot: Snapshot, rows: Mapping[Key, AutoscalerRow], asked: Mapping[Key, Questions]
    ) -> list[MetricQuery]:
        found: list[MetricQuery] = []
        for key, questions in asked.items():
            if not (questions.pods or questions.objects or questions.external) or not self._watches.is_opted_in(key[1]):
                continue
            try:
                scale = snapshot.scale(rows[key].autoscaler)
                if isinstance(scale, Scale):
                    found += queries_of(questions, key[1], scale.selector)
            except Exception as error:  # noqa: BLE001  it is this object's alone
                self._errors.add(key, "observe", error)
        return found

    async def _scales(self, autoscalers: Iterable[Autoscaler]) -> list[tuple[ScaleTarget, Object]]:
        """The scales of targets whose kind is not watched; each is read once."""
        wanted = {key_of_ref(one.namespace, ref): ref for one in autoscalers if self._is_foreign(ref := target_of(one))}
        questions = [
            Question(target.namespace, "/".join(target), f"the scale of {ref}", partial(self._scale, target))
            for target, ref in wanted.items()
        ]
        found = await self._scale_reads.ask(questions)
        scales = zip(wanted, found, strict=True)
        return [(target, scale) for target, scale in scales if scale is not None and not isinstance(scale, Failure)]

    def _is_foreign(self, ref: Ref) -> bool:
        if not ref.kind or not ref.name or not has_scale(ref) or find_autoscaler(ref.group, ref.kind):
            return False
        return self._watches.watches(ref.group, ref.kind) is None

    async def _scale(self, target: ScaleTarget) -> Object | None:
        try:
            resource = await self._discovery.resource_of(target.group, target.kind)
            if resource is None or not resource.scalable:
                return None
            path = path_of(resource, target.namespace, target.name, "scale")
            answer = await self._port.call(Request("GET", path))
        except (UnreachableError, RefusedError):
            return None
        return answer.json() if answer.ok else None

    def _asking(
        self, snapshot: Snapshot, rows: Mapping[Key, AutoscalerRow], asked: Mapping[Key, Questions]
    ) -> dict[Key, Asking]:
        """What to ask recommenders."""
        found: dict[Key, Asking] = {}
        for key in asked:
            wpa = rows[key].autoscaler
            if not isinstance(wpa, WPA) or wpa.recommender is None or not self._watches.is_opted_in(key[1]):
                continue
            try:
                wpa = wpa.readable()
                scale = None if wpa.recommender is None else snapshot.scale(wpa)
                if isinstance(scale, Scale):
                    found[key] = Asking(wpa, scale, snapshot.pods(wpa.namespace, scale.selector))
            except Exception as error:  # noqa: BLE001  it is this object's alone
                self._errors.add(key, "observe", error)
        return found

    async def _stale_share(
        self, snapshot: Snapshot, rows: Mapping[Key, AutoscalerRow], samples: Mapping[Named, PodSample]
    ) -> float:
        """The share of pods without a sample, of those that should have one, so that an empty answer is not healthy."""
        asked: set[Named] = set()
        time_slice = TimeSlice()
        for key, row in rows.items():
            namespace = row.autoscaler.namespace
            try:
                pods = snapshot.target_pods(row.autoscaler)
            except Exception as error:  # noqa: BLE001  it is this object's alone
                self._errors.add(key, "observe", error)
                continue
            asked.update([(namespace, pod.name) for pod in pods if pod.phase == "Running" and not pod.deleted])
            if time_slice.is_due():
                await time_slice.take()
        return len(asked - samples.keys()) / len(asked) if asked else 0.0


async def _take_samples(snapshot: Snapshot, samples: Mapping[Named, PodSample]) -> None:
    time_slice = TimeSlice()
    for (namespace, pod), sample in samples.items():
        snapshot.take_sample(namespace, pod, sample)
        if time_slice.is_due():
            await time_slice.take()
