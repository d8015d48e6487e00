"""A change of both axes, step by step: what waits, what happens to each pod, and when it ends. Plain numbers."""

from typing import NamedTuple

from hypot.core.sizes.disruption import AT_ONCE, PATIENCE, may_disrupt

# How many seconds a node may defer a resize before the pod should move elsewhere, and how many a resize may take.
DEFERRED_PATIENCE = 300.0
IN_PROGRESS_PATIENCE = 3600.0
# A plan ends after this time, regardless of progress.
LONGEST = IN_PROGRESS_PATIENCE

# What happens to a pod. Infeasible means that waiting will not help.
KEEP, RESIZE, EVICT, WAIT, INFEASIBLE = range(5)
# Why: it is lowered only later, it is killed again and again, its node must decide, it cannot be resized in place, or
# the new size restarts it.
NO_REASON, LOWERED, DYING, ASKED, REFUSED, RESTARTED = range(6)
# What prevents an eviction: a new pod would not help, the pod has not started yet, or too many pods are unavailable.
NO_BAR, HOPELESS, NOT_STARTED, NO_ROOM = range(4)
# The state of a plan.
GOES_ON, DONE, IMPOSSIBLE, TIMED_OUT = range(4)


class PodFacts(NamedTuple):
    """Facts about a pod and its planned size."""

    # Its spec asks for the size; it really has the size; some resource would be lowered; the size restarts it.
    asked: bool
    has: bool
    lowered: bool
    restarts: bool
    # It cannot be resized in place; waiting for the requested resize will not help.
    refused: bool
    given_up: bool
    # It is OOM-killed soon after each start.
    dying: bool
    # A new pod would not have the size either; it has started; it is ready; it may be disrupted.
    hopeless: bool
    started: bool
    ready: bool
    spared: bool
    # Its node reported that the resize is impossible.
    never: bool


class PodVerdict(NamedTuple):
    action: int
    why: int
    bar: int


def fate_for(case: PodFacts, evicts: bool, lowers: bool) -> PodVerdict:
    """Resize in place first. If that is impossible, evict, as far as pods may be disrupted."""
    if case.asked and case.has:
        return PodVerdict(KEEP, NO_REASON, NO_BAR)
    if case.lowered and not lowers:
        return PodVerdict(WAIT, LOWERED, NO_BAR)
    if case.dying and evicts:
        # A pod that is not ready is already unavailable.
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
    """An evicted pod comes back with the recorded size, unless that has already failed."""
    if case.hopeless:
        return PodVerdict(INFEASIBLE, why, HOPELESS)
    if not case.started:
        return PodVerdict(WAIT, why, NOT_STARTED)
    return PodVerdict(EVICT, why, NO_BAR) if spared else PodVerdict(WAIT, why, NO_ROOM)


def disrupts(action: int, restarts: bool) -> bool:
    """Whether the action makes a pod unavailable for a while."""
    return action == EVICT or (action == RESIZE and restarts)


def tolerance_of(configured: int) -> int:
    """How many pods may be unavailable at once."""
    return max(1, int(AT_ONCE * configured))


def spares(ready: bool, running: int, configured: int, taken: int) -> bool:
    """Whether a pod may be disrupted. A pod that is not ready is already unavailable."""
    return may_disrupt(running if ready else running + 1, configured, tolerance_of(configured), taken)


def waits_for(before: int, replicas: int, grows: bool, shrinks: bool, behind: bool) -> bool:
    """Whether the part of the change that lowers waits for the part that raises. It never does if no replica remains.

    `behind`: some pods are smaller than the remaining pods must be.
    """
    if replicas in (0, before):
        return False
    return shrinks if replicas > before else grows or behind


def is_at_once(resizes: bool, waits: bool, more: bool, new_pods_have: bool) -> bool:
    """Whether only the count changes, and new pods need no size set for them."""
    return not resizes and not waits and (new_pods_have or not more)


def may_lower(waits: bool, before: int, planned: int, replicas: int, serving: int) -> bool:
    """Whether pods may be lowered. If additional pods compensate for it, those must be ready first."""
    if not waits or planned <= before:
        return True
    return replicas >= planned and serving >= planned


def ending(acts: bool, waits: bool, fails: bool, shrinks: bool, since: float, moved: float, now: float) -> int:
    """The state of a plan. It times out if nothing changed for too long, unless pods can be removed now."""
    if not acts and not waits:
        return IMPOSSIBLE if fails else DONE
    late = now - moved > PATIENCE and not shrinks
    return TIMED_OUT if late or now - since > LONGEST else GOES_ON
