"""How much cpu a pod may use before its memory is full: larger pods serve more requests, and hold more of them.

Memory is not sized. So pods do not grow beyond the cpu with which their memory fits.
"""

from math import inf

from hypot.core.bank.rule import LearnedLoad, ObservedLoad

# How full the memory of a pod may be, as a share of its limit; and how much of the room above that of an idle pod may
# be used in any case, because a runtime may take most of its memory at once.
FULL, USABLE_ROOM = 0.8, 0.5
# The weight of the newest observation; and how much use must differ, as the square of its spread over its mean, until
# it shows which part of the memory comes with it. Before that nothing is known.
REMEMBERED = 0.01
LEAST_SPREAD = 0.0025


def use_that_fits(learned: LearnedLoad) -> float:
    """The cores that a pod can use with the memory that it has; infinite if that is not known or does not matter."""
    slope = memory_per_core(learned)
    idle = learned.memory[1] - slope * learned.memory[0]
    if slope <= 0.0:
        return inf
    return float(max(FULL - idle, USABLE_ROOM * (1.0 - idle), 0.0) / slope)


def memory_per_core(learned: LearnedLoad) -> float:
    """By how much fuller the memory is with each core that a pod uses: the line through both. 0 if it is not known."""
    use, filled, squares, products = learned.memory[0], learned.memory[1], learned.memory[2], learned.memory[3]
    spread = squares - use * use
    if filled <= 0.0 or spread <= LEAST_SPREAD * use * use:
        return 0.0
    return float(min(filled / use, max(0.0, (products - use * filled) / spread)))


def learn_memory(learned: LearnedLoad, o: ObservedLoad) -> None:
    """Take in how full the memory of the pods is at this use."""
    if o.filled <= 0.0:
        return
    means = learned.memory
    share = REMEMBERED if means[1] > 0.0 else 1.0
    means[0] += share * (o.use - means[0])
    means[1] += share * (o.filled - means[1])
    means[2] += share * (o.use * o.use - means[2])
    means[3] += share * (o.use * o.filled - means[3])
