"""The writes of one object: their order, how many at once, and when the rest is dropped."""

import asyncio

import pytest

from hypot.policy.plan.pursue import EvictPod, RecordSize, ResizePod, ScaleTo, SetTemplate
from hypot.run.act.steps import ALL_AT_ONCE, AT_ONCE, LEFT, WITHIN, Results, Steps
from hypot.run.outcome import FINE, Done

pytestmark = pytest.mark.asyncio
REFUSED = Done("409 conflict", overtaken=True)
RESIZES = tuple([ResizePod(f"web-{index}", f"u{index}", ()) for index in range(20)])
EVICTIONS = tuple([EvictPod(f"old-{index}", f"o{index}", "why") for index in range(3)])


class Server:
    """Records what is sent; a write takes so many seconds of the clock, and one turn of the event loop."""

    def __init__(self, *, seconds=0.0, answers=None):
        self.now, self.seconds, self.answers = 100.0, seconds, answers or {}
        self.sent, self.under_way, self.most = [], 0, 0
        self.stands = True

    async def write(self, action):
        self.sent.append(action)
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        await asyncio.sleep(0)
        self.under_way -= 1
        self.now += self.seconds
        return self.answers.get(getattr(action, "pod", type(action)), FINE)

    async def take(self, *actions, known="sized"):
        together = asyncio.Semaphore(ALL_AT_ONCE)
        return await Steps(self.write, lambda: self.stands, lambda: self.now, together).take(actions, known)


async def test_resizes_run_concurrently():
    """Several run at once, up to a limit; results are in the order of the actions."""
    server = Server(answers={"web-3": REFUSED})
    results = await server.take(*RESIZES)
    assert server.most == AT_ONCE
    assert [action for action, _ in results.steps] == list(RESIZES)
    assert results.refused == [(RESIZES[3], REFUSED)]
    assert len(results.done) == len(RESIZES) - 1


async def test_objects_share_what_is_under_way():
    """Together they do not use every connection."""
    server = Server()
    together = asyncio.Semaphore(3)
    each = [Steps(server.write, lambda: True, lambda: 0.0, together).take(RESIZES, "none") for _ in range(4)]
    await asyncio.gather(*each)
    assert (server.most, len(server.sent)) == (3, 80)


async def test_evictions_run_one_after_another():
    """Each eviction leaves less budget for the next."""
    server = Server()
    results = await server.take(*EVICTIONS)
    assert (server.most, results.done, results.evicted) == (1, list(EVICTIONS), True)


@pytest.mark.parametrize(
    ("known", "answers", "sent"),
    [
        ("none", {}, 1),
        ("none", {"old-0": Done("cut off", unsure=True)}, 1),
        ("none", {"old-0": Done("429 budget")}, 2),
        ("awaited", {}, 0),
        ("missing", {}, 0),
        ("unsized", {}, 0),
    ],
)
async def test_evictions_without_proof(known, answers, sent):
    """One pod at most; an eviction that a budget refused proves nothing."""
    server = Server(answers=answers)
    results = await server.take(*EVICTIONS, known=known)
    assert len(server.sent) == sent
    assert len(results.left) == len(EVICTIONS) - sent
    assert results.evicted == (sent > 0)


@pytest.mark.parametrize(
    ("action", "how", "restarted"),
    [
        (ResizePod("web-0", "u0", (), restarts=True), FINE, True),
        (ResizePod("web-0", "u0", (), restarts=True), Done("cut off", unsure=True), True),
        (ResizePod("web-0", "u0", (), restarts=True), REFUSED, False),
        (ResizePod("web-0", "u0", (), restarts=True), LEFT, False),
        (SetTemplate(()), FINE, True),
        (RESIZES[0], FINE, False),
        (EVICTIONS[0], FINE, False),
        (ScaleTo(3, 2), FINE, False),
    ],
)
async def test_restarts_without_an_eviction(action, how, restarted):
    """A resize that restarts its container, and a new template; also if the answer is missing."""
    assert Results(((action, how),)).restarted == restarted


async def test_pods_wait_for_what_comes_before_them():
    """A size that is not recorded or a count that is not set stops the rest: it is left, not refused."""
    server = Server(answers={ScaleTo: REFUSED})
    actions = (RecordSize(()), ScaleTo(3, 2), *RESIZES[:2], EVICTIONS[0])
    results = await server.take(*actions)
    assert server.sent == list(actions[:2])
    assert (results.done, results.left) == ([actions[0]], list(actions[2:]))
    assert [how for _, how in results.steps[2:]] == [LEFT] * 3


async def test_what_is_not_begun_in_time_is_left():
    """All writes of an object have one deadline, so that a slow object does not stop the others."""
    server = Server(seconds=WITHIN / 2)
    results = await server.take(*RESIZES)
    assert len(server.sent) < len(RESIZES)
    assert len(results.done) == len(server.sent)
    assert not results.refused
    slow = Server(seconds=WITHIN / 2)
    assert len((await slow.take(*EVICTIONS)).done) == 2


async def test_nothing_is_sent_once_the_object_changed():
    """Each write checks again: an object that is paused in the middle gets no further writes."""
    server = Server()

    async def write(action):
        server.stands = len(server.sent) < 4
        return await server.write(action)

    steps = Steps(write, lambda: server.stands, lambda: 0.0, asyncio.Semaphore(1))
    results = await steps.take((*RESIZES, *EVICTIONS), "sized")
    assert len(server.sent) < 8
    assert len(results.left) == len(RESIZES) + len(EVICTIONS) - len(server.sent)
