"""The target utilization that leaves just enough room for the highest usage while new pods start."""

# Within it an HPA changes nothing: utilization may be below its target by this share.
TOLERANCE = 0.1
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


def average_of(total: int, replicas: int, size: int, target: int) -> float:
    """The average utilization in percent, if this total is what is needed at a target."""
    return total / max(replicas * size, 1) * target


def is_busy(busiest: float, target: int, pods: int) -> bool:
    """Whether utilization was at its target, as far as whole replicas and the tolerance of an HPA allow.

    `pods` is the highest count lately: with few pods utilization is further below the target.
    """
    return busiest >= target * min(1 - TOLERANCE, (pods - 1) / pods)


def next_target(
    current: int,
    used: int,
    request: int,
    busiest: float,
    pods: int,
    plain: bool,
    low: int,
    high: int,
    most_up: int,
) -> int:
    """The next target. It stays, within its bounds, if no time was busy, or a peak of usage does not even reach it.

    Then there are more replicas than the target asks for, so usage says nothing about it. It falls only if a peak
    exceeds the request. `busiest` is the highest average utilization since the last update, which a peak is compared
    with: the average of now would give another target at night than by day. `plain`: by the formula as published.
    """
    wanted = current
    if plain:
        wanted = plain_step(current, used, request)
    elif 100 * used >= current * request and is_busy(busiest, current, pods):
        wanted = fixed_point(min(busiest, current), used, request)
        wanted = wanted if used > request else max(wanted, current)
    return stepped(current, wanted, low, high, most_up)
