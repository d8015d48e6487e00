"""What users felt: late and lost requests, the tail of latency, and how long it took to recover."""

from typing import Any

import numpy as np

from hypot.replay.score_columns import MINUTE, NOTHING, Ints, percent, ratio, weighted_percentile
from hypot.replay.score_sums import Sums
from hypot.replay.tally import Account
from hypot.replay.world import World


def quality(account: Account, world: World, sums: Sums) -> dict[str, Any]:
    """The family of quality. Where no request came, nobody felt anything: all of it is None."""
    if sums.came <= NOTHING:
        return {}
    t, kept, tick = account.t, account.kept, world.tick
    late, lost = percent(sums.late, sums.came), percent(sums.lost, sums.came)
    lasted = np.asarray(kept.stretches[: t.stretches[0]], dtype=np.int64)
    worst = float(t.worst[0])
    return {
        "late": late,
        "late_minutes": int(t.broken[0]) * tick / MINUTE,
        "lost": lost,
        "budget": ratio(((late or 0.0) + (lost or 0.0)) / 100.0, 1.0 - world.service.slo),
        "p99": _milliseconds(weighted_percentile(np.asarray(kept.p99), np.asarray(kept.requests), 0.99)),
        "worst_p99": _milliseconds(worst if worst >= 0.0 else None),
        "recovery": _median(lasted) * tick,
        "longest_recovery": float(lasted.max(initial=0)) * tick,
    }


def _median(lengths: Ints) -> float:
    if not len(lengths):
        return 0.0
    ordered = np.sort(lengths)
    return float(ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2.0


def _milliseconds(seconds: float | None) -> float | None:
    return None if seconds is None else 1000.0 * seconds
