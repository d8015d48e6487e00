"""Tasks that run at the same time, in virtual time."""

import asyncio
from contextlib import suppress

import pytest
from structlog.testing import capture_logs

from hypot.metricsapi.task_pool import TICK, TaskPool

pytestmark = [pytest.mark.asyncio, pytest.mark.looptime]


class Works:
    """Each takes a second, unless it fails; `left` are to come."""

    def __init__(self, left, *, fail=False):
        self.left, self.fail = left, fail
        self.begun, self.running, self.ended = [], 0, 0

    def following(self):
        if not self.left:
            return None
        self.left -= 1
        return self.work()

    async def work(self):
        self.begun.append(asyncio.get_running_loop().time())
        self.running += 1
        try:
            if self.fail:
                raise RuntimeError("broken")
            await asyncio.sleep(1.0)
            self.ended += 1
        finally:
            self.running -= 1


async def ran(works, most, seconds):
    pool = asyncio.ensure_future(TaskPool(works.following, most, "work failed").run())
    await asyncio.sleep(seconds)
    pool.cancel()
    with suppress(asyncio.CancelledError):
        await pool


async def test_the_next_begins_when_one_ends():
    """Never more than allowed at the same time, and no time is lost between two."""
    works = Works(6)
    await ran(works, 2, 3.1)
    assert (works.begun, works.ended) == ([0, 0, 1, 1, 2, 2], 6)


async def test_it_looks_for_work_again():
    """What is due later begins within a tick."""
    works = Works(0)
    asyncio.get_running_loop().call_later(5.0, setattr, works, "left", 1)
    await ran(works, 2, 7.0)
    assert 5.0 <= works.begun[0] <= 5.0 + TICK


async def test_its_end_is_that_of_all():
    """Nothing begins while they end."""
    works = Works(9)
    await ran(works, 3, 0.5)
    assert (len(works.begun), works.running, works.ended) == (3, 0, 0)


async def test_a_failure_is_reported():
    """It does not stop the others."""
    works = Works(3, fail=True)
    with capture_logs() as logs:
        await ran(works, 1, 1.0)
    assert [(one["event"], one["error"]) for one in logs] == [("work failed", "RuntimeError('broken')")] * 3
