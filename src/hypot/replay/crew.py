"""Many replays at once: local processes, one job each at a time."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any

from hypot.replay.comparison import Job, Judged, do

# How often progress is looked at while others work.
POLL = 0.2
# Fewer ticks than these are done before other processes would have started.
WORTH_A_PROCESS = 60_000
_done: Any = None


class CrewError(RuntimeError):
    """A process that replayed ended without a word: killed, most often for want of memory."""


def work(
    jobs: Sequence[Job], ticks: int, progress: Callable[[int], None] | None = None
) -> Iterator[tuple[int, Judged]]:
    """What came of each job, with its place, as they are done; progress is told in ticks of all of them together."""
    workers = min(len(jobs), os.cpu_count() or 1)
    if workers < 2 or ticks < WORTH_A_PROCESS:
        yield from _alone(jobs, progress)
        return
    yield from _together(jobs, workers, progress)


def _alone(jobs: Sequence[Job], progress: Callable[[int], None] | None) -> Iterator[tuple[int, Judged]]:
    for place, job in enumerate(jobs):
        yield place, do(job, progress)


def _together(
    jobs: Sequence[Job], workers: int, progress: Callable[[int], None] | None
) -> Iterator[tuple[int, Judged]]:
    context = multiprocessing.get_context("spawn")
    done = context.Value("q", 0)
    told = 0
    with _pool(context, workers, done) as pool:
        places: dict[Future[Judged], int] = {pool.submit(_do, job): place for place, job in enumerate(jobs)}
        left = set(places)
        while left:
            finished, left = wait(left, POLL, FIRST_COMPLETED)
            if progress is not None and done.value > told:
                progress(done.value - told)
                told = done.value
            for one in finished:
                try:
                    yield places.pop(one), one.result()
                except BrokenProcessPool as error:
                    words = "a process that replayed was ended from outside, most often for want of memory"
                    raise CrewError(f"{words}; replay fewer workloads at once") from error


@contextmanager
def _pool(context: Any, workers: int, done: Any) -> Iterator[ProcessPoolExecutor]:
    pool = ProcessPoolExecutor(workers, context, _begin, (done,))
    try:
        yield pool
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        for child in multiprocessing.active_children():
            child.terminate()
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
