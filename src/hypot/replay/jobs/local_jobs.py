"""Runs many replays at once, in local processes."""

import pickle
from collections import OrderedDict
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from functools import lru_cache
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from hypot.replay.engine.demand import ticks_replayed
from hypot.replay.jobs.comparison import ReplayJob, Scored, do
from hypot.replay.jobs.job_queue import JobsError
from hypot.replay.jobs.pool import CONTEXT, Pool, pool_of
from hypot.replay.jobs.shared_traces import SharedTraces, Slip, shared_for
from hypot.replay.traces.trace import Trace

# Seconds between two looks at the progress while workers run.
POLL = 0.2
# Handing over a job takes as long as some thousand ticks, so short jobs go in batches: up to this many ticks, and
# small enough that each process gets this many batches.
TICKS_AT_ONCE, BATCHES = 200_000, 16
# Batches that are handed out but not done hold at most this many rows of traces, unless there would be so few for each
# process that it may become idle.
ROWS_IN_HAND = 3_000_000
FEWEST_IN_HAND, MOST_IN_HAND = 2, 100
# Numbers in shared memory per such row: times and values, doubled because a place may be larger than its trace.
SHARED_FACTOR = 4
# So many jobs without their traces are remembered, as bytes and as objects.
HEADS = 1000
_ENDED = "a worker process was killed, usually out of memory; replay fewer workloads at once"
_NO_TRACE = Trace("", np.empty(0), np.empty(0))
_Batch: TypeAlias = list[tuple[int, ReplayJob]]
_Future: TypeAlias = Future[list[Scored]]
# What a worker shares with the process that started it.
_done: Any = None
_shared: Any = None


def together(
    jobs: Iterable[ReplayJob], ticks: int, workers: int, progress: Callable[[int], None] | None
) -> Generator[tuple[int, Scored]]:
    """Workers run while further jobs are made; reports progress in ticks of all jobs together."""
    at_once = min(TICKS_AT_ONCE, ROWS_IN_HAND // (FEWEST_IN_HAND * workers), ticks // (BATCHES * workers))
    batches = _batches(jobs, at_once)
    done: Any = CONTEXT.Value("q", 0)
    reported = 0
    with shared_for(SHARED_FACTOR * ROWS_IN_HAND) as shared, pool_of(workers, _begin, done, shared) as pool:
        hands = _Hands(pool, shared, workers)
        while True:
            while not hands.full and (following := next(batches, None)) is not None:
                hands.take(following)
            if not hands.given:
                return
            finished = hands.finished()
            if progress is not None and done.value > reported:
                progress(done.value - reported)
                reported = done.value
            for places, one in finished:
                yield from zip(places, _answer(one), strict=True)


def _batches(jobs: Iterable[ReplayJob], most: int) -> Iterator[_Batch]:
    """Batches of short jobs, by ticks or trace rows (the larger), assuming the next job is as long as the last."""
    batch: _Batch = []
    together = 0
    for place, job in enumerate(jobs):
        long = max(ticks_replayed(job.trace, job.world), len(job.trace.times))
        batch.append((place, job))
        together += long
        if together + long > most:
            yield batch
            batch, together = [], 0
    if batch:
        yield batch


class _Given(NamedTuple):
    """A batch that is handed out: the positions of its jobs, its rows, and the traces or slips that were sent."""

    places: list[int]
    rows: int
    traces: list[Slip | Trace]


class _Hands:
    """The batches that are handed out and not done."""

    def __init__(self, pool: Pool, shared: SharedTraces | None, workers: int) -> None:
        self._pool, self._shared, self._workers = pool, shared, workers
        self.given: dict[_Future, _Given] = {}
        self._rows = 0
        self._finished: SimpleQueue[_Future] = SimpleQueue()
        # A job without its trace may be the same for many jobs, and is pickled once; the last ones are kept.
        self._heads: OrderedDict[tuple[int, ...], tuple[ReplayJob, bytes]] = OrderedDict()

    @property
    def full(self) -> bool:
        """Whether the workers are busy for a while and no more rows should be in memory."""
        count = len(self.given)
        enough = self._rows >= ROWS_IN_HAND or count >= MOST_IN_HAND * self._workers
        return enough and count >= FEWEST_IN_HAND * self._workers

    def take(self, batch: _Batch) -> None:
        traces = [job.trace if self._shared is None else self._shared.put(job.trace) for _, job in batch]
        try:
            future = self._pool.submit(_do, [self._head(job) for _, job in batch], traces)
        except BrokenProcessPool as error:
            raise JobsError(_ENDED) from error
        rows = sum(len(job.trace.times) for _, job in batch)
        self.given[future] = _Given([place for place, _ in batch], rows, traces)
        self._rows += rows
        future.add_done_callback(self._finished.put)

    def _head(self, job: ReplayJob) -> bytes:
        rest = job._replace(trace=_NO_TRACE)
        key = tuple(map(id, rest))
        if key not in self._heads:
            if len(self._heads) == HEADS:
                self._heads.popitem(last=False)
            self._heads[key] = rest, pickle.dumps(rest)
        return self._heads[key][1]

    def finished(self) -> list[tuple[list[int], _Future]]:
        """The batches that finished since the last call; returns after a while even without any, to report progress."""
        found: list[_Future] = []
        with suppress(Empty):
            found.append(self._finished.get(timeout=POLL))
            while True:
                found.append(self._finished.get_nowait())
        return [(self._laid_down(one), one) for one in found]

    def _laid_down(self, done: _Future) -> list[int]:
        places, rows, traces = self.given.pop(done)
        self._rows -= rows
        for slip in traces:
            if self._shared is not None and isinstance(slip, Slip):
                self._shared.give_back(slip)
        return places


def _answer(done: _Future) -> list[Scored]:
    try:
        return done.result()
    except BrokenProcessPool as error:
        raise JobsError(_ENDED) from error


def _begin(done: Any, shared: SharedTraces | None) -> None:
    global _done, _shared
    _done, _shared = done, shared


def _do(heads: list[bytes], traces: list[Slip | Trace]) -> list[Scored]:
    return [do(_read(head)._replace(trace=_found(trace)), _add) for head, trace in zip(heads, traces, strict=True)]


def _found(trace: Slip | Trace) -> Trace:
    if isinstance(trace, Trace):
        return trace
    lying: Trace = _shared.take(trace)
    return lying


@lru_cache(HEADS)
def _read(head: bytes) -> ReplayJob:
    job: ReplayJob = pickle.loads(head)  # noqa: S301  our own, from the process that started us
    return job


def _add(ticks: int) -> None:
    with _done.get_lock():
        _done.value += ticks
