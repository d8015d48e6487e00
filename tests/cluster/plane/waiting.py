"""Waiting for what a cluster does in its own time."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
# A machine that others use too may be so many times as slow. What comes early is not waited for any longer.
PATIENCE = 6.0


def eventually(check: Callable[[], T], within: float = 10) -> T:
    """Whatever `check` says once it is neither false nor an AssertionError; its last answer is in the failure."""
    within *= PATIENCE
    ends = time.monotonic() + within
    while True:
        said: T | AssertionError
        try:
            said = check()
            if said:
                return said
        except AssertionError as error:
            said = error
        if time.monotonic() > ends:
            raise AssertionError(f"not within {within} s: {said!r}")
        time.sleep(0.05)
