"""What users felt: late and lost requests, the tail of latency, and how long it took to recover."""

from typing import Any

import numpy as np

from hypot.replay.record import Run
from hypot.replay.score_columns import (
    FIVE_MINUTES,
    MINUTE,
    NOTHING,
    SAME,
    Bools,
    count,
    percent,
    ratio,
    stretches,
    ticks_in,
    weighted_percentile,
    window_sums,
)
from hypot.replay.score_money import late_requests


def quality(run: Run) -> dict[str, Any]:
    """The family of quality. Where no request came, nobody felt anything: all of it is None."""
    ticks, tick, allowed = run.ticks, run.world.tick, 1.0 - run.world.service.slo
    came = float(ticks.requests.sum()) * tick
    if came <= NOTHING:
        return {}
    late, lost = percent(late_requests(run), came), percent(float(ticks.lost.sum()), came)
    broken = violated(run)
    lasted = stretches(broken) * tick
    return {
        "late": late,
        "late_minutes": count(broken) * tick / MINUTE,
        "lost": lost,
        "budget": ratio(((late or 0.0) + (lost or 0.0)) / 100.0, allowed),
        "p99": _milliseconds(weighted_percentile(ticks.p99, ticks.requests, 0.99)),
        "worst_p99": _milliseconds(_worst_window(run)),
        "recovery": float(np.median(lasted)) if len(lasted) else 0.0,
        "longest_recovery": float(lasted.max(initial=0.0)),
    }


def violated(run: Run) -> Bools:
    """The ticks in which more requests were late or lost than the SLO allows: nobody waits longer than who is lost."""
    came = run.ticks.requests * run.world.tick
    harmed = came * run.ticks.late + run.ticks.lost
    return harmed > came * (1.0 - run.world.service.slo) * (1.0 + SAME) + NOTHING


def _worst_window(run: Run) -> float | None:
    """The largest 5-minute mean of the 99th percentile; each request counts once."""
    length = ticks_in(FIVE_MINUTES, run.world.tick)
    came = window_sums(run.ticks.requests, length)
    felt = window_sums(run.ticks.requests * run.ticks.p99, length)
    some = came > NOTHING
    return float((felt[some] / came[some]).max()) if some.any() else None


def _milliseconds(seconds: float | None) -> float | None:
    return None if seconds is None else 1000.0 * seconds
