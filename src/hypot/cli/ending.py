"""Handles SIGTERM while other processes work for this one."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn


class Terminated(BaseException):
    """This process received SIGTERM. It is not an Exception, so that no error handler catches it."""


@contextmanager
def heeding() -> Iterator[None]:
    """In this context SIGTERM raises, as Ctrl-C does, so that worker processes end too."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, _terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _terminate(number: int, _: object) -> NoReturn:
    signal.signal(number, signal.SIG_IGN)
    raise Terminated
