"""A change of both axes, step by step: what waits, what becomes of each pod, and when it is over. Plain numbers."""

from typing import NamedTuple

from hypot.core.disruption import AT_ONCE, PATIENCE, may_disrupt

# How long, in seconds, a node may put a resize off before the pod is better off elsewhere, and how long one may take.
DEFERRED_PATIENCE = 300.0
IN_PROGRESS_PATIENCE = 3600.0
# However much progress there is, a plan is over after this.
LONGEST = IN_PROGRESS_PATIENCE

# What becomes of a pod. Infeasible is what no waiting will bring about.
KEEP, RESIZE, EVICT, WAIT, INFEASIBLE = range(5)
# Why: it gets less only later, it is killed again and again, its node has the word, it cannot be resized in place, or
# the new size restarts it.
NO_REASON, LOWERED, DYING, ASKED, REFUSED, RESTARTED = range(6)
# What keeps it from being evicted: a new pod would not do, it has not started yet, or too many are away.
NO_BAR, HOPELESS, NOT_STARTED, NO_ROOM = range(4)
# How a plan stands.
GOES_ON, DONE, IMPOSSIBLE, TIMED_OUT = range(4)


class PodFacts(NamedTuple):
    """A pod and the size that it is to have."""

    # Its spec asks for the size, and it also has it; it has more of anything; the size restarts it.
    asked: bool
    has: bool
    lowered: bool
    restarts: bool
    # It cannot be resized in place; the resize that was asked for will not come about by waiting.
    refused: bool
    given_up: bool
    # It is killed for memory soon after each start.
    dying: bool
    # No new pod would have the size; it has started; it serves; it can be spared.
    hopeless: bool
    started: bool
    ready: bool
    spared: bool
    # Its node said never.
    never: bool


class PodVerdict(NamedTuple):
    action: int
    why: int
    bar: int


def fate_for(case: PodFacts, evicts: bool, lowers: bool) -> PodVerdict:
    """In place first; where that cannot be, by eviction, as far as pods can be spared."""
    if case.asked and case.has:
        return PodVerdict(KEEP, NO_REASON, NO_BAR)
    if case.lowered and not lowers:
        return PodVerdict(WAIT, LOWERED, NO_BAR)
    if case.dying and evicts:
        # One that does not serve is as good as away.
        fate = _evicted(case, DYING, case.spared or not case.ready)
        if fate.action != INFEASIBLE:
            return fate
    if case.asked:
        if case.given_up and evicts:
            return _evicted(case, ASKED, case.spared)
        return PodVerdict(INFEASIBLE if case.given_up and case.never else WAIT, ASKED, NO_BAR)
    if case.refused:
        return _evicted(case, REFUSED, case.spared) if evicts else PodVerdict(INFEASIBLE, REFUSED, NO_BAR)
    if case.restarts and not case.spared:
        return PodVerdict(WAIT, RESTARTED, NO_BAR)
    return PodVerdict(RESIZE, NO_REASON, NO_BAR)


def _evicted(case: PodFacts, why: int, spared: bool) -> PodVerdict:
    """It comes back with the recorded size, unless that has failed already."""
    if case.hopeless:
        return PodVerdict(INFEASIBLE, why, HOPELESS)
    if not case.started:
        return PodVerdict(WAIT, why, NOT_STARTED)
    return PodVerdict(EVICT, why, NO_BAR) if spared else PodVerdict(WAIT, why, NO_ROOM)


def disrupts(action: int, restarts: bool) -> bool:
    """Whether a pod stops serving for a while by what is done to it."""
    return action == EVICT or (action == RESIZE and restarts)


def tolerance_of(configured: int) -> int:
    """How many pods may be away at once."""
    return max(1, int(AT_ONCE * configured))


def spares(ready: bool, running: int, configured: int, taken: int) -> bool:
    """Whether a pod may go; one that does not serve is away already."""
    return may_disrupt(running if ready else running + 1, configured, tolerance_of(configured), taken)


def waits_for(before: int, replicas: int, grows: bool, shrinks: bool, behind: bool) -> bool:
    """Whether what shrinks waits for what grows. Nothing is too small where nothing is to stay.

    `behind`: some pods are smaller than those that stay must be.
    """
    if replicas in (0, before):
        return False
    return shrinks if replicas > before else grows or behind


def is_at_once(resizes: bool, waits: bool, more: bool, new_pods_have: bool) -> bool:
    """Whether only the count changes, and nobody need look after the size of pods that come."""
    return not resizes and not waits and (new_pods_have or not more)


def may_lower(waits: bool, before: int, planned: int, replicas: int, serving: int) -> bool:
    """Whether pods may get less: where more are to make up for it, those must serve."""
    if not waits or planned <= before:
        return True
    return replicas >= planned and serving >= planned


def ending(acts: bool, waits: bool, fails: bool, shrinks: bool, since: float, moved: float, now: float) -> int:
    """How a plan stands after a look. It is late where nothing moved for too long, unless pods may go at last."""
    if not acts and not waits:
        return IMPOSSIBLE if fails else DONE
    late = now - moved > PATIENCE and not shrinks
    return TIMED_OUT if late or now - since > LONGEST else GOES_ON
