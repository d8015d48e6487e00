"""The thread that encodes and compresses the state, so that other tasks can run.

It is not from the shared executor: that one is full while name lookups of recommenders hang.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

_THREAD = ThreadPoolExecutor(1, "state")
P = ParamSpec("P")
T = TypeVar("T")


async def aside(work: Callable[P, T], *given: P.args, **named: P.kwargs) -> T:
    """The result of the work, done in the thread. The caller must not change what was given before it is done."""
    return await asyncio.get_running_loop().run_in_executor(_THREAD, lambda: work(*given, **named))
