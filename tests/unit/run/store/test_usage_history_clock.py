"""Usage after a clock was ahead and is right again: what was measured by it counts as of now, and not for ever."""

import asyncio

import pytest

from hypot.kinds.vpa import VPA
from hypot.policy.model.state import read_time
from hypot.run.store.shard_text import pack, unpack
from hypot.run.store.usage_history import entry_key, key_of
from unit.run.store.test_usage_history import DAY, GB, HOUR, KEY, START, WEB, followed, pod, sample, target

# Else the first asynchronous test makes a loop beside its own, which nobody closes.
asyncio.set_event_loop(None)

pytestmark = pytest.mark.asyncio
PERIOD = 15.0
# No whole half-lives as well, and more of them than weights can be told apart over.
far = pytest.mark.parametrize("ahead", [2 * HOUR, 20 * DAY, 20 * DAY + 5 * HOUR, 5000 * DAY])


async def fed(history, reconciles, start, pods=("web-1",), **used):
    """A sample of each pod in each reconcile; the sizes that followed."""
    found = []
    for number in range(reconciles):
        at = start + number * PERIOD
        samples = {("shop", name): sample(at, **used) for name in pods}
        await history.observe(samples, {KEY: [pod(name) for name in pods]}, at)
        found.append(target(history))
    return found


async def kept(history, at):
    """What the next process makes of what this one wrote down."""
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
    """By whoever goes on, and by who takes up memory or a checkpoint."""
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
async def test_how_sure_it_is_and_when_it_ends(ahead):
    """Samples lie as far apart as they did, and what is not measured any more is forgotten in time."""
    history = followed()
    await fed(history, 40, START + ahead)
    await fed(history, 1, START)
    status = history.status((KEY, "app"), START)
    assert read_time(status["lastSampleStart"]) == START
    assert read_time(status["firstSampleStart"]) == START - 39 * PERIOD
    assert history.expire(START + 9 * DAY) == ((KEY, "app"),)


async def test_a_window_that_was_begun_before_takes_nothing_away():
    """A pod that was not measured while the clock was ahead: its peak weighs next to nothing since."""
    history = followed()
    await fed(history, 1, START, memory=3 * GB)
    await fed(history, 9, START + 20 * DAY, ("web-2",), memory=3 * GB)
    sizes = await fed(history, 3, START + HOUR, ("web-1", "web-2"), memory=4 * GB)
    assert all(each["memory"] > 3 * GB for each in sizes)


async def test_a_checkpoint_whose_reference_is_to_come():
    """Without the time of a sample of cpu, there is nothing else to see it by."""
    source, ahead = followed(), START + 5000 * DAY
    await fed(source, 5, ahead, cpu=-1)
    history = await checkpointed(source, ahead + 2 * DAY)
    assert GB < target(history)["memory"] < 2 * GB
    sizes = await fed(history, 1, START, tuple(f"web-{number}" for number in range(9)), memory=8 * GB)
    assert sizes[-1]["memory"] > 8 * GB


async def test_each_is_written_down_in_its_turn(monkeypatch):
    """Who was written by the clock that was ahead is not passed over until that time comes."""
    monkeypatch.setattr("hypot.run.store.usage_history.WRITTEN_PER_RECONCILE", 1)
    vpas = [VPA(f"Deployment/{name}", namespace="shop") for name in ("a", "b", "c")]
    history = followed(*vpas)
    for at in (START + DAY, START + DAY + 1, START + DAY + 2, START, START + 1, START + 2):
        await history.observe({("shop", "web-1"): sample(at)}, {key_of(vpa): [pod()] for vpa in vpas}, at)
        entries = await history.entries(at)
    assert sorted(entry["seen"]["at"] for entry in entries.values()) == [START, START + 1, START + 2]


async def test_what_is_looked_for_once_an_hour():
    """Is looked for again by a clock that was set back."""
    history = followed()
    await fed(history, 1, START + DAY)
    assert history.expire(START + DAY) == ()
    history.declare(WEB, ["idle"], START)
    assert history.expire(START, ()) == ((KEY, "idle"),)
