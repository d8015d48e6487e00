"""Runs many replays on an existing Dask cluster. Nothing here knows what a replay is."""

from collections.abc import Callable, Generator, Iterable
from concurrent.futures import CancelledError
from itertools import islice
from typing import Any

from distributed import Client, as_completed
from distributed.scheduler import KilledWorker

from hypot.replay.engine.demand import ticks_replayed
from hypot.replay.jobs.comparison import ReplayJob, Scored, do
from hypot.replay.jobs.job_queue import JobsError

# How many seconds a scheduler may take to answer.
PATIENCE = 15.0
# How many jobs are handed out per thread of the cluster, so that no thread waits for the next job.
IN_HAND = 4


def spread(
    jobs: Iterable[ReplayJob], address: str, progress: Callable[[int], None] | None = None
) -> Generator[tuple[int, Scored]]:
    """Yields each result with the position of its job, as jobs finish; Dask replaces lost workers.

    Jobs are taken from the iterable as needed, so that they need not all be in memory.
    """
    with _connected(address) as client:
        coming = enumerate(jobs)
        _await_workers(client, address)
        room = IN_HAND * max(1, sum(client.nthreads().values()))
        places: dict[Any, tuple[int, int]] = {}
        done = _as_done()
        try:
            for place, job in islice(coming, room):
                _hand_out(client, job, place, places, done)
            for future in done:
                place, ticks = places.pop(future)
                yield place, _answer(future, address)
                if progress is not None:
                    progress(ticks)
                for following, job in islice(coming, room - len(places)):
                    _hand_out(client, job, following, places, done)
        finally:
            client.cancel(list(places))


def _await_workers(client: Any, address: str) -> None:
    """Fails early: without workers, the scheduler would let us wait forever."""
    try:
        client.wait_for_workers(1, timeout=PATIENCE)
    except TimeoutError as error:
        message = (
            f"{address}: the scheduler has no workers; start some with: dask worker {address.removeprefix('dask://')}"
        )
        raise JobsError(message) from error


def _hand_out(client: Any, job: ReplayJob, place: int, places: dict[Any, tuple[int, int]], done: Any) -> None:
    future = client.submit(do, job, pure=False)
    places[future] = place, ticks_replayed(job.trace, job.world)
    done.add(future)


def _as_done() -> Any:
    done: Any = as_completed
    return done()


def _connected(address: str) -> Any:
    try:
        connect: Any = Client
        return connect(address.replace("dask://", "tcp://", 1), timeout=PATIENCE)
    except (OSError, ValueError) as error:
        raise JobsError(f"{address}: no Dask scheduler answers; start one with: dask scheduler") from error


def _answer(future: Any, address: str) -> Scored:
    try:
        judged: Scored = future.result()
    except KilledWorker as error:
        message = f"{address}: several workers died during the same replay, usually out of memory"
        raise JobsError(message) from error
    except CancelledError as error:
        raise JobsError(f"{address}: the cluster cancelled a replay; is it still running?") from error
    except ModuleNotFoundError as error:
        message = f"{address}: a worker lacks {error.name}: install the same hypot on all workers"
        raise JobsError(message) from error
    return judged
