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
    Ints,
    count,
    percent,
    ratio,
    stretches,
    ticks_in,
    weighted_percentile,
    window_sums,
)
from hypot.replay.score_sums import Sums


def quality(run: Run, sums: Sums) -> dict[str, Any]:
    """The family of quality. Where no request came, nobody felt anything: all of it is None."""
    ticks, tick = run.ticks, run.world.tick
    if sums.came <= NOTHING:
        return {}
    late, lost = percent(sums.late, sums.came), percent(sums.lost, sums.came)
    broken = _violated(run, sums)
    lasted = stretches(broken.nonzero()[0])
    return {
        "late": late,
        "late_minutes": count(broken) * tick / MINUTE,
        "lost": lost,
        "budget": ratio(((late or 0.0) + (lost or 0.0)) / 100.0, 1.0 - run.world.service.slo),
        "p99": _milliseconds(weighted_percentile(ticks.p99, ticks.requests, 0.99)),
        "worst_p99": _milliseconds(_worst_window(run)),
        "recovery": _median(lasted) * tick,
        "longest_recovery": float(lasted.max(initial=0)) * tick,
    }


def _violated(run: Run, sums: Sums) -> Bools:
    """The ticks in which more requests were late or lost than the SLO allows: nobody waits longer than who is lost."""
    ticks, tick = run.ticks, run.world.tick
    too_many = ticks.late - (1.0 - run.world.service.slo) * (1.0 + SAME)
    too_many *= ticks.requests
    if sums.lost > 0.0:
        too_many += ticks.lost / tick
    found: Bools = too_many > NOTHING / tick
    return found


def _worst_window(run: Run) -> float | None:
    """The largest 5-minute mean of the 99th percentile; each request counts once."""
    length = ticks_in(FIVE_MINUTES, run.world.tick)
    came = window_sums(run.ticks.requests, length)
    felt = window_sums(run.ticks.requests * run.ticks.p99, length)
    some = came > NOTHING
    return float((felt[some] / came[some]).max()) if some.any() else None


def _median(lengths: Ints) -> float:
    if not len(lengths):
        return 0.0
    ordered = np.sort(lengths)
    return float(ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2.0


def _milliseconds(seconds: float | None) -> float | None:
    return None if seconds is None else 1000.0 * seconds
