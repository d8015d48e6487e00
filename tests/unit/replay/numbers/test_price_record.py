"""The record of what rules have cost: moments spread over any number of decisions."""

import pytest

from hypot.core.bank.bank import HOLD_COUNT, MARGIN_COUNT, SHADOW
from hypot.core.bank.forecasts import JUMP, LAST
from hypot.core.bank.rule import nothing_learned
from hypot.replay.numbers.price_record import DECIDING, MOMENTS, WIDTH, no_prices, record_prices


def recorded(decisions):
    record, past = no_prices(), nothing_learned()
    for i in range(decisions):
        record_prices(record, past, 15.0 * i)
    return record


@pytest.mark.parametrize(
    ("decisions", "kept", "apart"),
    [
        (0, 0, 1),
        (1, 1, 1),
        (MOMENTS, MOMENTS, 1),
        (MOMENTS + 1, MOMENTS // 2 + 1, 2),
        (2 * MOMENTS, MOMENTS, 2),
        (2 * MOMENTS + 1, MOMENTS // 2 + 1, 4),
        (100 * MOMENTS, 400, 128),
    ],
)
def test_moments_are_spread_evenly(decisions, kept, apart):
    """Every other one is dropped when there is no more room; the first decision stays."""
    record = recorded(decisions)
    assert (record.used[0], record.apart[0]) == (kept, apart)
    assert list(record.at[:kept]) == [15.0 * apart * i for i in range(kept)]


def test_prices_are_those_of_the_cheapest_rule_of_each_forecast():
    """As a share of the price of an HPA at 70 %; without one there is nothing to compare with."""
    record, past = no_prices(), nothing_learned()
    bank, each = past.counts, MARGIN_COUNT * HOLD_COUNT
    bank.prices[:] = [30.0] * len(bank.prices)
    bank.prices[SHADOW], bank.prices[LAST * each + 3], bank.prices[JUMP * each] = 40.0, 10.0, 20.0
    bank.rule[0] = JUMP * each
    record_prices(record, past, 0.0)
    assert set(record.counts[:WIDTH]) == {0.0}
    bank.priced[0] = 1
    record_prices(record, past, 15.0)
    found = record.counts[WIDTH : 2 * WIDTH]
    assert (found[LAST], found[JUMP], found[DECIDING]) == (0.25, 0.5, 0.5)
    assert set(found) == {0.25, 0.5, 0.75}
    assert set(record.sizes) == {0.0}
