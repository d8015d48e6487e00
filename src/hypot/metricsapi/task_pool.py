"""Runs tasks at the same time, and begins the next ones."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Final

import structlog

log = structlog.get_logger()
# How often it is asked for more, in seconds.
TICK: Final = 0.2


class TaskPool:
    """Asks for the next task five times a second and whenever one has ended, until `most` run."""

    def __init__(self, following: Callable[[], Coroutine[Any, Any, None] | None], most: int, failure: str) -> None:
        """`following` returns None if nothing is due; `failure` is the message if a task raises."""
        self._following, self._most, self._failure = following, most, failure
        self._tasks: set[asyncio.Task[None]] = set()
        self._runs = False

    async def run(self) -> None:
        """Run until it is cancelled, which cancels the tasks too."""
        self._runs = True
        try:
            while True:
                self._begin_some()
                await asyncio.sleep(TICK)
        finally:
            self._runs = False
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    def _begin_some(self) -> None:
        while len(self._tasks) < self._most and (work := self._following()) is not None:
            task = asyncio.ensure_future(work)
            self._tasks.add(task)
            task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            log.error(self._failure, error=repr(task.exception()))
        if self._runs:
            self._begin_some()
