"""Wait for changes in a cluster that happen asynchronously."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
# A shared machine may be slower by this factor. A check that succeeds early does not wait any longer.
PATIENCE = 6.0


def eventually(check: Callable[[], T], within: float = 10) -> T:
    """The first result of `check` that is neither false nor an AssertionError; a failure shows the last result."""
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
