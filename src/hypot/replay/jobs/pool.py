"""Worker processes that end with this process."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from typing import Any, ParamSpec, TypeVar

from hypot.replay.jobs.signals import SIGNALS, handled_later

# Workers are spawned, not forked: a fork would copy the locks of this process's threads without the threads.
CONTEXT = multiprocessing.get_context("spawn")
# Not every system lets a thread block signals.
_CAN_BLOCK = hasattr(signal, "pthread_sigmask")
_P = ParamSpec("_P")
_T = TypeVar("_T")


class Pool(ProcessPoolExecutor):
    """A pool in which only this process handles signals such as Ctrl-C; workers never get them, not even at start."""

    def submit(self, fn: Callable[_P, _T], /, *args: _P.args, **kwargs: _P.kwargs) -> "Future[_T]":
        """May start a process, which would print errors if a signal interrupted its start."""
        with _undisturbed():
            return super().submit(fn, *args, **kwargs)

    def end(self) -> None:
        """Kill all workers at once, whatever they are doing."""
        for process in list((self._processes or {}).values()):
            process.kill()
        self.shutdown(cancel_futures=True)


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Signals that arrive meanwhile are handled afterwards; processes that start meanwhile have them blocked."""
    if not _CAN_BLOCK:
        yield
        return
    with handled_later():
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)


@contextmanager
def pool_of(workers: int, begin: Callable[..., None] | None = None, *given: Any) -> Iterator[Pool]:
    """A pool of this many processes, each of which first calls `begin`."""
    pool = Pool(workers, CONTEXT, _begin, (begin, given))
    try:
        yield pool
    except BaseException:
        pool.end()
        raise
    pool.shutdown()


def _begin(begin: Callable[..., None] | None, given: tuple[Any, ...]) -> None:
    if _CAN_BLOCK:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    threading.Thread(target=_end_with_parent, daemon=True).start()
    if begin is not None:
        begin(*given)


def _end_with_parent() -> None:
    """End this process when the parent ends, in whatever way; nothing waits for its results then."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
