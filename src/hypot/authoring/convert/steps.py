"""The policies of an HPA as one step in percent and a pause after it, as a WatermarkPodAutoscaler has them.

A step is never larger, and a pause never shorter, than the policies allow, at any count up to the maximum.
"""

from collections.abc import Iterator
from typing import NamedTuple

from hypot.authoring.convert.result import Note
from hypot.core.quantity import format_milli
from hypot.core.replicas.bounds import doubling_ceiling, factor_step
from hypot.core.replicas.window import least_after_policy, most_after_policy
from hypot.kinds.base import count_of
from hypot.kinds.hpa import HPA
from hypot.kinds.hpa.defaults import DEFAULT_DOWN, DEFAULT_UP, default_pace
from hypot.kinds.hpa.fields import Limit, ScalingRules

# A WatermarkPodAutoscaler must keep something.
MOST_DOWN = 99_000
# The stabilization window of an HPA that removes pods, if it is absent.
DEFAULT_WINDOW = 300
# An HPA decides this often.
_SYNC = 15
# Without a behavior, an HPA may always reach this count, or multiply its count by this.
_FLOOR, _FACTOR = 4.0, 2.0


class StepAndPause(NamedTuple):
    """The largest step in thousandths of a percent, and the pause after a scaling in seconds."""

    factor: int
    pause: int

    @property
    def percent(self) -> int | str:
        """As it is written."""
        return self.factor // 1000 if self.factor % 1000 == 0 else format_milli(self.factor)


def steps_of(hpa: HPA, *, grows: bool) -> tuple[StepAndPause, tuple[Note, ...]]:
    """The steps of one direction, and what differs."""
    given, usual = (hpa.scale_up, DEFAULT_UP) if grows else (hpa.scale_down, DEFAULT_DOWN)
    rules = default_pace(given, usual)
    if rules.select == "Disabled" or not rules.limits:
        return StepAndPause(0, _SYNC), ()
    each = [_of_limit(one, hpa.max_replicas or 1) for one in rules.limits]
    if rules.select == "Min":
        made = StepAndPause(min(one.factor for one in each), max(one.pause for one in each))
    else:
        made = max(each, key=lambda one: one.factor / one.pause)
    if not grows:
        made = made._replace(factor=min(made.factor, MOST_DOWN))
    return made, tuple(_notes(hpa, rules, made, is_written=rules.limits != usual.limits, grows=grows))


def _of_limit(one: Limit, most: int) -> StepAndPause:
    """A number of pods is a percentage of the maximum: a step is rounded down, and has at least one pod."""
    value, pause = one.value or 0, max(1, one.period or 1)
    return StepAndPause(value * 1000 if one.type == "Percent" else -(-100_000 * value // most), pause)


def _notes(hpa: HPA, rules: ScalingRules, made: StepAndPause, *, is_written: bool, grows: bool) -> Iterator[Note]:
    key = "scaleUp" if grows else "scaleDown"
    if is_written:
        text = (
            f"{key}: {_shown(rules)} becomes steps of {made.percent} %, and a pause of {made.pause} s after any scaling"
        )
        yield Note("assumed", text)
    least, most = max(1, hpa.min_replicas or 1), hpa.max_replicas or 1
    count = least if grows else most
    step = factor_step(count, made.factor)
    theirs, own = (_first_of_hpa(hpa, rules, count, grows=grows), count + step if grows else count - step)
    theirs, own = (min(max(end, least), most) for end in (theirs, own))
    if theirs != own and (grows or is_written):
        pods = "1 pod becomes" if count == 1 else f"{count} pods become"
        yield Note("lost", f"{key}: the first step is smaller: {pods} {own} at most, and by the HPA {theirs}")


def _first_of_hpa(hpa: HPA, rules: ScalingRules, count: int, *, grows: bool) -> int:
    """How far its first step may go."""
    if hpa.behavior is None:
        return doubling_ceiling(count, _FACTOR, _FLOOR) if grows else 1
    reach = most_after_policy if grows else least_after_policy
    ends = [reach(count, one.type == "Percent", one.value or 0) for one in rules.limits or ()]
    return max(ends) if grows == (rules.select != "Min") else min(ends)


def _shown(rules: ScalingRules) -> str:
    limits = [f"{_amount(one)} per {one.period} s" for one in rules.limits or ()]
    which = "the smaller" if rules.select == "Min" else "the larger"
    return limits[0] if len(limits) == 1 else f"{which} of {' and '.join(limits)}"


def _amount(one: Limit) -> str:
    return f"{one.value} %" if one.type == "Percent" else count_of(one.value or 0, "pod")
