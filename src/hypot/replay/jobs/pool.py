"""Processes that work for this one, and end with it."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from typing import Any, ParamSpec, TypeVar

# These are begun anew: a copy of this one would have its threads' locks, and not its threads.
CONTEXT = multiprocessing.get_context("spawn")
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
# Not every system lets a thread put signals off.
_CAN_BLOCK = hasattr(signal, "pthread_sigmask")
_P = ParamSpec("_P")
_T = TypeVar("_T")


class Pool(ProcessPoolExecutor):
    """Key presses are for this process to answer: the others never see one, not even while they start."""

    def submit(self, fn: Callable[_P, _T], /, *args: _P.args, **kwargs: _P.kwargs) -> "Future[_T]":
        """May start a process, which would complain if it were started by half."""
        with _undisturbed():
            return super().submit(fn, *args, **kwargs)

    def end(self) -> None:
        """All of them at once, whatever they are at."""
        for process in list((self._processes or {}).values()):
            process.kill()
        self.shutdown(cancel_futures=True)


@contextmanager
def _undisturbed() -> Iterator[None]:
    """What comes meanwhile is answered afterwards; processes that are started meanwhile have it blocked."""
    if not _CAN_BLOCK:
        yield
        return
    came: list[int] = []
    before = {one: signal.signal(one, lambda number, _: came.append(number)) for one in _SIGNALS if _is_main()}
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        for one, handler in before.items():
            signal.signal(one, handler)
        for number in came:
            signal.raise_signal(number)


def _is_main() -> bool:
    """Whether it is this thread that answers signals."""
    return threading.current_thread() is threading.main_thread()


@contextmanager
def pool_of(workers: int, begin: Callable[..., None] | None = None, *given: Any) -> Iterator[Pool]:
    """So many processes, each of which begins like this."""
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
    """Nobody waits for what is left, however the process ended that started us."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
