"""Many writes in one reconcile: as many as there is time for, with fair turns between tenants."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")
# Whether there is time to begin another write.
IsTime = Callable[[], bool]


def always() -> bool:
    """Without a limit."""
    return True


def in_turns(items: Iterable[T], tenant: Callable[[T], str]) -> list[T]:
    """The first item of each tenant, then the second of each: nobody waits for all items of another."""
    taken: Counter[str] = Counter()
    ranks: list[int] = []
    listed = list(items)
    for item in listed:
        ranks.append(taken[tenant(item)])
        taken[tenant(item)] += 1
    return [listed[place] for place in sorted(range(len(listed)), key=ranks.__getitem__)]


async def write_in_time(
    items: Sequence[T], write: Callable[[T], Awaitable[R]], at_once: int, is_time: IsTime
) -> list[R]:
    """Write the items in this order, some at the same time; the results of those that were begun in time."""
    waiting, done = iter(items), []

    async def work() -> None:
        for item in waiting:
            if not is_time():
                return
            done.append(await write(item))

    async with asyncio.TaskGroup() as group:
        for _ in range(min(at_once, len(items))):
            group.create_task(work())
    return done
