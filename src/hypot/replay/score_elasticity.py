"""How closely supply followed demand. Supply is what pods that serve have requested; demand is the reference's."""

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np

from hypot.replay.oracle import Reference
from hypot.replay.record import Floats, Run
from hypot.replay.score_columns import (
    FIVE_MINUTES,
    NOTHING,
    SAME,
    count,
    moves,
    percent,
    ticks_in,
    window_means,
)
from hypot.replay.scorecard import Scores

# Moves of a 5-minute mean by less than this share are none.
DEAD_BAND = 0.01
# No term of a comparison counts more than this, or one perfect zero would decide it.
MOST_TERM = 100.0


def elasticity(run: Run, reference: Reference, baseline: Scores | None) -> dict[str, Any]:
    """The family of elasticity; accuracy can be told only in ticks with demand."""
    supply, demand = run.ticks.ready_cpu, reference.demand
    missing = np.where(supply < demand * (1.0 - SAME), demand - supply, 0.0)
    extra = np.where(supply > demand * (1.0 + SAME), supply - demand, 0.0)
    found: dict[str, Any] = {
        "under": _mean_share(missing, demand),
        "over": _mean_share(extra, demand),
        "over_supply": percent(
            float(np.divide(extra, supply, out=np.zeros_like(extra), where=extra > 0.0).sum()), len(extra)
        ),
        "under_time": percent(count(missing > 0.0), len(missing)),
        "over_time": percent(count(extra > 0.0), len(extra)),
        "instability": _instability(run, demand),
    }
    found["deviation"] = _deviation(found)
    found["speedup"] = speedup(found, baseline)
    return found


def _mean_share(part: Floats, demand: Floats) -> float | None:
    some = demand > NOTHING
    return percent(float((part[some] / demand[some]).sum()), count(some))


def _instability(run: Run, demand: Floats) -> float | None:
    length = ticks_in(FIVE_MINUTES, run.world.tick)
    supplied = moves(window_means(run.ticks.ready_cpu, length), DEAD_BAND)
    asked = moves(window_means(demand, length), DEAD_BAND)
    return percent(count(supplied != asked), len(asked))


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
