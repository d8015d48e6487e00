"""Many replays at once: local processes, one job each at a time."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from itertools import chain, islice
from typing import Any

from hypot.replay.comparison import Job, Judged, do

# How often progress is looked at while others work.
POLL = 0.2
# How long a process may take to end once it is told to.
LAST_WORDS = 5.0
# Fewer ticks than these are done before other processes would have started.
WORTH_A_PROCESS = 60_000
# Jobs that are handed out but not done hold so many rows of traces, or are so few for each process that it may run dry.
ROWS_IN_HAND = 3_000_000
FEWEST_IN_HAND, MOST_IN_HAND = 2, 100
_ENDED = "a process that replayed was ended from outside, most often for want of memory; replay fewer workloads at once"
_done: Any = None


class CrewError(RuntimeError):
    """A process that replayed ended without a word: killed, most often for want of memory."""


def work(
    jobs: Iterable[Job], ticks: int, progress: Callable[[int], None] | None = None
) -> Iterator[tuple[int, Judged]]:
    """What came of each job, with its place, as they are done; progress is told in ticks of all of them together.

    Jobs are taken as they can be used, so that not all of them need be in memory; while they are made, others are done.
    """
    coming = iter(jobs)
    first = list(islice(coming, os.cpu_count() or 1))
    workers, jobs = len(first), chain(first, coming)
    del first
    if workers < 2 or ticks < WORTH_A_PROCESS:
        yield from _alone(jobs, progress)
        return
    yield from _together(jobs, workers, progress)


def _alone(jobs: Iterable[Job], progress: Callable[[int], None] | None) -> Iterator[tuple[int, Judged]]:
    for place, job in enumerate(jobs):
        yield place, do(job, progress)


def _together(
    jobs: Iterable[Job], workers: int, progress: Callable[[int], None] | None
) -> Iterator[tuple[int, Judged]]:
    context = multiprocessing.get_context("spawn")
    done = context.Value("q", 0)
    told = 0
    with _pool(context, workers, done) as pool:
        coming = enumerate(jobs)
        places: dict[Future[Judged], tuple[int, int]] = {}
        while True:
            for place, job in _until_full(coming, places, workers):
                places[_submitted(pool, job)] = place, len(job.trace.times)
            if not places:
                return
            finished, _ = wait(places, POLL, FIRST_COMPLETED)
            if progress is not None and done.value > told:
                progress(done.value - told)
                told = done.value
            for one in finished:
                place, _ = places.pop(one)
                yield place, _answer(one)


def _until_full(
    coming: Iterator[tuple[int, Job]], places: dict[Future[Judged], tuple[int, int]], workers: int
) -> Iterator[tuple[int, Job]]:
    """As many jobs as keep all busy for a while, and no more than the memory has room for."""
    while len(places) < FEWEST_IN_HAND * workers or (
        len(places) < MOST_IN_HAND * workers and sum(rows for _, rows in places.values()) < ROWS_IN_HAND
    ):
        following = next(coming, None)
        if following is None:
            return
        yield following


def _submitted(pool: ProcessPoolExecutor, job: Job) -> "Future[Judged]":
    try:
        return pool.submit(_do, job)
    except BrokenProcessPool as error:
        raise CrewError(_ENDED) from error


def _answer(done: "Future[Judged]") -> Judged:
    try:
        return done.result()
    except BrokenProcessPool as error:
        raise CrewError(_ENDED) from error


@contextmanager
def _pool(context: Any, workers: int, done: Any) -> Iterator[ProcessPoolExecutor]:
    pool = ProcessPoolExecutor(workers, context, _begin, (done,))
    try:
        yield pool
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        children = multiprocessing.active_children()
        for child in children:
            child.terminate()
        for child in children:
            child.join(LAST_WORDS)
        raise
    pool.shutdown()


def _begin(done: Any) -> None:
    """Whoever started us ends us: a key press is his to answer."""
    global _done  # noqa: PLW0603  what a process shares with the one that started it
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _done = done


def _end_with_parent() -> None:
    """Nobody waits for what is left, however the process ended that started us."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _do(job: Job) -> Judged:
    return do(job, _add)


def _add(ticks: int) -> None:
    with _done.get_lock():
        _done.value += ticks
