"""The search for a rate, on made-up verdicts."""

import pytest

from hypot.cli.pair.rate import AT_ONCE, RateChoice, Tried, _kept, chosen, rounded, search
from hypot.replay.score.scorecard import Scores
from hypot.replay.world.file import WorldFile


def judge(limit, floor=0.0):
    """Rates up to a limit keep the SLO; the others are later the higher they are, from a floor on."""

    def replayed(rates):
        asked.extend(rates)
        return [_tried(rate, limit, floor) for rate in rates]

    asked = []
    return replayed, asked


def _tried(rate, limit, floor):
    amount = float(rate[:-1]) / 1000 if rate.endswith("m") else float(rate)
    late = floor + max(amount - limit, 0.0)
    return Tried(rate, Scores(late=late, lost=0.0, budget=0.5 if late <= floor and not floor else 2.0, cost=1 / amount))


@pytest.mark.parametrize("limit", [0.02, 3.0, 90.0, 5000.0])
def test_it_ends_at_the_border(limit):
    """The highest rate that keeps the SLO is within a step of the limit, wherever the search began."""
    replayed, _ = judge(limit)
    kept = _kept(search(50.0, replayed))
    last = _tried(kept[-1].rate, limit, 0.0)
    amount = 1 / last.scores.cost
    assert limit / 1.3 <= amount <= limit


def test_it_ends_where_lower_rates_help_no_more():
    """All are late because of something else: one round is enough."""
    replayed, asked = judge(1000.0, floor=11.0)
    assert _kept(search(50.0, replayed)) == []
    assert len(asked) == AT_ONCE


@pytest.mark.parametrize(
    ("rate", "expected"), [(25.0, "25"), (0.25, "250m"), (1234.0, "1200"), (0.0123, "12m"), (99.9, "100"), (1e-9, "1m")]
)
def test_two_digits(rate, expected):
    assert rounded(rate) == expected


def test_the_reasons_show_the_neighbours():
    """Two rates on each side."""
    tried = tuple(_tried(str(rate), 40, 0.0) for rate in (10, 20, 30, 40, 50, 60, 70))
    lines = RateChoice("40", tried, "30").reasons(WorldFile())
    assert lines[0] == "The largest rate that keeps the SLO of 99 % in a replay of the history."
    work = "each request takes 20 ms of cpu; write yours as service.work in a file for --world."
    assert lines[2] == f"Assumed: {work}"
    given = WorldFile(given=frozenset({"service.work"}))
    said = RateChoice("40", tried, "30").reasons(given)[2]
    assert said == "Each request takes 20 ms of cpu there, as the world says (--world)."
    assert [line.split(":")[0].strip() for line in lines[3:]] == ["20", "30", "40", "50", "60"]
    assert lines[5].endswith("1.00 times the cost: chosen")
    assert lines[6].endswith("misses it")


def costing(*costs):
    """Rates 10, 20, … that keep the SLO, with these costs."""
    return [
        Tried(str(10 * i), Scores(late=0.0, lost=0.0, budget=0.5, cost=cost)) for i, cost in enumerate(costs, start=1)
    ]


@pytest.mark.parametrize(
    ("costs", "rate"),
    [
        ((3.0, 2.0, 1.0), "30"),
        # Noise of the replay decides nothing.
        ((1.0, 1.01, 1.04), "30"),
        ((1.04, 1.0, 1.03, 1.02), "40"),
        # Few large pods with much headroom.
        ((1.5, 1.0, 1.06), "20"),
        ((1.0, 1.2, 1.04), "30"),
        ((1.0, 1.3, 1.6), "10"),
        ((0.0, 0.0), "20"),
    ],
)
def test_the_largest_unless_it_costs_notably_more(costs, rate):
    assert chosen(costing(*costs)).rate == rate


def test_a_larger_rate_that_costs_more_is_named():
    choice = RateChoice("20", (*costing(1.5, 1.0, 1.3), _tried("60", 40, 0.0)), "30")
    assert choice.reasons(WorldFile())[0].endswith(", and costs little more than lower ones: 30 would cost 30 % more.")
