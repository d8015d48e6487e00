"""Many rules, and the price of each on the past of this workload. The cheapest decides.

A rule is a forecast, a margin above it, and how long it holds what it asked for. Demand does not depend on what was
decided, so all rules can be priced on the same past: what each would have held, what it would have started, and which
requests would have been late.
"""

from math import ceil
from typing import Any, NamedTuple

from hypot.core.bank.forecasts import FORECASTS, KEPT
from hypot.core.bank.lateness import late_share
from hypot.core.bank.need import pods_for, size_for

MARGINS = (0.0, 0.05, 0.1, 0.2, 0.4, 0.8)
# In steps.
HOLDS = (0, 2, 5, 10, 20, 40, 80)
MARGIN_COUNT, HOLD_COUNT = len(MARGINS), len(HOLDS)
RULES = FORECASTS * MARGIN_COUNT * HOLD_COUNT
# An HPA at 70 %, which is priced like a rule and never decides.
SHADOW = RULES
PRICED = RULES + 1
SHADOW_HOLD, SHADOW_TARGET = HOLDS.index(20), 0.7
# A quotient of two numbers that is whole may be a little more.
EXACT = 1e-9
# What decides first: the last value, 10 % more, held for five steps.
FIRST = MARGINS.index(0.1) * HOLD_COUNT + HOLDS.index(5)
# How many steps of plans are kept: no lead is longer.
LEADS = 32
RING = LEADS * PRICED
# Prices lose half of their weight in this time, in seconds.
HALF_LIFE = 4 * 86400.0
# Pricing begins this many steps after the first lead has passed.
SETTLED = 4
# A longer time without a decision breaks the past in two.
UNKNOWN = -1.0


class RuleBank(NamedTuple):
    """What all rules forecast and planned in the last steps, and what each has cost so far."""

    # A ring of forecasts, and a ring of plans: pods, or cores of all pods together.
    forecasts: Any
    plans: Any
    # The largest forecast of each kind within each hold.
    held: Any
    prices: Any
    # The steps since plans were last forgotten; and how many steps are in the prices.
    steps: Any
    priced: Any
    # The rule that decides, and since when.
    rule: Any
    since: Any


def new_bank() -> RuleBank:
    return RuleBank(
        [0.0] * (KEPT * FORECASTS),
        [0.0] * (LEADS * PRICED),
        [0.0] * (FORECASTS * HOLD_COUNT),
        [0.0] * PRICED,
        [0],
        [0],
        [FIRST],
        [UNKNOWN],
    )


def forecast_of(rule: int) -> int:
    return rule // (MARGIN_COUNT * HOLD_COUNT)


def margin_of(rule: int) -> float:
    return MARGINS[rule // HOLD_COUNT % MARGIN_COUNT]


def hold_of(rule: int) -> int:
    """In steps."""
    return HOLDS[rule % HOLD_COUNT]


def place_of(steps: int) -> int:
    """Where the plans of a step begin."""
    return steps % LEADS * PRICED


def forget_plans(bank: RuleBank) -> None:
    """Begin anew with plans and forecasts, after a time without decisions; prices stay."""
    bank.steps[0] = 0


def hold_forecasts(bank: RuleBank, made: Any) -> None:
    """Add the forecasts of this step, and note the largest within each hold."""
    newest = bank.steps[0] % KEPT
    known = min(bank.steps[0] + 1, KEPT)
    forecasts, ring = bank.forecasts, KEPT * FORECASTS
    for kind in range(FORECASTS):
        forecasts[newest * FORECASTS + kind] = made[kind]
    for kind in range(FORECASTS):
        largest, back, place = 0.0, 0, newest * FORECASTS + kind
        for hold in range(HOLD_COUNT):
            last = min(HOLDS[hold], known - 1)
            while back <= last:
                if forecasts[place] > largest:  # noqa: PLR1730  max() costs a call, here and below
                    largest = forecasts[place]
                back += 1
                place -= FORECASTS
                if place < 0:
                    place += ring
            bank.held[kind * HOLD_COUNT + hold] = largest


def recent_demand(bank: RuleBank) -> float:
    """The largest demand of the last steps: that of the shadow."""
    return float(bank.held[SHADOW_HOLD])


def held_demand(bank: RuleBank) -> float:
    """The demand that the deciding rule plans for."""
    rule = bank.rule[0]
    return float(bank.held[forecast_of(rule) * HOLD_COUNT + rule % HOLD_COUNT] * (1.0 + margin_of(rule)))


def plan_counts(
    bank: RuleBank,
    use: float,
    cap: float,
    request: float,
    kappa: float,
    late_price: float,
    pod_price: float,
    least: int,
    most: int,
) -> None:
    """What each rule asks for now, in pods that should use `use` cores and can use `cap`."""
    place, before = place_of(bank.steps[0]), UNKNOWN
    for kind in range(FORECASTS):
        for hold in range(HOLD_COUNT):
            demand = bank.held[kind * HOLD_COUNT + hold]
            for margin in range(MARGIN_COUNT):
                rule = (kind * MARGIN_COUNT + margin) * HOLD_COUNT + hold
                if hold > 0 and demand == before:
                    # A longer hold often holds the same: then it plans the same.
                    bank.plans[place + rule] = bank.plans[place + rule - 1]
                    continue
                asked = pods_for(demand * (1.0 + MARGINS[margin]), use, cap, kappa, late_price, pod_price)
                bank.plans[place + rule] = float(max(least, min(most, asked)))
            before = demand
    shadow = max(1, ceil(recent_demand(bank) / (SHADOW_TARGET * request) - EXACT))
    bank.plans[place + SHADOW] = float(max(least, min(most, shadow)))


def plan_sizes(
    bank: RuleBank, pods: int, ratio: float, kappa: float, late_price: float, least: float, most: float
) -> None:
    """What each rule asks for now, in cores of all these pods together."""
    place, before = place_of(bank.steps[0]), UNKNOWN
    for kind in range(FORECASTS):
        for hold in range(HOLD_COUNT):
            demand = bank.held[kind * HOLD_COUNT + hold]
            for margin in range(MARGIN_COUNT):
                rule = (kind * MARGIN_COUNT + margin) * HOLD_COUNT + hold
                if hold > 0 and demand == before:
                    bank.plans[place + rule] = bank.plans[place + rule - 1]
                    continue
                asked = size_for(demand * (1.0 + MARGINS[margin]), pods, ratio, kappa, late_price)
                bank.plans[place + rule] = pods * max(least, min(most, asked))
            before = demand
    bank.plans[place + SHADOW] = pods * max(least, min(most, recent_demand(bank) / (SHADOW_TARGET * pods)))


def least_planned(plans: Any, place: int, steps: int) -> float:
    """The least that a rule planned in the step whose plan is at this place, and in so many steps before it."""
    least = plans[place]
    for _ in range(steps):
        place -= PRICED
        if place < 0:
            place += RING
        if plans[place] < least:  # noqa: PLR1730
            least = plans[place]
    return float(least)


def is_priceable(bank: RuleBank, lead: int) -> bool:
    return bool(bank.steps[0] >= lead + SETTLED)


def price_counts(
    bank: RuleBank,
    demand: float,
    lead: int,
    age: int,
    cap: float,
    kappa: float,
    late_price: float,
    pod_price: float,
    churn: float,
    decay: float,
) -> None:
    """Add what each rule cost in this step; a new pod costs as much as a pod for `churn` steps.

    What was observed now could be changed by what was planned between `lead` and `age` steps ago.
    """
    plans, prices, now = bank.plans, bank.prices, bank.steps[0]
    here, before, then = place_of(now), place_of(now - 1), place_of(now - age)
    served, late = UNKNOWN, 0.0
    for rule in range(PRICED):
        held, least = plans[here + rule], least_planned(plans, then + rule, lead - age)
        grown = held - plans[before + rule]
        if grown < 0.0:  # noqa: PLR1730
            grown = 0.0
        if least != served:
            served, late = least, late_share(kappa, cap, demand / least)
        price = (held + grown * churn) * pod_price + late_price * demand * late
        prices[rule] = prices[rule] * decay + price
    bank.priced[0] += 1


def price_sizes(
    bank: RuleBank,
    demand: float,
    lead: int,
    age: int,
    pods: int,
    ratio: float,
    kappa: float,
    late_price: float,
    decay: float,
) -> None:
    """Add what each rule cost in this step, for sizes."""
    plans, prices, now = bank.plans, bank.prices, bank.steps[0]
    here, then = place_of(now), place_of(now - age)
    served, late = UNKNOWN, 0.0
    for rule in range(PRICED):
        least = least_planned(plans, then + rule, lead - age)
        if least != served:
            served, late = least, late_share(kappa, ratio * least / pods, demand / pods)
        prices[rule] = prices[rule] * decay + plans[here + rule] + late_price * demand * late
    bank.priced[0] += 1


def choose(bank: RuleBank, now: float) -> None:
    """Let the cheapest rule decide; the one that decides now stays if none is cheaper."""
    best, prices = bank.rule[0], bank.prices
    for rule in range(RULES):
        if prices[rule] < prices[best]:
            best = rule
    if best != bank.rule[0]:
        bank.rule[0], bank.since[0] = best, now
