"""Asked to end, while others work for this process."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn


class Terminated(BaseException):
    """Somebody asked this process to end. It is no error, so that nobody on the way takes it for one."""


@contextmanager
def heeding() -> Iterator[None]:
    """Meanwhile a SIGTERM is answered as a key press is, so that those who work for us end too."""
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
