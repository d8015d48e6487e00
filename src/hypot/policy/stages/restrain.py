"""Windows, rate limits and bounds: the gates that every kind passes through."""

from collections.abc import Sequence
from math import inf
from typing import Any, NamedTuple

from hypot.core.instant import show_time
from hypot.core.replicas import bounds
from hypot.core.replicas.bounds import Bound
from hypot.core.replicas.window import allowed_reach, envelope, forced_into, highest_recent
from hypot.kinds.hpa.fields import Limit as Policy
from hypot.kinds.hpa.fields import ScalingRules
from hypot.policy.model.decision import Step, show_seconds
from hypot.policy.model.state import EMPTY, TimedValues

# The reason and the message of each bound, for the conditions of every kind.
LIMIT_REASONS: dict[Bound, tuple[str, str]] = {
    Bound.WITHIN_RANGE: ("DesiredWithinRange", "the desired count is within the acceptable range"),
    Bound.TOO_FEW: ("TooFewReplicas", "the desired replica count is less than the minimum replica count"),
    Bound.TOO_MANY: ("TooManyReplicas", "the desired replica count is more than the maximum replica count"),
    Bound.SCALE_UP: ("ScaleUpLimit", "the desired replica count is increasing faster than the maximum scale rate"),
    Bound.SCALE_DOWN: ("ScaleDownLimit", "the desired replica count is decreasing faster than the maximum scale rate"),
}


class Stabilised(NamedTuple):
    """A stabilised count, and when the raw recommendation would take effect if it lasts."""

    replicas: int
    from_then: float | None
    window: float = 0.0


class Limited(NamedTuple):
    replicas: int
    limit: Bound
    unknown: str = ""


def stabilise_downwards(recommendation: int, history: TimedValues, now: float, window: float) -> Stabilised:
    """Stabilise without a behavior: the highest recommendation of the window counts."""
    cutoff = now - window
    highest = highest_recent(recommendation, history.values, history.times, cutoff)
    if highest == recommendation:
        return Stabilised(recommendation, None)
    higher = [t for v, t in zip(history.values, history.times, strict=True) if v > recommendation and t >= cutoff]
    return Stabilised(highest, max(higher) + window, window)


def stabilise(
    recommendation: int, current: int, history: TimedValues, now: float, up_window: float, down_window: float
) -> Stabilised:
    """Stabilise with a behavior: move from the current count only as far as both windows require."""
    values, times = history.values, history.times
    low, high = envelope(recommendation, values, times, now, up_window, down_window)
    settled = forced_into(current, low, high)
    if settled == recommendation:
        return Stabilised(recommendation, None)
    window = down_window if recommendation < current else up_window
    against = [
        t
        for v, t in zip(values, times, strict=True)
        if t > now - window and (v > recommendation if recommendation < current else v < recommendation)
    ]
    return Stabilised(settled, max(against) + window if against else None, window)


class RateHistory(NamedTuple):
    """The scale events that rate limits use, and the time of a scaling of unknown size."""

    ups: TimedValues = EMPTY
    downs: TimedValues = EMPTY
    unknown_move: float | None = None


def allowed(pace: ScalingRules, current: int, past: RateHistory, now: float, *, grows: bool) -> int:
    """The most replicas that the policies allow now, or the fewest."""
    policies = pace.limits or ()
    if pace.select == "Disabled":
        return current
    return allowed_reach(
        current,
        grows,
        pace.select == "Min",
        [policy.type == "Percent" for policy in policies],
        [policy.value or 0 for policy in policies],
        [float(policy.period or 0) for policy in policies],
        past.ups.values,
        past.ups.times,
        past.downs.values,
        past.downs.times,
        -inf if past.unknown_move is None else past.unknown_move,
        now,
    )


def limit_by_pace(
    current: int, desired: int, low: int, high: int, up: ScalingRules, down: ScalingRules, past: RateHistory, now: float
) -> Limited:
    """Apply the rate limits and bounds of a behavior."""
    if desired == current:
        return Limited(desired, Bound.WITHIN_RANGE)
    grows = desired > current
    pace = up if grows else down
    replicas, limit = bounds.limit_to_reach(current, desired, low, high, allowed(pace, current, past, now, grows=grows))
    by_rate = limit in {Bound.SCALE_UP, Bound.SCALE_DOWN}
    return Limited(replicas, limit, _unknown_move(pace, past, now) if by_rate else "")


def _unknown_move(pace: ScalingRules, past: RateHistory, now: float) -> str:
    """The message if a rate limit applies only because the size of the last scaling is unknown."""
    moved = past.unknown_move
    if moved is None or pace.select == "Disabled":
        return ""
    periods = [policy.period or 0 for policy in pace.limits or () if moved > now - (policy.period or 0)]
    if not periods:
        return ""
    return (
        f"the size of the last scaling, {show_seconds(now - moved)} ago, is unknown: the policy's period of "
        f"{show_seconds(max(periods))} counts as used up until {show_time(moved + max(periods))}"
    )


def limit_by_doubling(current: int, desired: int, low: int, high: int, factor: float, floor: float) -> Limited:
    """Apply the bounds without a behavior: one sync may double the count, or reach the floor."""
    return Limited(*bounds.limit_by_doubling(current, desired, low, high, factor, floor))


def limit_by_steps(
    current: int, desired: int, ready: int, low: int, high: int, up_factor: int, down_factor: int
) -> Limited:
    """Apply the limit factors, in thousandths of a percent, and bounds of a WatermarkPodAutoscaler."""
    return Limited(*bounds.limit_by_percent(current, desired, ready, low, high, up_factor, down_factor))


def limit_step(before: int, limited: Limited, low: int, high: int, numbers: dict[str, Any]) -> Step:
    """A step that reports which bound changed the count, or that none did."""
    after, limit, _ = limited
    numbers = {"min": low, "max": high, **numbers}
    if after == before:
        return Step("restrain", "within-range", before, after, f"{after} is within {low} to {high}.", numbers)
    sentences = {
        Bound.TOO_FEW: ("min-replicas", f"{before} is below the minimum of {low}: {after}."),
        Bound.TOO_MANY: ("max-replicas", f"{before} is above the maximum of {high}: {after}."),
        Bound.SCALE_UP: ("scale-up-limit", f"{before} is more than the scale-up limits allow now: {after}."),
        Bound.SCALE_DOWN: ("scale-down-limit", f"{before} is less than the scale-down limits allow now: {after}."),
    }
    rule, sentence = sentences[limit]
    return Step("restrain", rule, before, after, sentence, numbers)


def longest_period(policies: Sequence[Policy]) -> int:
    """How long a scale event in this direction matters to these policies, in seconds."""
    return max([policy.period or 0 for policy in policies], default=0)
