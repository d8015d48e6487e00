"""Lets new Tortoises learn from the usage that a Prometheus has recorded, so that they work at once.

Tasks of their own ask for it, a few at the same time and with turns between namespaces: no reconcile waits for an
answer. The next reconcile takes it over.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import structlog

from hypot.cluster.prometheus import PrometheusError
from hypot.core.amount import CPU
from hypot.kinds.base import count_of
from hypot.kinds.tortoise import Tortoise
from hypot.kinds.tortoise.settings import DAY
from hypot.policy.continuity import Remembered
from hypot.policy.model.learned import Learned
from hypot.policy.model.size import Place
from hypot.policy.observe.targets import target_of
from hypot.run.observe.past_usage import WEEK, PastUsage, names_of_pods, query_of
from hypot.run.outcome import Key, Outcome
from hypot.run.store.thread import aside

log = structlog.get_logger()
AT_ONCE = 4
# How long all queries for one object may take.
WITHIN = 600.0
# After a failure it is tried again after this time, then after twice as long, and so on.
AGAIN_AFTER, LONGEST_PAUSE = 600.0, 6 * 3600.0
# Of so many places the history is read.
MOST_PLACES = 8
NOTHING = "Prometheus has no earlier usage of its pods"


class FollowedPlace(NamedTuple):
    """A place that replicas follow, its target utilization in percent, and what was learned about it."""

    place: Place
    target: int
    learned: Learned


class WantedHistory(NamedTuple):
    """The history that an object needs: of these pods, before what it has learned itself."""

    key: Key
    subject: "Subject"
    pods: str
    places: tuple[FollowedPlace, ...]


# The slots, the place and the beginning of all that an object learns.
Subject = tuple[tuple[object, ...], ...]


class HistoryResult(NamedTuple):
    """What came of it, as a sentence without its end."""

    message: str
    failed: bool = False


@dataclass(slots=True)
class _Attempts:
    failures: int = 0
    # On the boot clock; None if there is nothing more to ask for.
    next: float | None = 0.0


class Backfill:
    """The histories that are wanted, under way and found; without a source it never asks."""

    def __init__(self, source: PastUsage | None = None, boot: Callable[[], float] = lambda: 0.0) -> None:
        self._source, self._boot = source, boot
        self._waiting: dict[Key, WantedHistory] = {}
        self._under_way: dict[Key, WantedHistory] = {}
        self._found: dict[Key, tuple[WantedHistory, tuple[Learned, ...] | HistoryResult]] = {}
        # By object and what it learns in: after a change of slots it is asked for again.
        self._attempts: dict[Key, tuple[Subject, _Attempts]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        # How often each namespace had its turn while others wait.
        self._turns: Counter[str] = Counter()

    def take(self, states: dict[Key, Remembered]) -> dict[Key, HistoryResult]:
        """Add what was found to the states; what came of it, by object."""
        found, self._found = self._found, {}
        results = {}
        for key, (wanted, answer) in found.items():
            known = states.get(key)
            past = None if known is None else known.state.tortoise
            if known is None or past is None or _subject(past.learned) != wanted.subject:
                # It is another object now, or learns something else.
                self._attempts.pop(key, None)
                continue
            if isinstance(answer, HistoryResult):
                results[key] = answer
            else:
                after = past.taught(answer)
                states[key] = replace(known, state=known.state._replace(tortoise=after))
                self._attempts[key] = _subject(after.learned), _Attempts(next=None)
                results[key] = _result(past.learned, answer)
            say = log.warning if results[key].failed else log.info
            say("history", object="/".join(key[1:]), result=results[key].message)
        return results

    def look(self, outcomes: Iterable[Outcome], now: float) -> None:
        """Ask for the history of each Tortoise that has not observed long enough."""
        if self._source is None:
            return
        for outcome in outcomes:
            if isinstance(outcome.autoscaler, Tortoise) and self._may_ask(outcome, now):
                wanted = _wanted(outcome, outcome.autoscaler)
                if wanted is not None:
                    self._waiting[outcome.key] = wanted
        while self._waiting and len(self._tasks) < min(AT_ONCE, len(self._waiting) + len(self._under_way)):
            task = asyncio.create_task(self._work(self._source))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def _may_ask(self, outcome: Outcome, now: float) -> bool:
        key, past = outcome.key, outcome.state.tortoise
        if past is None or not any(_is_new(each, now) for each in past.learned):
            return False
        if key in self._waiting or key in self._under_way or key in self._found:
            return False
        subject, (known, attempts) = _subject(past.learned), self._attempts.get(key, ((), _Attempts()))
        if subject != known:
            attempts = _Attempts()
            self._attempts[key] = subject, attempts
        return attempts.next is not None and attempts.next <= self._boot()

    def forget(self, keys: Iterable[Key]) -> None:
        for key in keys:
            self._waiting.pop(key, None)
            self._attempts.pop(key, None)

    def stop(self) -> None:
        for task in self._tasks:
            task.cancel()

    async def _work(self, source: PastUsage) -> None:
        while self._waiting:
            wanted = self._next()
            self._under_way[wanted.key] = wanted
            try:
                answer = await self._ask(source, wanted)
            finally:
                del self._under_way[wanted.key]
            self._found[wanted.key] = wanted, answer
        self._turns.clear()

    def _next(self) -> WantedHistory:
        """The next is one of the namespace with the fewest under way, then with the fewest turns."""
        busy = Counter(namespace for _, namespace, _ in self._under_way)
        key = min(self._waiting, key=lambda each: (busy[each[1]], self._turns[each[1]]))
        self._turns[key[1]] += 1
        return self._waiting.pop(key)

    async def _ask(self, source: PastUsage, wanted: WantedHistory) -> tuple[Learned, ...] | HistoryResult:
        """What it learns; else what came of it."""
        _, attempts = self._attempts.setdefault(wanted.key, (wanted.subject, _Attempts()))
        try:
            async with asyncio.timeout(WITHIN):
                learned = await _read(source, wanted)
        except TimeoutError:
            error = f"Prometheus did not answer all queries within {WITHIN:.0f} s"
        except PrometheusError as caught:
            error = f"Prometheus cannot be queried: {caught}"
        except Exception as caught:
            log.exception("history", object="/".join(wanted.key[1:]))
            error = f"internal error: {type(caught).__name__}"
        else:
            attempts.next = None
            return learned or HistoryResult(NOTHING)
        pause = min(AGAIN_AFTER * 2**attempts.failures, LONGEST_PAUSE)
        attempts.failures, attempts.next = min(attempts.failures + 1, 16), self._boot() + pause
        return HistoryResult(f"{error}; it is tried again in {pause / 60:.0f} minutes", failed=True)


def _subject(learned: Iterable[Learned]) -> Subject:
    return tuple([(each.layout, each.place, each.since) for each in learned])


def _is_new(learned: Learned, now: float) -> bool:
    """Whether not every slot has occurred since it began to observe."""
    return now - learned.since < learned.layout.seconds


def _wanted(outcome: Outcome, tortoise: Tortoise) -> WantedHistory | None:
    past = outcome.state.tortoise
    if past is None:
        return None
    places = [
        FollowedPlace((container, resource), past.targets[each.place], each)
        for each in past.learned
        if each.place in past.targets and _is_new(each, outcome.seen.now)
        for container, _, resource in [each.place.rpartition("/")]
    ]
    pods = names_of_pods(target_of(tortoise), [pod.name for pod in outcome.seen.pods])
    if not places or not pods:
        return None
    return WantedHistory(outcome.key, _subject(past.learned), pods, tuple(places[:MOST_PLACES]))


async def _read(source: PastUsage, wanted: WantedHistory) -> tuple[Learned, ...]:
    """What there is to learn; a place without usage did not exist then."""
    _, namespace, _ = wanted.key
    found = []
    for each in wanted.places:
        start = each.learned.since - each.learned.layout.weeks * WEEK
        used = await source.read(query_of(each.place, namespace, wanted.pods), start, each.learned.since)
        found.append(await aside(_learned, each, used))
    return tuple([each for each in found if each is not None])


def _learned(followed: FollowedPlace, used: Mapping[int, float]) -> Learned | None:
    """What usage teaches. The slot in which it began to observe is left to it."""
    import numpy as np  # noqa: PLC0415  only for a history

    from hypot.policy.tortoise.history import UsageSeries, learned_from  # noqa: PLC0415  the same

    layout = followed.learned.layout
    times, first = sorted(used), layout.place(followed.learned.since)
    while times and layout.place(times[-1]) >= first:
        times.pop()
    if len(times) < 2:
        return None
    unit = 1000.0 if followed.place[1] == CPU else 1.0
    amounts = np.array([used[at] for at in times]) * unit
    series = UsageSeries(followed.place, followed.target, np.array(times, np.float64), amounts, layout)
    return next(learned_from([series])).learned


def _result(own: Iterable[Learned], histories: Sequence[Learned]) -> HistoryResult:
    """Of several places, the one of which least is known."""
    since = {each.place: each.since for each in own}
    least = min(histories, key=Learned.known)
    days = count_of(round((since[least.place] - least.since) / DAY), "day")
    return HistoryResult(f"learned from {days} of usage: {least.known()} of {least.layout.slots} slots have data")
