"""One decision of a WatermarkPodAutoscaler: two marks, limit factors, forbidden windows and delays."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from hypot.core.bounds import Limit, factor_step
from hypot.core.quantity import milli
from hypot.core.watermark import Side
from hypot.core.window import delay_over, seconds_left
from hypot.kinds.base import FALSE_WORDS, TRUE_WORDS
from hypot.kinds.wpa import WPA, with_defaults
from hypot.kinds.wpa.fields import LIFECYCLE_CONTROL
from hypot.policy.horizontal.wpa_metrics import Look, read_band, read_reply
from hypot.policy.model.decision import (
    Conditions,
    Event,
    Move,
    Reading,
    condition_of,
    show_seconds,
    show_time,
)
from hypot.policy.model.seen import Failure, Scale, Seen
from hypot.policy.model.settings import Settings
from hypot.policy.model.state import Memory
from hypot.policy.stages.report import Effect, Refusal, Report, Telling, count_status, succeeded
from hypot.policy.stages.resolve import failures, largest
from hypot.policy.stages.restrain import Limited, limit_by_steps
from hypot.policy.stages.saturation import saturation
from hypot.policy.stages.saturation import told as saturated

ABLE = "AbleToScale"
ABOVE, BELOW = "AboveHighWatermark", "BelowLowWatermark"
# Lets growth cut through windows and delays while the pods use all they can get.
URGENT = "hypot.dev/urgent"


def is_urgent(wpa: WPA) -> bool:
    return wpa.annotations.get(URGENT) in TRUE_WORDS


def decide(wpa: WPA, seen: Seen, memory: Memory, settings: Settings) -> tuple[Move, Memory]:
    """What the controller would do now, why, and what it must remember. Nothing is done here, nor reported."""
    del settings  # everything this kind needs stands in its own spec
    this = _Pass(with_defaults(wpa), seen, memory)
    problems = [p for p in wpa.problems() if p.severity == "error" and p.where[0] == "spec"]
    if problems:
        return this.bad_spec("; ".join(str(p) for p in problems))
    blocked = this.blocked_by_monitor()
    if blocked is not None:
        return blocked
    if isinstance(seen.scale, Failure):
        return this.without_scale(seen.scale)
    return this.conclude(seen.scale, recommend(this.wpa, seen))


def longest_window(wpa: WPA, _settings: Settings) -> float:
    """For how long its last move and its marks matter."""
    full = with_defaults(wpa)
    return float(max(full.up_rest or 0, full.down_rest or 0, full.up_after or 0, full.down_after or 0))


def conclude(wpa: WPA, seen: Seen, memory: Memory, readings: tuple[Reading, ...]) -> tuple[Move, Memory]:
    """From readings to a decision: resolve, restrain, tell. The scale must have been read."""
    if isinstance(seen.scale, Failure):
        raise TypeError("conclude needs a scale; decide handles its absence")
    return _Pass(wpa, seen, memory).conclude(seen.scale, readings)


def recommend(wpa: WPA, seen: Seen) -> tuple[Reading, ...]:
    """What each metric, or the recommender, asks for. The scale must have been read."""
    if isinstance(seen.scale, Failure):
        raise TypeError("recommend needs a scale; decide handles its absence")
    look = Look(wpa, seen, seen.scale)
    if wpa.recommender is not None:
        return (read_reply(look),)
    return tuple([read_band(metric, look) for metric in wpa.metrics or ()])


def resolve(readings: Sequence[Reading], current: int) -> Reading | None:
    """The largest proposal, if no metric fails; a step inside the band only counts while every metric is inside.

    Of equal proposals the first gives its name, and all of them the fewest ready pods: the order changes no count.
    """
    if failures(readings):
        return None
    if not is_stable(readings):
        readings = [r._replace(proposal=current) if r.converging else r for r in readings]
    best = largest(readings)
    if best is None:
        return None
    fewest = min(r.ready for r in readings if r.proposal == best.proposal)
    return best if fewest == best.ready else best._replace(ready=fewest)


def is_stable(readings: Sequence[Reading]) -> bool:
    """Whether every metric is between its marks."""
    return all(reading.side == Side.WITHIN for reading in readings)


def restrain(wpa: WPA, proposal: int, ready: int, current: int) -> Limited:
    """Limit factors, then bounds."""
    up = current + factor_step(current, milli(wpa.up_factor or 0))
    down = current - factor_step(current, milli(wpa.down_factor or 0))
    return limit_by_steps(current, proposal, ready, wpa.min_replicas or 0, wpa.max_replicas or 0, up, down)


@dataclass(frozen=True, slots=True)
class Gate:
    """Whether a move may happen now; the condition of the windows is there even when no move is wanted."""

    opens: bool
    able: bool
    reason: str
    message: str
    rule: str = ""
    until: float | None = None


def gate(
    wpa: WPA, current: int, desired: int, last_scale: float | None, conditions: Conditions, now: float, *, stable: bool
) -> Gate:
    """Forbidden windows after any move, then delays since the mark was left; before the first move nothing waits."""
    if last_scale is None:
        return Gate(opens=True, able=True, reason="ReadyForScale", message="nothing was scaled yet")
    up = seconds_left(last_scale, wpa.up_rest or 0, now)
    down = seconds_left(last_scale, wpa.down_rest or 0, now)
    reason, message = _backoff(up, down)
    able = reason == "ReadyForScale"
    left = up if desired > current else down if desired < current else 0.0
    held = Gate(opens=False, able=able, reason=reason, message=message)
    if desired == current:
        return held
    if left > 0:
        return replace(held, rule="forbidden-window", until=now + left)
    waiting = 0.0 if stable else _delay_until(wpa, desired > current, conditions, now)
    if waiting is None:
        return replace(held, rule="delay")
    return replace(held, opens=True) if waiting <= now else replace(held, rule="delay", until=waiting)


def _backoff(up: float, down: float) -> tuple[str, str]:
    if up > 0 and down > 0:
        return "BackoffBoth", "the last move is still within both forbidden windows"
    if down > 0:
        return "BackoffDownscale", "the last move is still within the downscale forbidden window"
    if up > 0:
        return "BackoffUpscale", "the last move is still within the upscale forbidden window"
    return "ReadyForScale", "the last move is long enough ago"


def _delay_until(wpa: WPA, upwards: bool, conditions: Conditions, now: float) -> float | None:
    """From when on a move is allowed by its delay; None where the mark has not been left at all."""
    delay = (wpa.up_after if upwards else wpa.down_after) or 0
    if delay == 0:
        return now
    left = condition_of(conditions, ABOVE if upwards else BELOW)
    if left is None or left.status != "True":
        return None
    return now if delay_over(left.since, delay, now) else left.since + delay


def report(_wpa: WPA, move: Move, memory: Memory, _settings: Settings, _effect: Effect) -> Report:
    """What is said of a move that is written."""
    if not move.decided:
        return Report(move.unwritten)
    status = {**count_status(move, memory), "scalingEventsCount": memory.scalings + move.moves}
    if move.rescales:
        status |= {"lastConditionType": ABLE, "lastConditionState": "True"}
        event = Event("Normal", "Scaling", f"New size: {move.desired}; reason: {move.reason}")
        return Report(succeeded(move, memory, "SuccessfulScale"), (event,), status)
    stays = move.current and not move.moves and move.wanted is None
    return Report(move.unwritten, (Event("Normal", "NotScaling", f"Stay at {move.current}"),) if stays else (), status)


def refused(_wpa: WPA, _move: Move, memory: Memory, message: str) -> Refusal:
    """What is said of a move whose scale could not be written."""
    status = {**memory.old_status(), "scalingEventsCount": memory.scalings}
    return Refusal(ABLE, "FailedScale", "FailedScale", message, status)


class _Pass(Telling):
    """One pass of the controller, in its order."""

    def __init__(self, wpa: WPA, seen: Seen, memory: Memory) -> None:
        super().__init__(wpa, seen, memory)
        self.wpa = wpa

    def bad_spec(self, words: str) -> tuple[Move, Memory]:
        self.condition("AbleToScale", "False", "FailedSpecCheck", words)
        self.condition("ScalingActive", "False", "FailedProcessWPA", "the spec is not valid")
        self.warn("FailedSpecCheck", words)
        self.step("observe", "bad-spec", None, None, f"The spec is refused: {words}.")
        self.failed(words, "spec")
        return self._undecided()

    def blocked_by_monitor(self) -> tuple[Move, Memory] | None:
        """Lifecycle control: a monitor of the same name must be OK, or nothing runs at all."""
        word = self.wpa.annotations.get(LIFECYCLE_CONTROL)
        if word and word not in TRUE_WORDS | FALSE_WORDS:
            message = f"the annotation {LIFECYCLE_CONTROL} is {word!r}, which is neither true nor false"
            self.condition("ScalingBlocked", "False", "FailedGetDatadogMonitor", message)
        if word not in TRUE_WORDS:
            return None
        state = self.seen.monitor
        if state == "OK":
            self.condition("ScalingBlocked", "False", "DatadogMonitorOK", "the monitor is OK")
            return None
        return self._blocked(state)

    def _blocked(self, state: str | None) -> tuple[Move, Memory]:
        reason, message = "DatadogMonitorNotOK", f"the monitor is {state or 'in an unknown state'}"
        if state is None:
            reason, message = "FailedGetDatadogMonitor", "no DatadogMonitor of this name was seen"
            self.warn(reason, message)
        self.condition("ScalingBlocked", "True", reason, message)
        current = self._seen_replicas()
        words = f"Lifecycle control blocks all scaling: {message}."
        self.step("observe", "lifecycle-blocked", current, current, words)
        self.failed(message, "internal")
        return self._undecided()

    def _seen_replicas(self) -> int | None:
        return self.seen.scale.replicas if isinstance(self.seen.scale, Scale) else None

    def without_scale(self, failure: Failure) -> tuple[Move, Memory]:
        self.no_scale(failure, "FailedProcessWPA")
        self.condition("ScalingActive", "False", "FailedProcessWPA", "the target's scale could not be read")
        return self._undecided()

    def conclude(self, scale: Scale, readings: tuple[Reading, ...]) -> tuple[Move, Memory]:
        """From what the metrics say to a decision."""
        current = scale.replicas
        self.scale_read()
        reason, word = ("DryRunEnabled", "on") if self.wpa.dry_run else ("DryRunDisabled", "off")
        self.condition("DryRun", bool(self.wpa.dry_run), reason, f"dry run is {word}")
        if current == 0:
            self.switched_off("The target is set to zero replicas")
            return self._finish(scale, 0, "")
        self.read(readings)
        full = self._saturated() if is_urgent(self.wpa) else ""
        best = resolve(readings, current)
        self._tell_metrics(best)
        low, high = self.wpa.min_replicas or 1, self.wpa.max_replicas or current
        bound = self.outside_bounds(current, low, high)
        if bound is not None:
            return self._finish(scale, bound, "the current size was outside its bounds")
        if best is None or best.proposal is None:
            return self._metrics_failed(current)
        return self._restrained(scale, best, best.proposal, full)

    def _saturated(self) -> str:
        """Which container has used all it can get in two samples, in words; what was seen is remembered."""
        names = {container.name for pod in self.seen.pods for container in pod.containers}
        heat = saturation(self.seen, names, self.memory.vertical.hot)
        self.memory = replace(self.memory, vertical=replace(self.memory.vertical, hot=heat.hot))
        return next((saturated(place, heat.twice[place]) for place in sorted(heat.twice)), "")

    def _tell_metrics(self, best: Reading | None) -> None:
        broken = failures(self.readings)
        if broken:
            self.condition("ScalingActive", "False", broken[0].failed_reason, broken[0].error)
        if best is None:
            return
        words = f"a count was computed from {best.description}{_details(best)}"
        self.condition("ScalingActive", "True", "ValidMetricFound", words)
        for kind, side, word in ((ABOVE, Side.ABOVE, "above the high"), (BELOW, Side.BELOW, "below the low")):
            left = any(r.side == side for r in self.readings)
            message = f"the value is {'' if left else 'not '}{word} watermark"
            self.condition(kind, left, best.description, message)
        if best.converging or "ConvergeToWatermark" in self.told:
            stepping = best.converging and is_stable(self.readings)
            reason, word = ("Converging", "a step") if stepping else ("NotConverging", "no step")
            words = f"{word} towards the {self.wpa.converge or 'mark'} is due"
            self.condition("ConvergeToWatermark", stepping, reason, words)

    def _metrics_failed(self, current: int) -> tuple[Move, Memory]:
        broken = failures(self.readings)
        words = broken[0].error if broken else "there is no metric"
        self.warn("FailedComputeMetricsReplicas", words)
        told = f"A metric cannot be read and nothing moves on missing data: stay at {current}."
        self.step("resolve", "hold-on-failure", current, current, told)
        self.failed(words, broken[0].error_kind if broken else "internal")
        return self._undecided()

    def _restrained(self, scale: Scale, best: Reading, proposal: int, full: str) -> tuple[Move, Memory]:
        wpa, current = self.wpa, scale.replicas
        self.resolved(current, best)
        limited = restrain(wpa, proposal, best.ready, current)
        low, high = wpa.min_replicas or 0, wpa.max_replicas or 0
        self.limited(proposal, limited, low, high, self._factors(limited.limit))
        wanted, stable = limited.replicas, is_stable(self.readings)
        door = gate(wpa, current, wanted, self.memory.last_scale, self.conditions, self.now, stable=stable)
        self.condition("AbleToScale", door.able, door.reason, door.message)
        if wanted > current and full and not door.opens:
            words = f"{full[:1].upper()}{full[1:]}: urgent, so no window or delay holds {wanted} back."
            self.step("restrain", "urgent", wanted, wanted, words)
        elif wanted != current and not door.opens:
            self._tell_gate(wanted, current, door)
            wanted = current
        return self._finish(scale, wanted, _why(wanted, current, best, stable=stable))

    def _factors(self, limit: Limit) -> dict[str, Any]:
        if limit == Limit.SCALE_UP:
            return {"scaleUpLimitFactor": str(self.wpa.up_factor)}
        return {"scaleDownLimitFactor": str(self.wpa.down_factor)} if limit == Limit.SCALE_DOWN else {}

    def _tell_gate(self, wanted: int, current: int, door: Gate) -> None:
        if door.until is None:
            words = f"The value has not been past its mark before: the delay has to pass first, stay at {current}."
            self.step("restrain", door.rule, wanted, current, words)
            return
        direction = "up" if wanted > current else "down"
        window = door.rule == "forbidden-window"
        word = "forbidden window after the last move" if window else "delay since the mark was left"
        wait = show_seconds(door.until - self.now)
        words = f"No {direction}scale within the {word}, for another {wait}: stay at {current}."
        self.step("restrain", door.rule, wanted, current, words, {"until": show_time(door.until)})

    def _finish(self, scale: Scale, desired: int, reason: str) -> tuple[Move, Memory]:
        current, dry = scale.replicas, bool(self.wpa.dry_run)
        if desired != current and dry:
            self.step("restrain", "dry-run", desired, current, f"Dry run: {desired} is told, not written.")
        move = self.move(current, desired, self._status(), reason=reason, dry_run=dry)
        return move, self.memory.after_deciding(self.memory.recommendations)

    def _undecided(self) -> tuple[Move, Memory]:
        move = self.stays(self._seen_replicas(), self._status(), dry_run=bool(self.wpa.dry_run))
        return move, self.memory.after_deciding(self.memory.recommendations)

    def _status(self) -> dict[str, Any]:
        scale, old = self.seen.scale, self.memory.old_status()
        status: dict[str, Any] = {
            "currentReplicas": scale.status_replicas if isinstance(scale, Scale) else 0,
            "desiredReplicas": old["desiredReplicas"],
            "scalingEventsCount": self.memory.scalings,
        }
        written_last = self.told.get(self.last_condition)
        if written_last is not None:
            status |= {"lastConditionType": written_last.type, "lastConditionState": written_last.status}
        metrics = [reading.status for reading in self.readings if reading.status]
        if metrics:
            status["currentMetrics"] = metrics
        return {**status, "lastScaleTime": old["lastScaleTime"]}


def newest_first(conditions: Conditions) -> Conditions:
    """This kind lists its conditions by their last transition."""
    return tuple(sorted(conditions, key=lambda condition: -condition.since))


def _details(best: Reading) -> str:
    reason = best.step.numbers.get("reason")
    return f": {reason}" if reason else ""


def _why(wanted: int, current: int, best: Reading, *, stable: bool) -> str:
    if wanted == current:
        return ""
    if stable:
        return f"{best.description} converging"
    return f"{best.description} above target" if wanted > current else "All metrics below target"
