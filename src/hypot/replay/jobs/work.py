"""Runs replays one after the other, or in local processes if that is faster."""

import os
from collections.abc import Callable, Generator, Iterable
from itertools import chain, islice

from hypot.replay.jobs.comparison import ReplayJob, Scored, do

# Fewer ticks than this are done before other processes would have started, with the plain engine and the compiled one.
WORTH_A_PROCESS, WORTH_A_PROCESS_COMPILED = 60_000, 2_000_000


def work(
    jobs: Iterable[ReplayJob], ticks: int, progress: Callable[[int], None] | None = None, *, compiled: bool = False
) -> Generator[tuple[int, Scored]]:
    """Yields each result with the position of its job, as jobs finish; reports progress in ticks of all jobs together.

    `compiled` says that the compiled engine replays all of them.

    Jobs are taken as needed, so that they need not all be in memory; workers run while further jobs are made.
    """
    coming = iter(jobs)
    first = list(islice(coming, os.cpu_count() or 1))
    workers, jobs = len(first), chain(first, coming)
    del first
    if workers < 2 or ticks < (WORTH_A_PROCESS_COMPILED if compiled else WORTH_A_PROCESS):
        for place, job in enumerate(jobs):
            yield place, do(job, progress)
        return
    from hypot.replay.jobs.local_jobs import together  # noqa: PLC0415  multiprocessing, only where it is used

    yield from together(jobs, ticks, workers, progress)
