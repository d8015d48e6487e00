"""Many replays at once on other machines: an existing Dask cluster. Nothing here knows what a replay is."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from typing import Any

from distributed import Client, as_completed
from distributed.scheduler import KilledWorker

from hypot.replay.comparison import Job, Judged, do
from hypot.replay.crew import CrewError

# How long a scheduler may take to answer.
PATIENCE = 15.0


def spread(
    jobs: Sequence[Job], address: str, ticks: Sequence[int], progress: Callable[[int], None] | None = None
) -> Iterator[tuple[int, Judged]]:
    """What came of each job, with its place, as they are done; a worker that is lost is replaced by another."""
    with _connected(address) as client:
        futures = [client.submit(do, job, pure=False) for job in jobs]
        places = {future.key: place for place, future in enumerate(futures)}
        try:
            for future in _as_done(futures):
                place = places[future.key]
                yield place, _answer(future, address)
                if progress is not None:
                    progress(ticks[place])
        finally:
            client.cancel(futures)


def _as_done(futures: Sequence[Any]) -> Iterator[Any]:
    done: Any = as_completed
    return iter(done(futures))


def _connected(address: str) -> Any:
    try:
        connect: Any = Client
        return connect(address.replace("dask://", "tcp://", 1), timeout=PATIENCE)
    except (OSError, ValueError) as error:
        raise CrewError(f"{address}: no Dask scheduler answers there; start one with: dask scheduler") from error


def _answer(future: Any, address: str) -> Judged:
    try:
        judged: Judged = future.result()
    except KilledWorker as error:
        words = f"{address}: several workers died of the same replay, most often for want of memory"
        raise CrewError(words) from error
    except CancelledError as error:
        raise CrewError(f"{address}: the cluster gave up a replay; is it still there?") from error
    except ModuleNotFoundError as error:
        words = f"{address}: a worker lacks {error.name}: install the same hypot on all of them"
        raise CrewError(words) from error
    return judged
