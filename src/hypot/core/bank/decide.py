"""One decision of an autoscaler: the stages recommend, resolve and restrain, in plain numbers."""

from hypot.core.bank.bank import (
    LEADS,
    choose,
    held_demand,
    hold_forecasts,
    is_priceable,
    plan_counts,
    plan_sizes,
    price_counts,
    price_sizes,
    recent_demand,
)
from hypot.core.bank.forecasts import forecast
from hypot.core.bank.learn import decay_of, learn_requests, middle_of, note_jump, observe, waits_for_pods
from hypot.core.bank.memory import use_that_fits
from hypot.core.bank.need import busiest, in_grains, pods_for, size_for
from hypot.core.bank.reach import cap_of, fewest_pods
from hypot.core.bank.rule import USUAL_RESIZE, AutoscalerPast, AutoscalerRule, ObservedLoad
from hypot.core.bank.season import DAY, WEEK, busiest_slot, ratio_ahead

# The first rule decides for this many steps.
WARM_UP = 40
# What shrinks must shrink by this share: sizes and counts together, or counts alone.
RELEASED = 0.2
RELEASED_PODS = 0.04
# What a size gets more when it grows, so that it need not grow again soon.
AHEAD = 0.1
# Without metrics, demand follows the season, this many steps ahead.
BLIND_AHEAD = 4
# Where a change of size restarted pods, sizes stay for this long: a day seven times over, whatever a day's length. But
# pods that need less than this share of their cpu all day are worth another restart.
FIXED_DAYS = 7.0
OVERSIZED = 0.5


def advise(rule: AutoscalerRule, past: AutoscalerPast, o: ObservedLoad, now: float) -> None:
    """Decide the count and the size; both are in the proposal afterwards.

    What an observation teaches of rules and of requests counts from the next decision on. So in one state more demand
    never gets less capacity.
    """
    proposal = past.proposal
    proposal.replicas[0], proposal.cpu[0] = o.replicas, o.cpu
    if not o.known:
        stay_blind(rule, past, o, now)
        return
    observe(rule, past, o, now)
    if rule.counts:
        recommend_count(rule, past, o, now)
        restrain_count(rule, past, o, now)
    if changes_size(rule, o, now):
        pods = sized_pods(past)
        recommend_size(rule, past, o, pods, now)
        restrain_size(rule, past, o, pods, now)
    elif rule.sizes:
        proposal.cpu[0] = max(rule.least_cpu, min(rule.most_cpu, fixed_size(rule, past, o, now)))
    learn_requests(rule, past, o)


def sized_pods(past: AutoscalerPast) -> int:
    """The pods that the size is planned for: those that are kept, but not those that were just ordered.

    Pods that serve no more are counted: where most have crashed, the others would get the cpu of all.
    """
    return int(max(1, min(past.learned.served[0], past.proposal.replicas[0])))


def changes_size(rule: AutoscalerRule, o: ObservedLoad, now: float) -> bool:
    """Whether the size may change now; if pods had to restart for it lately, only their count does, if it can."""
    return bool(rule.sizes and not (rule.counts and restarted_lately(rule, o, now)))


def restarted_lately(rule: AutoscalerRule, o: ObservedLoad, now: float) -> bool:
    """Whether pods had to restart to change their size, and not long ago."""
    return now - o.restarted < FIXED_DAYS * rule.day


def fixed_size(rule: AutoscalerRule, past: AutoscalerPast, o: ObservedLoad, now: float) -> int:
    """The size that pods have, unless the fewest of them need far less in every minute of a day.

    A burst may have left large pods: they would be idle for the rest of the week.
    """
    is_least = past.proposal.replicas[0] <= rule.least_pods
    if not is_least or now - max(o.restarted, past.learned.first[0]) < rule.day or not may_release(rule, past, now):
        return o.cpu
    needed = size_for(busiest_slot(past.learned.day), rule.least_pods, o.ratio, past.learned.kappa[0], rule.late_price)
    cpu = in_grains(needed, rule.grain)
    return cpu if cpu <= OVERSIZED * o.cpu else o.cpu


def planned_size(rule: AutoscalerRule, past: AutoscalerPast, o: ObservedLoad, now: float) -> int:
    """The size that the count is planned for: where sizes change too, the largest, and the size is made to fit."""
    return largest_size(rule, past, o) if changes_size(rule, o, now) else o.cpu


def largest_size(rule: AutoscalerRule, past: AutoscalerPast, o: ObservedLoad) -> int:
    """The largest size of which pods can use everything, and with which their memory fits."""
    reach, fits = past.learned.reach[0], use_that_fits(past.learned)
    useful = in_grains(reach / o.ratio, rule.grain) if reach > 0.0 else rule.most_cpu
    if fits < rule.most_cpu:
        useful = min(useful, max(o.cpu, in_grains(fits / o.ratio, rule.grain)))
    return int(max(rule.least_cpu, min(rule.most_cpu, useful)))


def lead_of(rule: AutoscalerRule, o: ObservedLoad, takes: float, now: float) -> int:
    """How many steps pass from what a sample shows to the moment when what is decided now has an effect."""
    return int(min(LEADS - 1, max(2, round((now - middle_of(o) + takes) / rule.step))))


def age_of(rule: AutoscalerRule, o: ObservedLoad, now: float) -> int:
    """How many steps ago the demand was what the samples show."""
    return int(min(LEADS - 1, max(1, round((now - middle_of(o)) / rule.step))))


def make_forecasts(rule: AutoscalerRule, past: AutoscalerPast, o: ObservedLoad, which: int, lead: int) -> None:
    learned, when = past.learned, middle_of(o)
    then = when + lead * rule.step
    day = ratio_ahead(learned.day, rule.day / DAY, when, then)
    week = ratio_ahead(learned.week, rule.day * 7.0 / WEEK, when, then)
    jump = note_jump(rule, learned, which, lead)
    forecast(past.made, learned.demand, learned.newest[0], learned.known[0], lead, day, week, jump)


def recommend_count(rule: AutoscalerRule, past: AutoscalerPast, o: ObservedLoad, now: float) -> None:
    """Plan a count with every rule, price them all, and ask for what the cheapest plans."""
    bank, learned, proposal = past.counts, past.learned, past.proposal
    lead = lead_of(rule, o, learned.start[0], now)
    make_forecasts(rule, past, o, 0, lead)
    hold_forecasts(bank, past.made)
    request = planned_size(rule, past, o, now) / 1000.0
    cap, price = cap_of(learned, request * o.ratio), request + o.memory_price
    kappa, late_price = learned.kappa[0], rule.late_price
    use = busiest(cap, kappa, late_price, price)
    least, most = rule.least_pods, rule.most_pods
    plan_counts(bank, use, cap, request, kappa, late_price, price, least, most)
    if is_warm(rule, past, now):
        choose(bank, now)
    if is_priceable(bank, lead):
        churn = (learned.start[0] + rule.stop) / rule.step
        age = age_of(rule, o, now)
        demand = proposal.demand[0]
        price_counts(bank, demand, lead, age, cap, kappa, late_price, price, churn, decay_of(rule))
    proposal.use[0], proposal.planned[0] = use, held_demand(bank)
    needed = max(proposal.planned[0], proposal.demand[0]) if proposal.saturated[0] else proposal.planned[0]
    asked = pods_for(needed, use, cap, kappa, late_price, price)
    proposal.fewest[0] = fewest_pods(learned, recent_demand(bank), proposal.planned[0])
    proposal.asked[0] = max(asked, proposal.fewest[0])
    bank.steps[0] += 1


def is_warm(rule: AutoscalerRule, past: AutoscalerPast, now: float) -> bool:
    """Whether enough was priced for a choice between rules."""
    return bool(now - past.learned.first[0] >= WARM_UP * rule.step)


def recommend_size(rule: AutoscalerRule, past: AutoscalerPast, o: ObservedLoad, pods: int, now: float) -> None:
    """The same for the size of so many pods."""
    bank, learned, proposal = past.sizes, past.learned, past.proposal
    lead = lead_of(rule, o, USUAL_RESIZE, now)
    make_forecasts(rule, past, o, 1, lead)
    hold_forecasts(bank, past.made)
    kappa, late_price = learned.kappa[0], rule.late_price
    least, most = rule.least_cpu / 1000.0, largest_size(rule, past, o) / 1000.0
    plan_sizes(bank, pods, o.ratio, kappa, late_price, least, most)
    if is_warm(rule, past, now):
        choose(bank, now)
    if is_priceable(bank, lead):
        age = age_of(rule, o, now)
        price_sizes(bank, proposal.demand[0], lead, age, pods, o.ratio, kappa, late_price, decay_of(rule))
    planned = held_demand(bank)
    if proposal.saturated[0]:
        planned = max(planned, proposal.demand[0])
    proposal.planned[1] = planned
    proposal.asked[1] = in_grains(size_for(planned, pods, o.ratio, kappa, late_price), rule.grain)
    bank.steps[0] += 1


def may_release(rule: AutoscalerRule, past: AutoscalerPast, now: float) -> bool:
    """Not while pods are at their cap, while steps are missing, or while pods do not serve yet or any more."""
    is_known = not past.proposal.saturated[0] and now >= past.learned.keeps_until[0]
    return bool(is_known and not waits_for_pods(rule, past.learned, now))


def restrain_count(rule: AutoscalerRule, past: AutoscalerPast, o: ObservedLoad, now: float) -> None:
    """Only a clear shrink counts, and none while pods are at their cap; bounds always hold.

    What is above the maximum is released at once, and no more than that.
    """
    proposal, kept = past.proposal, min(rule.most_pods, o.replicas)
    count = max(rule.least_pods, min(rule.most_pods, proposal.asked[0]))
    releases = may_release(rule, past, now) and count_with_slack(rule, past, o, now) < kept
    proposal.replicas[0] = count if releases else max(count, kept)


def count_with_slack(rule: AutoscalerRule, past: AutoscalerPast, o: ObservedLoad, now: float) -> int:
    """The count if a little more demand were planned for: while that is what is there, nothing is released."""
    request = planned_size(rule, past, o, now) / 1000.0
    cap, price = cap_of(past.learned, request * o.ratio), request + o.memory_price
    slack = RELEASED if changes_size(rule, o, now) else RELEASED_PODS
    demand = past.proposal.planned[0] * (1.0 + slack)
    return pods_for(demand, past.proposal.use[0], cap, past.learned.kappa[0], rule.late_price, price)


def restrain_size(rule: AutoscalerRule, past: AutoscalerPast, o: ObservedLoad, pods: int, now: float) -> None:
    """Only a clear shrink of all pods together counts, and what grows gets a little more."""
    proposal = past.proposal
    most = largest_size(rule, past, o)
    cpu = max(rule.least_cpu, min(most, proposal.asked[1]))
    total, here = pods * cpu, max(1, past.learned.served[0]) * o.cpu
    if total > here:
        cpu = max(cpu, min(most, in_grains(cpu * (1.0 + AHEAD) / 1000.0, rule.grain)))
    elif not may_release(rule, past, now) or restarted_lately(rule, o, now) or total > here * (1.0 - RELEASED):
        cpu = o.cpu if here == pods * o.cpu else in_grains(here / pods / 1000.0, rule.grain)
    proposal.cpu[0] = max(rule.least_cpu, min(rule.most_cpu, cpu))


def stay_blind(rule: AutoscalerRule, past: AutoscalerPast, o: ObservedLoad, now: float) -> None:
    """Without metrics nothing shrinks; what the season of a day or a week adds is followed upwards."""
    learned, proposal = past.learned, past.proposal
    proposal.blind[0] = 1
    if learned.known[0] == 0 or learned.last[0] < 0.0:
        stay_within(rule, past, o)
        return
    then = now + BLIND_AHEAD * rule.step
    day = ratio_ahead(learned.day, rule.day / DAY, learned.last[0], then)
    week = ratio_ahead(learned.week, rule.day * 7.0 / WEEK, learned.last[0], then)
    demand = learned.demand[learned.newest[0]] * max(1.0, day, week)
    proposal.demand[0] = demand
    kappa, late_price = learned.kappa[0], rule.late_price
    stay_within(rule, past, o)
    if rule.counts:
        request = planned_size(rule, past, o, now) / 1000.0
        cap, price = cap_of(learned, request * o.ratio), request + o.memory_price
        use = busiest(cap, kappa, late_price, price)
        count = pods_for(demand, use, cap, kappa, late_price, price)
        proposal.replicas[0] = max(proposal.replicas[0], min(rule.most_pods, count))
    if changes_size(rule, o, now):
        # Pods that do not serve now are counted too: where all have crashed, the first to serve would get everything.
        pods = max(1, proposal.replicas[0])
        cpu = in_grains(size_for(demand, pods, o.ratio, kappa, late_price), rule.grain)
        proposal.cpu[0] = max(proposal.cpu[0], min(rule.most_cpu, cpu))


def stay_within(rule: AutoscalerRule, past: AutoscalerPast, o: ObservedLoad) -> None:
    """Keep what is there, within the bounds."""
    proposal = past.proposal
    if rule.counts:
        proposal.replicas[0] = max(rule.least_pods, min(rule.most_pods, o.replicas))
    if rule.sizes:
        proposal.cpu[0] = max(rule.least_cpu, min(rule.most_cpu, o.cpu))
