"""When pods use all that they can get, and how much more to request then."""

# The share of its cap from which something counts as full, and the factor by which the request then exceeds the cap.
FULL, AHEAD = 0.95, 1.3


def is_full(usage: int, cap: int) -> bool:
    """Whether usage has practically reached the cap. Both are doubles, so that compiled code gives the same result."""
    return float(usage) >= FULL * float(cap)


def beyond(cap: int, replicas: int, pods: int) -> int:
    """The total to request if these pods are at their cap: more than the cap, for all replicas."""
    return int(AHEAD * cap * replicas / pods)
