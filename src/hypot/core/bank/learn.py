"""What one observation teaches: the demand, how late requests are, what they cost, how long pods take to serve."""

from math import inf

from hypot.core.bank.bank import HALF_LIFE, HOLD_COUNT, HOLDS, UNKNOWN, forget_plans, recent_demand
from hypot.core.bank.forecasts import KEPT
from hypot.core.bank.lateness import kappa_after, kappa_of
from hypot.core.bank.memory import learn_memory
from hypot.core.bank.reach import cap_of, learn_reach
from hypot.core.bank.rule import COUNTS_KEPT, AutoscalerPast, AutoscalerRule, LearnedLoad, ObservedLoad
from hypot.core.bank.season import DAY, WEEK, add_to_season

LEAST_DEMAND = 0.01
# Pods that use this share of their cap are at it: their usage does not show how much is asked for.
AT_CAP = 0.97
# What they may need then.
HIDDEN = 2.0
# Nothing is learned about lateness for this many steps after pods were at their cap or changed their size.
SETTLE = 4
# By which share of the difference a measured value moves the learned one.
FOLLOWED = 0.2
# For so many steps pods that do not serve are waited for: usage shows too little without them.
MISSED = 40
# A longer time without a decision, in steps, breaks the past in two.
GAP = 4
# A jump by more than this factor is not remembered.
MOST_JUMP = 8.0
LONGEST_START = 1800.0
# The weight of the newest observation in the means from which the work of a request follows; how much rates must
# differ, as the square of their spread over their mean; and the least share of the usage that requests cause.
REMEMBERED = 0.01
LEAST_SPREAD = 0.01
LEAST_WORK = 0.3


def observe(rule: AutoscalerRule, past: AutoscalerPast, o: ObservedLoad, now: float) -> None:
    """Take in one observation; the demand goes into the proposal."""
    learned, proposal = past.learned, past.proposal
    note_gap(rule, past, now)
    note_starts(learned, o, now)
    note_size(learned, o)
    remember_ready(learned, o, now)
    served = pods_then(learned, o)
    saturated = o.use >= AT_CAP * cap_of(learned, o.cap)
    if saturated:
        learned.calm[0] = 0
    demand = max(LEAST_DEMAND, o.use * served)
    if not saturated:
        add_to_season(learned.day, rule.day / DAY, demand, middle_of(o))
        add_to_season(learned.week, rule.day * 7.0 / WEEK, demand, middle_of(o))
    else:
        demand = hidden_demand(rule, learned, o, served)
    note_demand(learned, demand)
    proposal.demand[0], proposal.saturated[0], proposal.blind[0] = demand, 1 if saturated else 0, 0
    learned.last[0] = now


def middle_of(o: ObservedLoad) -> float:
    return o.at - o.window / 2.0


def note_gap(rule: AutoscalerRule, past: AutoscalerPast, now: float) -> None:
    """At first, after a time without decisions, and after a clock was set back, nothing is released for a while."""
    learned, keeps_until = past.learned, now + HOLDS[HOLD_COUNT - 1] * rule.step
    if learned.first[0] == -inf:
        learned.first[0], learned.keeps_until[0] = now, keeps_until
        learned.kappa[0] = kappa_of(rule.late_after, learned.work[0])
    elif not 0.0 <= now - learned.last[0] <= GAP * rule.step:
        learned.first[0] = min(learned.first[0], now)
        forget_plans(past.counts)
        forget_plans(past.sizes)
        learned.known[0] = 0
        learned.missing_since[0] = inf
        learned.keeps_until[0] = keeps_until
    # A clock that was set back may have left a time far ahead.
    learned.keeps_until[0] = min(learned.keeps_until[0], keeps_until)


def note_starts(learned: LearnedLoad, o: ObservedLoad, now: float) -> None:
    """Measure how long it takes from the last order of more pods until all of them serve.

    A pod that stops serving says nothing about that.
    """
    if o.ready < o.replicas:
        is_ordered = o.replicas > learned.ordered[0]
        if is_ordered or learned.missing_since[0] == inf:
            learned.missing_since[0] = learned.last[0] if learned.last[0] > -inf else now
            learned.starting[0] = 1 if is_ordered else 0
    elif learned.missing_since[0] < inf:
        if learned.starting[0]:
            took = min(LONGEST_START, now - learned.missing_since[0])
            learned.start[0] += FOLLOWED * (took - learned.start[0])
        learned.missing_since[0] = inf
    learned.ordered[0] = o.replicas
    learned.served[0] = min(o.replicas, max(o.ready, learned.served[0]))


def note_size(learned: LearnedLoad, o: ObservedLoad) -> None:
    if learned.sized[0] != o.cpu:
        learned.sized[0], learned.calm[0] = o.cpu, 0


def remember_ready(learned: LearnedLoad, o: ObservedLoad, now: float) -> None:
    place = (learned.ready_newest[0] + 1) % COUNTS_KEPT
    learned.ready_newest[0] = place
    learned.ready[place], learned.ready_at[place] = o.ready, now


def waits_for_pods(rule: AutoscalerRule, learned: LearnedLoad, now: float) -> bool:
    """Whether some pods do not serve; those that do not for long are not waited for."""
    return bool(0.0 <= now - learned.missing_since[0] < MISSED * rule.step)


def pods_then(learned: LearnedLoad, o: ObservedLoad) -> float:
    """How many pods shared the demand in the window of the samples: the harmonic mean, as each had its share of it.

    What was ready at a decision counts back to the decision before it.
    """
    length, shares, place = 0.0, 0.0, learned.ready_newest[0]
    for _ in range(COUNTS_KEPT - 1):
        before = (place - 1) % COUNTS_KEPT
        within = min(o.at, learned.ready_at[place]) - max(o.at - o.window, learned.ready_at[before])
        if within > 0.0 and learned.ready[place] > 0:
            length += within
            shares += within / learned.ready[place]
        place = before
    return length / shares if shares > 0.0 else float(max(1, o.ready))


def hidden_demand(rule: AutoscalerRule, learned: LearnedLoad, o: ObservedLoad, served: float) -> float:
    """The demand of pods at their cap: by the rate of requests where it is known, else twice what they use."""
    used = o.use * served
    if o.rate < 0.0 or learned.work[0] <= 0.0:
        return HIDDEN * used
    asked = (o.rate * learned.work[0] + learned.base[0]) * served
    return float(max(asked, HIDDEN * used if rule.sizes else used))


def note_demand(learned: LearnedLoad, demand: float) -> None:
    newest = (learned.newest[0] + 1) % KEPT
    learned.newest[0], learned.demand[newest] = newest, demand
    learned.known[0] = min(KEPT, learned.known[0] + 1)


def note_jump(rule: AutoscalerRule, learned: LearnedLoad, which: int, lead: int) -> float:
    """The demand after the largest jump so far, but not above the largest demand so far."""
    newest, fading = learned.newest[0], decay_of(rule)
    demand = learned.demand[newest]
    learned.jumps[which] = 1.0 + (learned.jumps[which] - 1.0) * fading
    if learned.known[0] > lead:
        before = learned.demand[(newest - lead) % KEPT]
        learned.jumps[which] = max(learned.jumps[which], min(MOST_JUMP, demand / before))
    if which == 0:
        learned.peak[0] = max(learned.peak[0] * fading, demand)
    return float(max(demand, min(demand * learned.jumps[which], learned.peak[0])))


def decay_of(rule: AutoscalerRule) -> float:
    """The weight that a price keeps in one step."""
    return float(0.5 ** (rule.step * 86400.0 / rule.day / HALF_LIFE))


def learn_requests(rule: AutoscalerRule, past: AutoscalerPast, o: ObservedLoad) -> None:
    """What pods can use; and while they are neither at their cap nor new in their size, what requests cost."""
    learned = past.learned
    settled = past.proposal.saturated[0] == 0 and learned.calm[0] >= SETTLE
    learn_reach(learned, o, recent_demand(past.counts), decay_of(rule), settled)
    learn_memory(learned, o)
    if settled:
        learn_work(rule, learned, o)
        learn_lateness(learned, o)
    learned.calm[0] += 1


def learn_work(rule: AutoscalerRule, learned: LearnedLoad, o: ObservedLoad) -> None:
    """What a request costs, and what a pod uses without any: the line through rates and uses, if rates differ."""
    if o.rate <= 0.0:
        return
    first, means = learned.work[0] == UNKNOWN, learned.means
    share = 1.0 if first else REMEMBERED
    means[0] += share * (o.rate - means[0])
    means[1] += share * (o.use - means[1])
    means[2] += share * (o.rate * o.rate - means[2])
    means[3] += share * (o.rate * o.use - means[3])
    rate, use = means[0], means[1]
    spread, work = means[2] - rate * rate, use / rate
    if spread > LEAST_SPREAD * rate * rate:
        work = max(LEAST_WORK * work, min(work, (means[3] - rate * use) / spread))
    learned.work[0] = work
    learned.base[0] = max(0.0, use - work * rate)
    if first:
        learned.kappa[0] = kappa_of(rule.late_after, work)


def learn_lateness(learned: LearnedLoad, o: ObservedLoad) -> None:
    if o.rate > 0.0 and o.late >= 0.0:
        learned.kappa[0] = kappa_after(learned.kappa[0], cap_of(learned, o.cap), o.use, o.late / o.rate)
