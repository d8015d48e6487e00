"""What a workload needs of a resource: what its pods together should request so that usage is at its target.

Needs are learned in whole units, millicores or mebibytes.
"""

# The share of the pods that must be measured, and of those that must not crash, so that usage says what is needed.
ENOUGH = 0.5
CRASHING = 0.2
# Why it is not known what is needed: pods at their maximum are saturated, crash, were not measured, or do not exist.
KNOWN = -1
SATURATED, CRASH_LOOP, UNMEASURED, NO_PODS = range(4)


def are_crashing(crashing: int, pods: int) -> bool:
    return crashing > CRASHING * pods


def is_enough(measured: int, serving: int) -> bool:
    return measured >= ENOUGH * serving


def needed_at(used: int, measured: int, serving: int, target: int) -> int:
    """The total at which what so many measured pods use, and all that serve, is at its target in percent.

    Divided first, because the whole product may be too large for a 64-bit integer.
    """
    base, times = measured * target, serving * 100
    return used // base * times + used % base * times // base


def counted_in(total: int, unit: int) -> int:
    """A need as it is learned, in whole units."""
    return max(round(total / unit), 0)


def units_of(size: int, unit: int) -> int:
    """A size in these units."""
    return -(-size // unit)
