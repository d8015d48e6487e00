"""Usage after a clock was ahead and is right again: its measurements count as of now, and not forever."""

import asyncio

import pytest

from hypot.core.instant import read_time
from hypot.run.store.shard_text import pack, unpack
from hypot.run.store.usage_history import entry_key
from unit.run.store.test_usage_history import DAY, GB, HOUR, KEY, START, WEB, followed, pod, sample, target

# Else the first asynchronous test opens a loop next to its own, and never closes it.
asyncio.set_event_loop(None)

pytestmark = pytest.mark.asyncio
PERIOD = 15.0
# Also times that are not whole half-lives, and more half-lives than weights can represent.
far = pytest.mark.parametrize("ahead", [2 * HOUR, 20 * DAY, 20 * DAY + 5 * HOUR, 5000 * DAY])


async def fed(history, reconciles, start, pods=("web-1",), **used):
    """Feed a sample of each pod in each reconcile; returns the target sizes after each."""
    found = []
    for number in range(reconciles):
        at = start + number * PERIOD
        samples = {("shop", name): sample(at, **used) for name in pods}
        await history.observe(samples, {KEY: [pod(name) for name in pods]}, at)
        found.append(target(history))
    return found


async def kept(history, at):
    """The history of the next process, from what this process stored."""
    entries = unpack(pack(await history.entries(at)))
    later = followed(containers=())
    assert await later.resume(KEY, entries[entry_key(KEY)], START) == []
    return later


async def checkpointed(history, at):
    later = followed(containers=())
    later.load((KEY, "app"), history.status((KEY, "app"), at), START)
    return later


async def same(history, at):
    del at
    return history


@far
@pytest.mark.parametrize("over", [same, kept, checkpointed])
async def test_sizes_follow_a_new_load_as_fast_as_without_the_jump(ahead, over):
    """This holds for the running process, and after a restart from state or from a checkpoint."""
    steady, jumped = followed(), followed()
    before = START - 41 * PERIOD
    await fed(steady, 40, before, cpu=150)
    await fed(jumped, 40, before + ahead, cpu=150)
    steady, jumped = await over(steady, START), await over(jumped, START + ahead)
    grown = {"cpu": 900, "memory": 4 * GB}
    expected = await fed(steady, 30, START, **grown)
    assert await fed(jumped, 30, START, **grown) == expected
    assert 3 * expected[0]["cpu"] < expected[-1]["cpu"]


@far
async def test_confidence_and_expiry(ahead):
    """The distances of samples stay, and a container that is no longer measured is forgotten in time."""
    history = followed()
    await fed(history, 40, START + ahead)
    await fed(history, 1, START)
    status = history.status((KEY, "app"), START)
    assert read_time(status["lastSampleStart"]) == START
    assert read_time(status["firstSampleStart"]) == START - 39 * PERIOD
    assert history.expire(START + 9 * DAY) == ((KEY, "app"),)


async def test_a_window_that_was_begun_before_takes_nothing_away():
    """A pod was not measured while the clock was ahead: its peak weighs almost nothing since then."""
    history = followed()
    await fed(history, 1, START, memory=3 * GB)
    await fed(history, 9, START + 20 * DAY, ("web-2",), memory=3 * GB)
    sizes = await fed(history, 3, START + HOUR, ("web-1", "web-2"), memory=4 * GB)
    assert all(each["memory"] > 3 * GB for each in sizes)


async def test_a_checkpoint_with_a_future_reference():
    """Without a cpu sample, only the reference time shows it."""
    source, ahead = followed(), START + 5000 * DAY
    await fed(source, 5, ahead, cpu=-1)
    history = await checkpointed(source, ahead + 2 * DAY)
    assert GB < target(history)["memory"] < 2 * GB
    sizes = await fed(history, 1, START, tuple(f"web-{number}" for number in range(9)), memory=8 * GB)
    assert sizes[-1]["memory"] > 8 * GB


async def test_an_hourly_check_after_a_clock_was_set_back():
    """The check for expired containers runs again after the clock was set back."""
    history = followed()
    await fed(history, 1, START + DAY)
    assert history.expire(START + DAY) == ()
    history.declare(WEB, ["idle"], START)
    assert history.expire(START, ()) == ((KEY, "idle"),)
