"""Lets new objects learn from the usage that a Prometheus has recorded, so that they work at once.

Tasks of their own ask for it, a few at the same time and with turns between namespaces: no reconcile waits for an
answer. The next reconcile takes it over. What is asked, and what is learned from it, is that of each kind.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import structlog

from hypot.cluster.prometheus import PrometheusError
from hypot.policy.continuity import Remembered
from hypot.run.observe.past_usage import PastUsage
from hypot.run.outcome import Key, Outcome
from hypot.run.store.learners import LEARNERS, PastQuery, Subject
from hypot.run.store.thread import aside

log = structlog.get_logger()
AT_ONCE = 4
# How long all queries for one object may take.
WITHIN = 600.0
# After a failure it is tried again after this time, then after twice as long, and so on.
AGAIN_AFTER, LONGEST_PAUSE = 600.0, 6 * 3600.0
NOTHING = "Prometheus has no earlier usage of its pods"


class WantedHistory(NamedTuple):
    """The history that an object needs; `about` is what else it takes to learn from the answers."""

    key: Key
    subject: Subject
    queries: tuple[PastQuery, ...]
    about: Any


class LearnedAnswer(NamedTuple):
    """What was learned from all answers."""

    value: Any


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
        self._found: dict[Key, tuple[WantedHistory, LearnedAnswer | HistoryResult]] = {}
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
            known, learner = states.get(key), LEARNERS[key[0]]
            if known is None or learner.subject(known.state) != wanted.subject:
                # It is another object now, or learns something else.
                self._attempts.pop(key, None)
                continue
            if isinstance(answer, HistoryResult):
                results[key] = answer
            else:
                after, message = learner.taught(known.state, answer.value)
                states[key] = replace(known, state=after)
                self._attempts[key] = learner.subject(after), _Attempts(next=None)
                results[key] = HistoryResult(message)
            say = log.warning if results[key].failed else log.info
            say("history", object="/".join(key[1:]), result=results[key].message)
        return results

    def look(self, outcomes: Iterable[Outcome], now: float) -> None:
        """Ask for the history of each object that has not observed long enough."""
        if self._source is None:
            return
        for outcome in outcomes:
            if outcome.key[0] in LEARNERS and self._may_ask(outcome, now):
                self._want(outcome)
        while self._waiting and len(self._tasks) < min(AT_ONCE, len(self._waiting) + len(self._under_way)):
            task = asyncio.create_task(self._work(self._source))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def _want(self, outcome: Outcome) -> None:
        key, learner = outcome.key, LEARNERS[outcome.key[0]]
        subject = learner.subject(outcome.state)
        try:
            queries, about = learner.asks(outcome)
        except PrometheusError as error:
            failed = self._failed(key, subject, f"Prometheus cannot be queried: {error}")
            self._found[key] = WantedHistory(key, subject, (), None), failed
            return
        if queries:
            self._waiting[key] = WantedHistory(key, subject, queries, about)

    def _may_ask(self, outcome: Outcome, now: float) -> bool:
        key, learner = outcome.key, LEARNERS[outcome.key[0]]
        if key in self._waiting or key in self._under_way or key in self._found:
            return False
        subject, (known, attempts) = learner.subject(outcome.state), self._attempts.get(key, ((), _Attempts()))
        if subject != known:
            attempts = _Attempts()
            self._attempts[key] = subject, attempts
        return attempts.next is not None and attempts.next <= self._boot() and learner.is_new(outcome.state, now)

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

    async def _ask(self, source: PastUsage, wanted: WantedHistory) -> LearnedAnswer | HistoryResult:
        """What it learns; else what came of it."""
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
            self._attempts[wanted.key] = wanted.subject, _Attempts(next=None)
            return LearnedAnswer(learned) if learned else HistoryResult(NOTHING)
        return self._failed(wanted.key, wanted.subject, error)

    def _failed(self, key: Key, subject: Subject, error: str) -> HistoryResult:
        """It is tried again after a pause, which doubles each time."""
        _, attempts = self._attempts.setdefault(key, (subject, _Attempts()))
        pause = min(AGAIN_AFTER * 2**attempts.failures, LONGEST_PAUSE)
        attempts.failures, attempts.next = min(attempts.failures + 1, 16), self._boot() + pause
        return HistoryResult(f"{error}; it is tried again in {pause / 60:.0f} minutes", failed=True)


async def _read(source: PastUsage, wanted: WantedHistory) -> Any:
    answers = [await source.read(*query) for query in wanted.queries]
    return await aside(LEARNERS[wanted.key[0]].learned, wanted.about, answers)
