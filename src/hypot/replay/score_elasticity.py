"""How closely supply followed demand. Supply is what pods that serve have requested; demand is the reference's."""

from collections.abc import Mapping
from math import prod
from typing import Any

from hypot.replay.score_columns import NOTHING, count, percent
from hypot.replay.score_sums import Means
from hypot.replay.scorecard import Scores
from hypot.replay.tally import Account

# Moves of a 5-minute mean by less than this share are none.
DEAD_BAND = 0.01
# No term of a comparison counts more than this, or one perfect zero would decide it.
MOST_TERM = 100.0


def elasticity(account: Account, means: Means, baseline: Scores | None) -> dict[str, Any]:
    """The family of elasticity; accuracy can be told only in ticks with demand."""
    t, length = account.t, account.ticks
    found: dict[str, Any] = {
        "under": percent(float(t.under[0]), int(t.told[0])),
        "over": percent(float(t.over[0]), int(t.told[0])),
        "over_supply": percent(float(t.over_supply[0]), length),
        "under_time": percent(int(t.under_ticks[0]), length),
        "over_time": percent(int(t.over_ticks[0]), length),
        "instability": _instability(means),
    }
    found["deviation"] = _deviation(found)
    found["speedup"] = speedup(found, baseline)
    return found


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
