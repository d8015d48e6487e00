"""How closely supply followed demand. Supply is what pods that serve have requested; demand is the reference's."""

from collections.abc import Mapping
from math import prod
from typing import Any, NamedTuple

import numpy as np

from hypot.replay.oracle import Reference
from hypot.replay.record import Floats, Run
from hypot.replay.score_columns import (
    NOTHING,
    SAME,
    count,
    percent,
)
from hypot.replay.score_sums import Means
from hypot.replay.scorecard import Scores

# Moves of a 5-minute mean by less than this share are none.
DEAD_BAND = 0.01
# No term of a comparison counts more than this, or one perfect zero would decide it.
MOST_TERM = 100.0


class Misses(NamedTuple):
    """How far supply missed demand: sums of shares of the demand, of the supply, and ticks."""

    under: float
    over: float
    over_supply: float
    under_ticks: int
    over_ticks: int


def elasticity(run: Run, reference: Reference, means: Means, baseline: Scores | None) -> dict[str, Any]:
    """The family of elasticity; accuracy can be told only in ticks with demand."""
    supply, demand = run.ticks.ready_cpu, reference.demand
    length, some = len(demand), demand > NOTHING
    told = count(some)
    missed = _misses(supply, demand) if told == length else _misses(supply[some], demand[some])
    # Where nothing is wanted, all supply is too much.
    useless = 0 if told == length else count(supply[~some] > 0.0)
    found: dict[str, Any] = {
        "under": percent(missed.under, told),
        "over": percent(missed.over, told),
        "over_supply": percent(missed.over_supply + useless, length),
        "under_time": percent(missed.under_ticks, length),
        "over_time": percent(missed.over_ticks + useless, length),
        "instability": _instability(means),
    }
    found["deviation"] = _deviation(found)
    found["speedup"] = speedup(found, baseline)
    return found


def _misses(supply: Floats, demand: Floats) -> Misses:
    """Of ticks with demand. A share x of the demand too much is a share x / (1 + x) of the supply."""
    share = supply - demand
    share /= demand
    under_ticks, over_ticks = count(share < -SAME), count(share > SAME)
    if under_ticks + over_ticks < len(share):
        share[np.abs(share) <= SAME] = 0.0
    over = np.maximum(share, 0.0)
    over_sum, under_sum = float(over.sum()), 0.0 - float(np.minimum(share, 0.0, out=share).sum())
    over /= np.add(over, 1.0, out=share)
    return Misses(under_sum, over_sum, float(over.sum()), under_ticks, over_ticks)


def _instability(means: Means) -> float | None:
    supplied, wanted = means.ways(DEAD_BAND)
    return percent(count(supplied != wanted), len(wanted))


def _deviation(found: dict[str, Any]) -> float | None:
    """A norm as high as it has terms, so that the worst of them weighs most."""
    terms = [found[name] for name in ("under", "over_supply", "under_time", "over_time", "instability")]
    if None in terms:
        return None
    return float(sum(term ** len(terms) for term in terms) ** (1.0 / len(terms)))


def speedup(found: Mapping[str, Any], baseline: Scores | None) -> float | None:
    """The geometric mean of how much better each of four is than in the baseline."""
    if baseline is None:
        return None
    names = ("under", "over", "under_time", "over_time")
    pairs = [(getattr(baseline, name), found[name]) for name in names]
    if any(None in pair for pair in pairs):
        return None
    return float(prod(_term(before, after) for before, after in pairs) ** (1.0 / len(pairs)))


def _term(before: float, after: float) -> float:
    """How much better; two that are both perfect are equal."""
    if before <= NOTHING and after <= NOTHING:
        return 1.0
    return min(max(before / max(after, NOTHING), 1.0 / MOST_TERM), MOST_TERM)
