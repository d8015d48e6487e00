"""Many rules, and the price of each on the past of this workload. The cheapest decides.

A rule is a forecast, a margin above it, and how long it holds what it asked for. Demand does not depend on what was
decided, so all rules can be priced on the same past: what each would have held, what it would have started, and which
requests would have been late.
"""

from typing import Any, NamedTuple

from hypot.core.bank.forecasts import FORECASTS, KEPT
from hypot.core.bank.lateness import late_share
from hypot.core.bank.need import pods_for, size_for

MARGINS = (0.0, 0.05, 0.1, 0.2, 0.4, 0.8)
# In steps.
HOLDS = (0, 2, 5, 10, 20, 40, 80)
MARGIN_COUNT, HOLD_COUNT = 6, 7
RULES = FORECASTS * MARGIN_COUNT * HOLD_COUNT
# An HPA at 70 %, which is priced like a rule and never decides.
SHADOW = RULES
PRICED = RULES + 1
SHADOW_HOLD, SHADOW_TARGET = 4, 0.7
# What decides first: the last value, 10 % more, held for five steps.
FIRST = 2 * HOLD_COUNT + 2
# How many steps of plans are kept: no lead is longer.
LEADS = 32
# Prices lose half of their weight in this time, in seconds.
HALF_LIFE = 4 * 86400.0
# Pricing begins this many steps after the first lead has passed.
SETTLED = 4
# A longer time without a decision breaks the past in two.
UNKNOWN = -1.0


class Bank(NamedTuple):
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


def new_bank() -> Bank:
    return Bank(
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


def forget_plans(bank: Bank) -> None:
    """Begin anew with plans and forecasts, after a time without decisions; prices stay."""
    bank.steps[0] = 0


def hold_forecasts(bank: Bank, made: Any) -> None:
    """Add the forecasts of this step, and note the largest within each hold."""
    newest = bank.steps[0] % KEPT
    known = min(bank.steps[0] + 1, KEPT)
    for kind in range(FORECASTS):
        bank.forecasts[newest * FORECASTS + kind] = made[kind]
    for kind in range(FORECASTS):
        largest, back = 0.0, 0
        for hold in range(HOLD_COUNT):
            last = min(HOLDS[hold], known - 1)
            while back <= last:
                largest = max(largest, bank.forecasts[(newest - back) % KEPT * FORECASTS + kind])
                back += 1
            bank.held[kind * HOLD_COUNT + hold] = largest


def held_demand(bank: Bank) -> float:
    """The demand that the deciding rule plans for."""
    rule = bank.rule[0]
    return float(bank.held[forecast_of(rule) * HOLD_COUNT + rule % HOLD_COUNT] * (1.0 + margin_of(rule)))


def plan_counts(
    bank: Bank,
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
    place = place_of(bank.steps[0])
    for kind in range(FORECASTS):
        for hold in range(HOLD_COUNT):
            demand = bank.held[kind * HOLD_COUNT + hold]
            for margin in range(MARGIN_COUNT):
                asked = pods_for(demand * (1.0 + MARGINS[margin]), use, cap, kappa, late_price, pod_price)
                rule = (kind * MARGIN_COUNT + margin) * HOLD_COUNT + hold
                bank.plans[place + rule] = float(max(least, min(most, asked)))
    shadow = int(bank.held[SHADOW_HOLD] / (SHADOW_TARGET * request)) + 1
    bank.plans[place + SHADOW] = float(max(least, min(most, shadow)))


def plan_sizes(bank: Bank, pods: int, ratio: float, kappa: float, late_price: float, least: float, most: float) -> None:
    """What each rule asks for now, in cores of all these pods together."""
    place = place_of(bank.steps[0])
    for kind in range(FORECASTS):
        for hold in range(HOLD_COUNT):
            demand = bank.held[kind * HOLD_COUNT + hold]
            for margin in range(MARGIN_COUNT):
                asked = size_for(demand * (1.0 + MARGINS[margin]), pods, ratio, kappa, late_price)
                rule = (kind * MARGIN_COUNT + margin) * HOLD_COUNT + hold
                bank.plans[place + rule] = pods * max(least, min(most, asked))
    bank.plans[place + SHADOW] = pods * max(least, min(most, bank.held[SHADOW_HOLD] / (SHADOW_TARGET * pods)))


def least_planned(bank: Bank, rule: int, lead: int, age: int) -> float:
    """The least that this rule had planned when what was observed now could still be changed by it."""
    now = bank.steps[0]
    least = bank.plans[place_of(now - age) + rule]
    for back in range(age + 1, lead + 1):
        least = min(least, bank.plans[place_of(now - back) + rule])
    return float(least)


def is_priceable(bank: Bank, lead: int) -> bool:
    return bool(bank.steps[0] >= lead + SETTLED)


def price_counts(
    bank: Bank,
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
    """Add what each rule cost in this step; a new pod costs as much as a pod for `churn` steps."""
    here, before = place_of(bank.steps[0]), place_of(bank.steps[0] - 1)
    for rule in range(PRICED):
        held, least = bank.plans[here + rule], least_planned(bank, rule, lead, age)
        grown = max(0.0, held - bank.plans[before + rule])
        late = late_share(kappa, cap, demand / least)
        price = (held + grown * churn) * pod_price + late_price * demand * late
        bank.prices[rule] = bank.prices[rule] * decay + price
    bank.priced[0] += 1


def price_sizes(
    bank: Bank,
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
    here = place_of(bank.steps[0])
    for rule in range(PRICED):
        cap = ratio * least_planned(bank, rule, lead, age) / pods
        late = late_share(kappa, cap, demand / pods)
        bank.prices[rule] = bank.prices[rule] * decay + bank.plans[here + rule] + late_price * demand * late
    bank.priced[0] += 1


def choose(bank: Bank, now: float) -> None:
    """Let the cheapest rule decide; the one that decides now stays if none is cheaper."""
    best = bank.rule[0]
    for rule in range(RULES):
        if bank.prices[rule] < bank.prices[best]:
            best = rule
    if best != bank.rule[0]:
        bank.rule[0], bank.since[0] = best, now
