"""The share of requests that is late, by how many cores of a pod are idle.

The share falls by the same factor with every idle core: exp(-kappa * idle). Beyond the cap, requests pile up. Kappa is
learned: it is the median of what was observed, so single windows do not move it far.
"""

from math import exp, log

# Where neither the deadline nor the cost of a request is known.
USUAL_KAPPA = 6.0
LEAST_KAPPA, MOST_KAPPA = 0.5, 200.0
# By how much one observation moves kappa.
MOVED = 0.01
# Only these shares say how steep the law is: smaller ones are too few requests, larger ones have a backlog.
LEAST_SHARE, MOST_SHARE = 1e-4, 0.5
# Pods with less of their cap idle say nothing.
LEAST_IDLE = 0.04
# A shortage of this share of the cap makes twice as many requests late.
SHORTAGE = 0.3


def kappa_of(deadline: float, work: float) -> float:
    """The prior: a queue in which a request takes `work` core-seconds and may take `deadline` seconds."""
    if deadline <= 0.0 or work <= 0.0:
        return USUAL_KAPPA
    return min(MOST_KAPPA, max(LEAST_KAPPA, deadline / work - 1.0))


def late_share(kappa: float, cap: float, use: float) -> float:
    """The share of requests that is late in a pod; above one if it gets more than it can serve."""
    idle = cap - use
    if idle >= 0.0:
        return exp(-kappa * idle)
    return 1.0 - idle / (SHORTAGE * max(cap, 1e-3))


def kappa_after(kappa: float, cap: float, use: float, late: float) -> float:
    """Kappa after a window in which pods used so many cores each, and this share of requests was late."""
    idle = cap - use
    if idle <= LEAST_IDLE * cap or late > MOST_SHARE:
        return kappa
    steeper = -log(max(late, LEAST_SHARE)) / idle
    if steeper > kappa * (1.0 + MOVED):
        return min(MOST_KAPPA, kappa * (1.0 + MOVED))
    # Where almost nothing is late, all that is known is that the law is at least this steep. What is nearer than a step
    # changes nothing: otherwise kappa, and what follows from it, would never come to rest.
    if late < LEAST_SHARE or steeper >= kappa / (1.0 + MOVED):
        return kappa
    return max(LEAST_KAPPA, kappa / (1.0 + MOVED))
