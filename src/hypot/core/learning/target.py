"""The target utilization that leaves just enough room for the highest usage while new pods start."""

# Rounding of floats must not lower a whole percentage.
GRAIN = 1e-9


def fixed_point(target: float, used: int, request: int) -> int:
    """The target at which a 90th percentile of usage, which moves along with the target, just fills the request.

    It is the same whatever the current target is, so it is reached at once and does not ring.
    """
    return int(target if used <= 0 else target * request / used + GRAIN)


def plain_step(target: int, used: int, request: int) -> int:
    """The formula as published. It rings once usage is far above the target: it adds what is missing, again and again.

    A result outside of 1 to 100 is none.
    """
    upper = -(-100 * used // request)
    wanted = 100 - (upper - target)
    return wanted if target <= upper and 0 < wanted <= 100 else target


def stepped(current: int, wanted: int, low: int, high: int, most_up: int) -> int:
    """The next target: what is wanted, within its bounds, and at most so many points higher than now."""
    return min(max(min(wanted, high), low), current + most_up)


def next_target(
    current: int,
    used: int,
    request: int,
    average: float,
    replicas: int,
    plain: bool,
    low: int,
    high: int,
    most_up: int,
) -> int:
    """The next target. It stays, within its bounds, if a peak of usage does not even reach it.

    Then there are more replicas than the target asks for, so usage says nothing about it. `average` is the utilization
    of now, in percent; 0 if unknown. Whole replicas keep it below the target, by one replica at most. `plain`: by the
    formula as published.
    """
    wanted = current
    if plain:
        wanted = plain_step(current, used, request)
    elif 100 * used >= current * request:
        held_at = min(max(average, current * (replicas - 1) / max(replicas, 1)), current)
        wanted = fixed_point(held_at, used, request)
        wanted = wanted if used > request else max(wanted, current)
    return stepped(current, wanted, low, high, most_up)
