"""How much a pod can use: a service with one thread uses one core, however large its pods are.

Few large pods would then leave most requests without an answer, and their usage would not show it. So more use of a pod
is planned in small steps only; and where use stops rising below the cap, that is what a pod can use.
"""

from math import ceil

from hypot.core.bank.forecasts import KEPT
from hypot.core.bank.rule import LearnedLoad, ObservedLoad

# A pod is planned to use at most so many times what one has used, or what it takes to have one pod less.
EXPLORED = 1.25
# Use is flat if it stays within this share. If it is so for this many steps, though demand usually changes by more than
# that in each, or if it is so while all pods together use clearly less than before, then pods can use no more.
FLAT, RESTLESS = 0.005, 0.01
# A single change counts as at most this much: after one step demand is not restless.
MOST_CHANGE = 0.05
FLAT_STEPS = 10
FLAT_AFTER_LOSS, LOSS = 5, 0.08
# It is the largest so far from this share of that on.
NEAR = 0.97
# What pods can use is tried again: it rises by a fifth in the time in which prices lose half of their weight.
RETRIED = 0.3
# The weight of the newest change of the demand, once many are known.
REMEMBERED = 0.02


def cap_of(learned: LearnedLoad, cap: float) -> float:
    """What a pod can use, if it may use `cap`."""
    reach = learned.reach[0]
    return float(min(cap, reach) if reach > 0.0 else cap)


def fewest_pods(learned: LearnedLoad, demand: float, planned: float) -> int:
    """So many pods that none has to use much more than one has used."""
    most = learned.most_used[0]
    if most <= 0.0:
        return 1
    return int(min(ceil(max(demand, planned) / (EXPLORED * most)), max(1, ceil(demand / most) - 1)))


def learn_reach(learned: LearnedLoad, o: ObservedLoad, before: float, decay: float, settled: bool) -> None:
    """Take in what the pods use now; `before` is the largest demand of the last steps.

    They are settled if they were not at their cap for some time, and did not change their size.
    """
    if learned.known[0] > 1:
        share = max(REMEMBERED, 1.0 / learned.known[0])
        learned.changes[0] += share * (change_of_demand(learned) - learned.changes[0])
    learned.reach[0] /= decay**RETRIED
    is_most = o.use >= NEAR * learned.most_used[0]
    if learned.reach[0] > 0.0 and o.use > learned.reach[0]:
        learned.reach[0] = o.use
    if not settled or abs(o.use - learned.level[0]) > FLAT * learned.level[0]:
        learned.level[0], learned.flat[0] = o.use, 0
    else:
        learned.flat[0] += 1
    if settled and is_most:
        lost = learned.demand[learned.newest[0]] < before * (1.0 - LOSS)
        is_flat = learned.flat[0] >= FLAT_STEPS and learned.changes[0] > RESTLESS
        if is_flat or (lost and learned.flat[0] >= FLAT_AFTER_LOSS):
            learned.reach[0] = o.use
    learned.most_used[0] = max(learned.most_used[0] * decay, o.use)


def change_of_demand(learned: LearnedLoad) -> float:
    """By which share the demand changed in the last step."""
    newest = learned.newest[0]
    now, before = learned.demand[newest], learned.demand[(newest - 1) % KEPT]
    return float(min(MOST_CHANGE, abs(now - before) / before)) if before > 0.0 else 0.0
