"""Rules in words, and what others would have cost."""

import pytest

from hypot.core.bank.bank import HOLD_COUNT, MARGIN_COUNT, RULES, SHADOW, new_bank
from hypot.policy.autoscaler.words import dearer, next_best, rule_in_words


@pytest.mark.parametrize(
    ("kind", "margin", "hold", "words"),
    [
        (0, 0, 0, "as now"),
        (0, 2, 2, "as now, +10 %, hold 75 s"),
        (1, 1, 1, "slope of 30 s, +5 %, hold 30 s"),
        (2, 0, 0, "slope of 2 min"),
        (3, 3, 6, "mean of 5 min, +20 %, hold 20 min"),
        (4, 0, 3, "mean of 20 min, hold 2 min 30 s"),
        (5, 5, 0, "as yesterday, +80 %"),
        (6, 4, 4, "as a week ago, +40 %, hold 5 min"),
        (7, 0, 5, "ready for the largest jump so far, hold 10 min"),
    ],
)
def test_rules(kind, margin, hold, words):
    """With the usual sync of 15 s."""
    assert rule_in_words((kind * MARGIN_COUNT + margin) * HOLD_COUNT + hold, 15.0) == words


def test_every_rule_has_other_words():
    """And so has the HPA that runs along."""
    assert len({rule_in_words(rule, 15.0) for rule in [*range(RULES), SHADOW]}) == RULES + 1


def test_the_next_best():
    """Rules that cost as much as the one that decides ask for the same, so they are not listed."""
    bank = new_bank()
    bank.prices[:] = [9.0] * len(bank.prices)
    bank.prices[bank.rule[0]] = bank.prices[3] = 4.0
    bank.prices[7], bank.prices[8], bank.prices[SHADOW] = 5.0, 4.5, 4.1
    assert next_best(bank) == [8, 7]
    assert [dearer(bank, rule) for rule in (8, 7, SHADOW, 3)] == ["+12.5 %", "+25.0 %", "+2.5 %", "+0.0 %"]
    bank.prices[bank.rule[0]] = 0.0
    assert dearer(bank, 8) == "unknown"
