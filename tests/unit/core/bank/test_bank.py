"""What each rule plans, holds and costs."""

import pytest

from hypot.core.bank.bank import (
    FIRST,
    HOLD_COUNT,
    HOLDS,
    MARGIN_COUNT,
    MARGINS,
    PRICED,
    RULES,
    SHADOW,
    choose,
    held_demand,
    hold_forecasts,
    least_planned,
    margin_of,
    new_bank,
    place_of,
    plan_counts,
    plan_sizes,
    price_counts,
    price_sizes,
)
from hypot.core.bank.forecasts import FORECASTS
from hypot.core.bank.lateness import late_share
from hypot.core.bank.need import pods_for, size_for

CAP, USE, KAPPA, LATE, PRICE = 1.2, 0.8, 12.0, 10.0, 1.118


def rule_of(kind, margin, hold):
    return (kind * MARGIN_COUNT + margin) * HOLD_COUNT + hold


def bank_of(*demands):
    """A bank to which all forecasts were the demand, step by step; counts were planned in each."""
    bank = new_bank()
    for demand in demands:
        hold_forecasts(bank, [demand] * FORECASTS)
        plan_counts(bank, USE, CAP, 1.0, KAPPA, LATE, PRICE, 1, 50)
        bank.steps[0] += 1
    return bank


def test_as_many_rules_as_there_are_combinations():
    """And a shadow that is priced, too."""
    assert (RULES, PRICED, SHADOW) == (336, 337, 336)


@pytest.mark.parametrize(
    ("demands", "largest"),
    [
        # Holds of 0, 2, 5, 10, 20, 40 and 80 steps.
        ([5.0], [5.0] * 7),
        ([9.0, 1.0], [1.0] + [9.0] * 6),
        ([9.0, *[1.0] * 3], [1.0] * 2 + [9.0] * 5),
        ([9.0, *[1.0] * 20], [1.0] * 4 + [9.0] * 3),
        ([9.0, *[1.0] * 80], [1.0] * 6 + [9.0]),
        ([9.0, *[1.0] * 81], [1.0] * 7),
        ([9.0, *[1.0] * 200], [1.0] * 7),
    ],
)
def test_the_largest_forecast_within_each_hold(demands, largest):
    """Of each forecast."""
    bank = bank_of(*demands)
    assert bank.held == largest * FORECASTS


def test_plans_are_the_need_of_what_is_held():
    """For every rule."""
    bank = bank_of(9.0, *[4.0] * 7)
    place = place_of(7)
    for kind in range(FORECASTS):
        for margin, more in enumerate(MARGINS):
            for hold, steps in enumerate(HOLDS):
                demand = (9.0 if steps >= 7 else 4.0) * (1.0 + more)
                found = bank.plans[place + rule_of(kind, margin, hold)]
                assert found == pods_for(demand, USE, CAP, KAPPA, LATE, PRICE)
    # The shadow holds for the longest of 20 steps, at 70 % of the request.
    assert bank.plans[place + SHADOW] == int(9.0 / 0.7) + 1


@pytest.mark.parametrize(("demand", "pods"), [(0.01, 1), (0.7, 1), (0.71, 2), (2.1, 3), (7.0, 10), (9.0, 13)])
def test_the_shadow_counts_as_an_hpa_at_70_percent_does(demand, pods):
    """It rounds up, and a demand that is a whole multiple needs no pod more."""
    assert bank_of(demand).plans[SHADOW] == pods


def test_plans_keep_to_bounds():
    """Also those of the shadow."""
    bank = new_bank()
    hold_forecasts(bank, [9.0] * FORECASTS)
    plan_counts(bank, USE, CAP, 1.0, KAPPA, LATE, PRICE, 1, 5)
    assert set(bank.plans[:PRICED]) == {5.0}
    plan_counts(bank, USE, CAP, 1.0, KAPPA, LATE, PRICE, 30, 50)
    assert set(bank.plans[:PRICED]) == {30.0}
    plan_sizes(bank, 4, 1.2, KAPPA, LATE, 0.5, 2.0)
    assert min(bank.plans[:PRICED]) == pytest.approx(8.0)
    assert max(bank.plans[:PRICED]) == pytest.approx(8.0)


@pytest.mark.parametrize(("steps", "back", "least"), [(8, 0, 8.0), (8, 3, 5.0), (40, 5, 35.0), (32, 31, 1.0)])
def test_the_least_that_was_planned(steps, back, least):
    """Over the last steps, also where the ring begins anew."""
    bank = new_bank()
    for step in range(steps + 1):
        bank.plans[place_of(step) + 7] = float(step)
    assert least_planned(bank.plans, place_of(steps) + 7, back) == least


def test_the_price_of_counts():
    """What is held, what it grew by, and requests that were late with the least planned before."""
    bank = bank_of(4.0, 4.0, 4.0, 8.0, 8.0, 8.0, 8.0)
    bank.steps[0] -= 1
    bank.prices[:] = [100.0] * PRICED
    price_counts(bank, 8.0, 4, 2, CAP, KAPPA, LATE, PRICE, 6.0, 0.5)
    rule = rule_of(0, 0, 0)
    four, eight = (pods_for(demand, USE, CAP, KAPPA, LATE, PRICE) for demand in (4.0, 8.0))
    late = late_share(KAPPA, CAP, 8.0 / four)
    assert bank.prices[rule] == pytest.approx(50.0 + eight * PRICE + LATE * 8.0 * late)
    assert bank.priced == [1]
    # One step before, it had just grown.
    bank.steps[0] = 3
    price_counts(bank, 4.0, 2, 1, CAP, KAPPA, LATE, PRICE, 6.0, 0.0)
    late = late_share(KAPPA, CAP, 4.0 / four)
    assert bank.prices[rule] == pytest.approx((eight + (eight - four) * 6.0) * PRICE + LATE * 4.0 * late)


def test_the_price_of_sizes():
    """Cores of all pods, and late requests."""
    bank = new_bank()
    for _ in range(5):
        hold_forecasts(bank, [4.0] * FORECASTS)
        plan_sizes(bank, 4, 1.2, KAPPA, LATE, 0.1, 4.0)
        bank.steps[0] += 1
    bank.steps[0] -= 1
    price_sizes(bank, 4.0, 3, 2, 4, 1.2, KAPPA, LATE, 0.5)
    size = size_for(4.0, 4, 1.2, KAPPA, LATE)
    late = late_share(KAPPA, 1.2 * size, 1.0)
    assert bank.prices[rule_of(0, 0, 0)] == pytest.approx(4 * size + LATE * 4.0 * late)


def test_the_cheapest_decides():
    """The rule in charge stays if none is cheaper; otherwise the first of the cheapest decides."""
    bank = new_bank()
    bank.prices[:] = [5.0] * PRICED
    choose(bank, 7.0)
    assert (bank.rule, bank.since) == ([FIRST], [-1.0])
    bank.prices[40] = bank.prices[50] = 4.0
    bank.prices[SHADOW] = 1.0
    choose(bank, 8.0)
    assert (bank.rule, bank.since) == ([40], [8.0])
    choose(bank, 9.0)
    assert bank.since == [8.0]


def test_the_demand_that_is_planned_for():
    """What the deciding rule holds, and its margin."""
    bank = bank_of(9.0, *[4.0] * 7)
    bank.rule[0] = rule_of(3, 4, 3)
    assert margin_of(bank.rule[0]) == 0.4
    assert held_demand(bank) == pytest.approx(9.0 * 1.4)
