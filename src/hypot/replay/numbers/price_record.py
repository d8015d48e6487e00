"""What the rules of an Autoscaler have cost so far, at moments spread over a replay."""

from typing import Any, NamedTuple

from hypot.core.bank.bank import PRICED, SHADOW, RuleBank, forecast_of
from hypot.core.bank.forecasts import FORECASTS
from hypot.core.bank.rule import AutoscalerPast

# How many moments there is room for. When it is full, every other one is dropped.
MOMENTS = 512
# Of each moment: the price of the cheapest rule of each forecast, then that of the rule that decides.
DECIDING = FORECASTS
WIDTH = FORECASTS + 1


class PriceRecord(NamedTuple):
    """Prices are shares of that of an HPA at 70 %; 0 if nothing is priced yet."""

    at: Any
    counts: Any
    sizes: Any
    # How many moments are recorded, and of how many decisions each is one.
    used: Any
    apart: Any
    decisions: Any


def no_prices() -> PriceRecord:
    return PriceRecord([0.0] * MOMENTS, [0.0] * (MOMENTS * WIDTH), [0.0] * (MOMENTS * WIDTH), [0], [1], [0])


def record_prices(record: PriceRecord, past: AutoscalerPast, now: float) -> None:
    """Record the prices of this decision, if it is one of those that are kept."""
    number = record.decisions[0]
    record.decisions[0] += 1
    if number % record.apart[0] != 0:
        return
    if record.used[0] == MOMENTS:
        drop_every_other(record)
    moment = record.used[0]
    record.at[moment] = now
    write_prices(record.counts, moment, past.counts)
    write_prices(record.sizes, moment, past.sizes)
    record.used[0] += 1


def drop_every_other(record: PriceRecord) -> None:
    half = MOMENTS // 2
    for moment in range(half):
        record.at[moment] = record.at[2 * moment]
        for j in range(WIDTH):
            record.counts[moment * WIDTH + j] = record.counts[2 * moment * WIDTH + j]
            record.sizes[moment * WIDTH + j] = record.sizes[2 * moment * WIDTH + j]
    record.used[0] = half
    record.apart[0] *= 2


def write_prices(column: Any, moment: int, bank: RuleBank) -> None:
    shadow, place = bank.prices[SHADOW], moment * WIDTH
    for j in range(WIDTH):
        column[place + j] = 0.0
    if bank.priced[0] == 0 or shadow <= 0.0:
        return
    for rule in range(PRICED - 1):
        price, kind = bank.prices[rule] / shadow, place + forecast_of(rule)
        if column[kind] == 0.0 or price < column[kind]:
            column[kind] = price
    column[place + DECIDING] = bank.prices[bank.rule[0]] / shadow
