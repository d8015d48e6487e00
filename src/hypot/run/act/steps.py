"""The writes of one object: in order, resizes concurrently, and all of them within one deadline."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import NamedTuple

from hypot.cluster.clock import Clock
from hypot.policy.model.plan import actions_sentence
from hypot.policy.plan.pursue import Action, EvictPod, Progress, ResizePod, SetTemplate
from hypot.run.act.proof import Proof
from hypot.run.outcome import Done

# Concurrent resizes of one object, and of all objects together.
AT_ONCE, ALL_AT_ONCE = 8, 32
# Writes not begun within this time are left to the next reconcile: a slow workload must not stop the others.
WITHIN = 10.0
# A write that was not sent. This is not an error: the next reconcile sees whether it is still needed.
LEFT = Done("it is left to the next reconcile", overtaken=True)

Write = Callable[[Action], Awaitable[Done]]


class Results(NamedTuple):
    """The result of each step, in the order of the steps."""

    steps: tuple[tuple[Action, Done], ...]

    @property
    def done(self) -> list[Action]:
        return [action for action, how in self.steps if how.ok]

    @property
    def refused(self) -> list[tuple[Action, Done]]:
        return [(action, how) for action, how in self.steps if not how.ok and how is not LEFT]

    @property
    def left(self) -> list[Action]:
        return [action for action, how in self.steps if how is LEFT]

    @property
    def evicted(self) -> bool:
        """Whether a pod was evicted, or may have been."""
        return any(isinstance(action, EvictPod) for action in self._sent)

    @property
    def restarted(self) -> bool:
        """Whether pods were restarted without an eviction, or may have been."""
        return any(
            action.restarts if isinstance(action, ResizePod) else isinstance(action, SetTemplate)
            for action in self._sent
        )

    @property
    def _sent(self) -> list[Action]:
        return [action for action, how in self.steps if how.ok or how.unsure]


def in_place_meanwhile(progress: Progress) -> Progress:
    """While the last evicted pod is awaited, pods that are killed again and again are resized in place instead."""
    actions = tuple([_instead(each) for each in progress.actions])
    return (
        progress
        if actions == progress.actions
        else progress._replace(actions=actions, message=actions_sentence(actions))
    )


def _instead(action: Action) -> Action:
    if not isinstance(action, EvictPod) or not action.instead:
        return action
    return ResizePod(action.pod, action.uid, action.instead)


class Steps:
    """Sends each write only if the object has not changed and there is time left."""

    def __init__(self, write: Write, stands: Callable[[], bool], clock: Clock, together: asyncio.Semaphore) -> None:
        self._write, self._stands, self._clock, self._all = write, stands, clock, together
        self._own, self._until = asyncio.Semaphore(AT_ONCE), clock() + WITHIN

    async def take(self, actions: Sequence[Action], known: Proof) -> Results:
        """Write counts and records in order, then the pods, concurrently."""
        went = dict.fromkeys(range(len(actions)), LEFT)
        for place, action in enumerate(actions):
            if not isinstance(action, ResizePod | EvictPod):
                went[place] = await self._one(action)
                if not went[place].ok:
                    return Results(tuple(zip(actions, went.values(), strict=True)))
        evictions = {place: action for place, action in enumerate(actions) if isinstance(action, EvictPod)}
        async with asyncio.TaskGroup() as group:
            evicting = group.create_task(self._evict(evictions, known))
            resizing = {
                place: group.create_task(self._resize(action))
                for place, action in enumerate(actions)
                if isinstance(action, ResizePod)
            }
        went |= evicting.result() | {place: task.result() for place, task in resizing.items()}
        return Results(tuple(zip(actions, went.values(), strict=True)))

    async def _one(self, action: Action) -> Done:
        return await self._write(action) if self._clock() < self._until and self._stands() else LEFT

    async def _resize(self, action: Action) -> Done:
        async with self._own, self._all:
            return await self._one(action)

    async def _evict(self, actions: Mapping[int, Action], known: Proof) -> dict[int, Done]:
        """Evict one pod after the other; if nothing is known, only one: it shows whether pods come back sized."""
        went = {}
        for place, action in actions.items():
            how = went[place] = await self._one(action) if known in {"none", "sized", "larger", "retry"} else LEFT
            if known != "sized" and (how.ok or how.unsure):
                known = "awaited"
        return went
