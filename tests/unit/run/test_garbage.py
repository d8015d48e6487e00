"""When cycles of objects are looked for."""

import asyncio
import gc
import weakref

import pytest

from hypot.run.garbage import collect_seldom

pytestmark = pytest.mark.asyncio


class Knot:
    """An object that holds itself."""

    def __init__(self) -> None:
        self.itself = self


async def test_cycles_go_when_it_is_time_and_not_before():
    """While it runs nothing else looks for them, and afterwards everything is as it was."""
    task = asyncio.ensure_future(collect_seldom(0.05))
    await asyncio.sleep(0)
    knot = weakref.ref(Knot())
    assert not gc.isenabled()
    assert knot() is not None
    for _ in range(100):
        await asyncio.sleep(0.02)
        if knot() is None:
            break
    assert knot() is None
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert gc.isenabled()
    assert gc.get_freeze_count() == 0
