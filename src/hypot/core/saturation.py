"""When pods use all that they can get, and how much more to ask for then."""

# From which share of its cap on something counts as full, and by what the cap is then exceeded.
FULL, AHEAD = 0.95, 1.3


def is_full(usage: int, cap: int) -> bool:
    """Whether so much is as good as all there is; both as doubles, so that compiled code says the same."""
    return float(usage) >= FULL * float(cap)


def beyond(cap: int, replicas: int, pods: int) -> int:
    """What to ask for where these pods are at their cap: more than that, for all replicas."""
    return int(AHEAD * cap * replicas / pods)
