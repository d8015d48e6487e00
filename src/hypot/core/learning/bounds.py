"""The bounds of an HPA: as a slot of the week has them, in an emergency and after it, and with a planned minimum."""

from typing import NamedTuple

from hypot.core.learning.phases import BACK_TO_NORMAL, IN_EMERGENCY, stepped_back
from hypot.core.learning.slots import replicas_of

# No bounds: nothing is learned yet, or the HPA stays as it is.
NONE = -1
# For how long pods may wait for a larger size before replicas are added instead.
PATIENCE = 600.0
# Why a maximum is not held at the preferred count: pods cannot grow, or it does not help.
HELD, AT_LARGEST, NO_ROOM, SATURATED, LATE = range(5)


class SlotRange(NamedTuple):
    """The least replicas of a slot, and the most: while pods can grow instead, and while they are saturated at it."""

    low: int
    held: int
    raised: int
    # The most that any minimum may bring with it while pods can grow instead.
    ceiling: int


class Planned(NamedTuple):
    """The minimum without and with what is planned, and the bounds, NONE if the HPA stays as it is."""

    low: int
    least: int
    first: int
    last: int


def raised_to(high: int, replicas: int, factor: float, most: int) -> int:
    """The maximum while pods are saturated at it."""
    return max(high, min(replicas_of(replicas, 1, factor), most))


def why_not_held(
    size: int, largest: int, infeasible: bool, saturated: bool, replicas: int, preferred: int, short_for: float
) -> int:
    """Why pods cannot grow instead of becoming more; HELD if they can. `infeasible`: no node has room for larger ones.

    `saturated`: whether they use all that they can get; `short_for`: for how long they have had less than they need.
    """
    if size >= largest:
        return AT_LARGEST
    if infeasible:
        return NO_ROOM
    if saturated and replicas >= preferred:
        return SATURATED
    return LATE if short_for >= PATIENCE else HELD


def held_at(preferred: int, replicas: int, asked: int) -> int:
    """The maximum while pods can grow instead: the preferred count, or what runs and is needed."""
    return max(preferred, min(replicas, asked))


def pods_kept(replicas: int, most: int, unknown: bool) -> int:
    """The pods that must not be removed: those that run, while what is needed now is unknown."""
    return min(replicas, most) if unknown else 0


def without_planned(written_low: int, last_low: int, last_planned: int) -> int:
    """The minimum of the HPA, without the planned one that it got."""
    return last_low if written_low == last_planned else written_low


def hpa_bounds(
    phase: int,
    before: int,
    unknown: bool,
    slot: SlotRange,
    last_low: int,
    written_low: int,
    named: bool,
    replicas: int,
    least: int,
    most: int,
    factor: float,
) -> tuple[int, int]:
    """The bounds of the HPA; NONE if it stays as it is. A slot whose least is NONE is not learned yet.

    `before` is the phase before this one, `unknown` says that it is not known what is needed now, `last_low` is the
    minimum that was decided last, and `written_low` that of the HPA; NONE if there is none. `named`: whether people
    made that HPA. Until something is learned, theirs keeps its bounds, and any other has the administrator's: those
    that it has may be of another hour, or of another controller.
    """
    kept = pods_kept(replicas, most, unknown)
    if slot.low == NONE:
        if written_low != NONE and named:
            return NONE, NONE
        known = written_low if written_low != NONE else last_low if unknown else 0
        return max(least, min(known, most)), most
    if phase == IN_EMERGENCY:
        # No pod is removed: neither one that runs, nor one that this emergency has asked for.
        asked = last_low if before == IN_EMERGENCY else 0
        high = max(slot.raised, min(max(replicas, asked), most))
        return high, high
    if phase == BACK_TO_NORMAL:
        low = last_low if unknown else stepped_back(last_low, factor)
        low = max(min(low, most), slot.low)
        return low, max(low, slot.raised, kept)
    if not unknown:
        return slot.low, slot.held
    # The minimum is not lowered either. Without an HPA it is the one that was decided last.
    known = last_low if written_low == NONE else written_low
    low = max(slot.low, min(known, most))
    return low, max(low, slot.held, kept)


def with_planned(
    low: int,
    high: int,
    written_low: int,
    written_high: int,
    last_low: int,
    last_planned: int,
    planned: int,
    in_emergency: int,
    most: int,
    ceiling: int,
    factor: float,
) -> Planned:
    """These bounds with a planned minimum; bounds and written ones may be NONE.

    `in_emergency` is the minimum in an emergency while no bounds are learned, and `ceiling` the most replicas while
    pods can grow instead.
    """
    decided = low != NONE
    if not decided:
        low, high = (written_low, written_high) if written_low != NONE else (1, most)
        low = without_planned(low, last_low, last_planned)
        most, planned = min(high, most), max(planned, in_emergency)
    least = max(low, min(planned, most))
    # Above a planned minimum there is as much room as above a learned one.
    room = replicas_of(least, 1, factor) if least > low and decided else least
    last = max(high, min(room, most, ceiling), least)
    if not decided and least == written_low and last == written_high:
        return Planned(low, least, NONE, NONE)
    return Planned(low, least, least, last)
