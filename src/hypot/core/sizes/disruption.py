"""Whether pods may be disrupted for a new size: how many at once, and for which changes. Plain numbers."""

# Why a pod is changed or left alone.
KILLED_YOUNG, OUTSIDE, LASTING, KILLED_IN_VAIN, SAME, TOO_YOUNG, SMALL = range(7)
WANTED = (KILLED_YOUNG, OUTSIDE, LASTING)

# How many seconds a change of both axes may take without any progress before it is abandoned.
PATIENCE = 300.0
# The share of all pods that may be restarted at once if sizes cannot change in place.
AT_ONCE = 0.25


def is_more(amount: int, replicas: int, had: int, of_had: int) -> bool:
    """Whether this many pods of this size need more in total than those."""
    return amount * replicas > had * of_had


def replaces(amount: int, replicas: int, planned: int, of_planned: int) -> bool:
    """Whether this many pods of this size need clearly more in total than planned. Then nothing waits for the plan.

    A plan that each small rise replaced would never be carried out.
    """
    return 10 * amount * replicas > 11 * planned * of_planned


def may_disrupt(running: int, configured: int, tolerance: int, taken: int) -> bool:
    """Whether one more pod may be disrupted. If the tolerance rounds to 0, one at a time may."""
    if running - taken > configured - tolerance:
        return True
    return configured == running and tolerance == 0 and taken == 0


def why_change(
    killed_young: bool, outside: bool, difference: float, age: float, lifetime: float, threshold: float
) -> int:
    """Killed pods and pods out of bounds change at once, others only long after the start and by a large change."""
    if killed_young:
        return KILLED_YOUNG if difference != 0.0 else KILLED_IN_VAIN
    if outside:
        return OUTSIDE
    if difference == 0.0:
        return SAME
    if age < lifetime:
        return TOO_YOUNG
    return SMALL if difference < threshold else LASTING
