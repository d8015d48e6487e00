"""Whether pods may be disrupted for a new size: how many at once, and what is worth it. Plain numbers."""

# Why a pod is changed, and why it is not.
KILLED_YOUNG, OUTSIDE, LASTING, KILLED_IN_VAIN, SAME, TOO_YOUNG, SMALL = range(7)
WANTED = (KILLED_YOUNG, OUTSIDE, LASTING)

# How long, in seconds, a change of both axes may take without any progress before it is given up.
PATIENCE = 300.0
# Of all pods this share may be restarted at once where sizes cannot change in place.
AT_ONCE = 0.25


def is_more(amount: int, replicas: int, planned: int, of_planned: int) -> bool:
    """Whether so many pods of that size need more in total than is planned: then nobody waits for the plan."""
    return amount * replicas > planned * of_planned


def may_disrupt(running: int, configured: int, tolerance: int, taken: int) -> bool:
    """Whether one more pod may go; where the tolerance rounds to nothing, one at a time may."""
    if running - taken > configured - tolerance:
        return True
    return configured == running and tolerance == 0 and taken == 0


def why_change(
    killed_young: bool, outside: bool, difference: float, age: float, lifetime: float, threshold: float
) -> int:
    """Killed or out of bounds: at once. Within bounds: only long after the start, and if it matters."""
    if killed_young:
        return KILLED_YOUNG if difference != 0.0 else KILLED_IN_VAIN
    if outside:
        return OUTSIDE
    if difference == 0.0:
        return SAME
    if age < lifetime:
        return TOO_YOUNG
    return SMALL if difference < threshold else LASTING
