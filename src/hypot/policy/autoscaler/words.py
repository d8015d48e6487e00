"""Rules and learned values in words."""

from heapq import nsmallest

from hypot.core.bank.bank import RULES, SHADOW, RuleBank, forecast_of, hold_of, margin_of
from hypot.core.bank.forecasts import (
    AVERAGED,
    JUMP,
    LAST,
    LAST_WEEK,
    LONG_AVERAGED,
    LONG_MEAN,
    LONG_SLOPE,
    LONG_SLOPED,
    MEAN,
    SLOPE,
    SLOPED,
    YESTERDAY,
)
from hypot.policy.model.decision import show_seconds

_FIXED = {
    LAST: "as now",
    YESTERDAY: "as yesterday",
    LAST_WEEK: "as a week ago",
    JUMP: "ready for the largest jump so far",
}
_OVER = {SLOPE: SLOPED, LONG_SLOPE: LONG_SLOPED, MEAN: AVERAGED, LONG_MEAN: LONG_AVERAGED}


def rule_in_words(rule: int, step: float) -> str:
    """For example: as yesterday, +10 %, hold 75 s."""
    if rule == SHADOW:
        return "HPA at 70 %"
    name = forecast_in_words(forecast_of(rule), step)
    margin, hold = margin_of(rule), hold_of(rule) * step
    parts = [name, *([f"+{margin:.0%}".replace("%", " %")] if margin else [])]
    return ", ".join([*parts, f"hold {show_seconds(hold)}"] if hold else parts)


def forecast_in_words(kind: int, step: float) -> str:
    if kind in _FIXED:
        return _FIXED[kind]
    return f"{'slope' if kind in {SLOPE, LONG_SLOPE} else 'mean'} of {show_seconds(_OVER[kind] * step)}"


def next_best(bank: RuleBank, count: int = 2) -> list[int]:
    """The cheapest rules besides the one that decides; those with exactly its price ask for the same."""
    prices = bank.prices
    best = prices[bank.rule[0]]
    return nsmallest(count, [rule for rule in range(RULES) if prices[rule] > best], key=prices.__getitem__)


def dearer(bank: RuleBank, rule: int) -> str:
    """How much more a rule would have cost, for example +3.1 %."""
    best = bank.prices[bank.rule[0]]
    return f"{bank.prices[rule] / best - 1.0:+.1%}".replace("%", " %") if best > 0.0 else "unknown"


def cores(amount: float) -> str:
    return f"{amount:.3g}"
