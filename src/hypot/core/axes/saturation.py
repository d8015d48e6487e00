"""When pods use all that they can get, and how much more to request then."""

from math import ceil

# The share of its cap from which something counts as full, and the factor by which the request then exceeds the cap.
FULL, AHEAD = 0.95, 1.3
# Pods that shrink must still have this much room: usage of what they can get.
ROOM = 0.9
# The share of the cap from which on it is too near to wait and see.
NEAR = 0.8


def is_full(usage: int, cap: int) -> bool:
    """Whether usage has practically reached the cap. Both are doubles, so that compiled code gives the same result."""
    return float(usage) >= FULL * float(cap)


def is_near(usage: int, cap: int) -> bool:
    """Whether so little is left that more is needed soon, if usage does not fall again."""
    return float(usage) >= NEAR * float(cap)


def is_at_cap(usage: int, cap: int) -> bool:
    """Whether pods use all they can get. Clearly more is an old sample, from before the pods became smaller."""
    return is_full(usage, cap) and is_full(cap, usage)


def beyond(cap: int) -> int:
    """The total to request if the measured pods are at their cap together.

    Pods without a sample, such as new ones, count as nothing: what they take over is not known yet.
    """
    return int(AHEAD * cap)


def least_kept(total: int, usage: int, cap: int) -> int:
    """The least total that pods may shrink to: with it, what they use now is clearly below what they can get."""
    return min(total, int(float(total) * float(usage) / (ROOM * float(cap))))


def fewest(replicas: int, usage: int, cap: int) -> int:
    """The fewest replicas that may remain while what each can get stays the same: as `least_kept`, of a count."""
    return min(replicas, ceil(float(replicas) * float(usage) / (ROOM * float(cap))))
