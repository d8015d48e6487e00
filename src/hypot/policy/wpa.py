"""One decision of a WatermarkPodAutoscaler: two marks, limit factors, forbidden windows and delays."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from hypot.core.bounds import Limit, factor_step
from hypot.core.quantity import milli
from hypot.core.watermark import Side
from hypot.core.window import delay_over, seconds_left
from hypot.kinds.base import Ref
from hypot.kinds.wpa import LIFECYCLE_CONTROL, WPA, with_defaults
from hypot.policy.decision import (
    Condition,
    Conditions,
    Decision,
    ErrorKind,
    Event,
    Name,
    Reading,
    Step,
    condition_of,
    refused,
    show_seconds,
    show_time,
    with_condition,
)
from hypot.policy.memory import Memory
from hypot.policy.resolve import failures, largest
from hypot.policy.restrain import LIMIT_REASONS, Limited, limit_by_steps, limit_step
from hypot.policy.seen import Failure, Scale, Seen
from hypot.policy.settings import Settings
from hypot.policy.wpa_metrics import Look, read_band, read_reply

ABOVE, BELOW = "AboveHighWatermark", "BelowLowWatermark"
_TRUE_WORDS = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_FALSE_WORDS = frozenset({"0", "f", "F", "FALSE", "false", "False"})


def decide(wpa: WPA, seen: Seen, memory: Memory, settings: Settings) -> tuple[Decision, Memory]:
    """What the controller would do now, why, and what it must remember. Nothing is done here."""
    del settings  # everything this kind needs stands in its own spec
    this = _Pass(with_defaults(wpa), seen, memory)
    problems = [p for p in wpa.problems() if p.severity == "error" and p.where[0] == "spec"]
    if problems:
        return this.bad_spec("; ".join(str(p) for p in problems))
    blocked = this.blocked_by_monitor()
    if blocked is not None:
        return blocked
    if isinstance(seen.scale, Failure):
        return this.no_scale(seen.scale)
    return this.conclude(seen.scale, recommend(this.wpa, seen))


def conclude(wpa: WPA, seen: Seen, memory: Memory, readings: tuple[Reading, ...]) -> tuple[Decision, Memory]:
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
    """The largest proposal, if no metric fails; a step inside the band only counts while every metric is inside."""
    if failures(readings):
        return None
    if not is_stable(readings):
        readings = [replace(r, proposal=current) if r.converging else r for r in readings]
    return largest(readings)


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


def write_failed(decision: Decision, memory: Memory, message: str) -> Decision:
    """The decision after its scale could not be written; remember its conditions with `memory.failed`."""
    return refused(decision, "FailedScale", "FailedScale", message, memory.old_status())


class _Pass:
    """One pass through the stages; collects steps, conditions and events on the way."""

    def __init__(self, wpa: WPA, seen: Seen, memory: Memory) -> None:
        self.wpa, self.seen, self.memory = wpa, seen, memory
        self.now = seen.now
        self.conditions: Conditions = memory.conditions
        self.steps: list[Step] = []
        self.events: list[Event] = []
        self.readings: tuple[Reading, ...] = ()
        self.unknown: list[str] = []

    def _condition(self, kind: str, status: bool | str, reason: str, message: str) -> None:
        self.conditions = with_condition(self.conditions, kind, status, reason, message, self.now)

    def bad_spec(self, words: str) -> tuple[Decision, Memory]:
        self._condition("AbleToScale", "False", "FailedSpecCheck", words)
        self._condition("ScalingActive", "False", "FailedProcessWPA", "the spec is not valid")
        self.events.append(Event("Warning", "FailedSpecCheck", words))
        self.steps.append(Step("observe", "bad-spec", None, None, f"The spec is refused: {words}."))
        return self._undecided(self._seen_replicas(), words, "spec")

    def blocked_by_monitor(self) -> tuple[Decision, Memory] | None:
        """Lifecycle control: a monitor of the same name must be OK, or nothing runs at all."""
        word = self.wpa.annotations.get(LIFECYCLE_CONTROL)
        if word in _TRUE_WORDS:
            state = self.seen.monitor
            if state == "OK":
                self._condition("ScalingBlocked", "False", "DatadogMonitorOK", "the monitor is OK")
                return None
            reason = "FailedGetDatadogMonitor" if state is None else "DatadogMonitorNotOK"
            message = (
                "there is no DatadogMonitor of this name" if state is None else f"the monitor is {state or 'unknown'}"
            )
            if state is None:
                self.events.append(Event("Warning", reason, message))
            self._condition("ScalingBlocked", "True", reason, message)
            current = self._seen_replicas()
            sentence = f"Lifecycle control blocks all scaling: {message}."
            self.steps.append(Step("observe", "lifecycle-blocked", current, current, sentence))
            return self._undecided(current, message, "internal")
        if word and word not in _FALSE_WORDS:
            message = f"the annotation {LIFECYCLE_CONTROL} is {word!r}, which is neither true nor false"
            self._condition("ScalingBlocked", "False", "FailedGetDatadogMonitor", message)
        return None

    def _seen_replicas(self) -> int | None:
        return self.seen.scale.replicas if isinstance(self.seen.scale, Scale) else None

    def no_scale(self, failure: Failure) -> tuple[Decision, Memory]:
        message = f"the target's scale could not be read: {failure.message}"
        self._condition("AbleToScale", "False", "FailedProcessWPA", message)
        self._condition("ScalingActive", "False", "FailedProcessWPA", message)
        self.events.append(Event("Warning", "FailedProcessWPA", failure.message))
        self.steps.append(Step("observe", "no-scale", None, None, f"{message[0].upper()}{message[1:]}."))
        return self._undecided(None, failure.message, failure.kind)

    def conclude(self, scale: Scale, readings: tuple[Reading, ...]) -> tuple[Decision, Memory]:
        """From what the metrics say to a decision."""
        self.readings, current = readings, scale.replicas
        self._condition("AbleToScale", "True", "SucceededGetScale", "the target's scale was read")
        dry = bool(self.wpa.dry_run)
        self._condition(
            "DryRun", dry, "DryRunEnabled" if dry else "DryRunDisabled", f"dry run is {'on' if dry else 'off'}"
        )
        if current == 0:
            return self._switched_off(scale)
        for reading in readings:
            self.steps.append(reading.step)
            if reading.proposal is None:
                self.events.append(Event("Warning", reading.failed_reason, reading.error))
        best = resolve(readings, current)
        self._tell_metrics(best)
        outside = self._outside(current)
        if outside is not None:
            return self._finish(scale, outside, "the current size was outside its bounds")
        if best is None or best.proposal is None:
            return self._metrics_failed(current)
        return self._restrained(scale, best)

    def _switched_off(self, scale: Scale) -> tuple[Decision, Memory]:
        self._condition("ScalingActive", "False", "ScalingDisabled", "the target has zero replicas, so scaling is off")
        sentence = "The target is set to zero replicas: it stays off until someone scales it up."
        self.steps.append(Step("restrain", "scaling-disabled", 0, 0, sentence))
        return self._finish(scale, 0, "")

    def _tell_metrics(self, best: Reading | None) -> None:
        broken = failures(self.readings)
        if best is not None:
            message = f"a count was computed from {best.description}{_details(best)}"
            self._condition("ScalingActive", "True", "ValidMetricFound", message)
        elif broken:
            self._condition("ScalingActive", "False", broken[0].failed_reason, broken[0].error)
        if best is None:
            return
        above = any(r.side == Side.ABOVE for r in self.readings)
        below = any(r.side == Side.BELOW for r in self.readings)
        self._condition(
            ABOVE, above, best.description, f"the value is {'' if above else 'not '}above the high watermark"
        )
        self._condition(
            BELOW, below, best.description, f"the value is {'' if below else 'not '}below the low watermark"
        )
        if any(r.converging for r in self.readings) or condition_of(self.conditions, "ConvergeToWatermark"):
            stepping = is_stable(self.readings) and best.converging
            message = f"a step towards the {self.wpa.converge or 'mark'} is proposed" if stepping else "no step is due"
            self._condition("ConvergeToWatermark", stepping, "Converging" if stepping else "NotConverging", message)

    def _outside(self, current: int) -> int | None:
        """Bounds hold even while metrics fail, at once and unslowed."""
        low, high = self.wpa.min_replicas or 1, self.wpa.max_replicas or current
        if current > high:
            self.steps.append(
                Step("restrain", "above-max", current, high, f"{current} is above the maximum: go to {high}.")
            )
            return high
        if current < low:
            self.steps.append(
                Step("restrain", "below-min", current, low, f"{current} is below the minimum: go to {low}.")
            )
            return low
        return None

    def _metrics_failed(self, current: int) -> tuple[Decision, Memory]:
        broken = failures(self.readings)
        words = broken[0].error if broken else "there is no metric"
        self.events.append(Event("Warning", "FailedComputeMetricsReplicas", words))
        sentence = f"A metric cannot be read and nothing moves on missing data: stay at {current}."
        self.steps.append(Step("resolve", "hold-on-failure", current, current, sentence))
        return self._undecided(current, words, broken[0].error_kind if broken else "internal")

    def _restrained(self, scale: Scale, best: Reading) -> tuple[Decision, Memory]:
        current, proposal = scale.replicas, best.proposal or 0
        if len(self.readings) > 1:
            sentence = f"The largest proposal is {proposal}, from {best.description}."
            self.steps.append(Step("resolve", "largest", current, proposal, sentence))
        limited = restrain(self.wpa, proposal, best.ready, current)
        reason, message = LIMIT_REASONS[limited.limit]
        self._condition("ScalingLimited", limited.replicas != proposal, reason, message)
        low, high = self.wpa.min_replicas or 0, self.wpa.max_replicas or 0
        self.steps.append(limit_step(proposal, limited, low, high, self._factors(limited.limit)))
        wanted = limited.replicas
        stable = is_stable(self.readings)
        door = gate(self.wpa, current, wanted, self.memory.last_scale, self.conditions, self.now, stable=stable)
        self._condition("AbleToScale", door.able, door.reason, door.message)
        if wanted != current and not door.opens:
            self._tell_gate(wanted, current, door)
            wanted = current
        return self._finish(scale, wanted, _why(wanted, current, best, stable=stable))

    def _factors(self, limit: Limit) -> dict[str, Any]:
        if limit == Limit.SCALE_UP:
            return {"scaleUpLimitFactor": str(self.wpa.up_factor)}
        return {"scaleDownLimitFactor": str(self.wpa.down_factor)} if limit == Limit.SCALE_DOWN else {}

    def _tell_gate(self, wanted: int, current: int, door: Gate) -> None:
        direction = "up" if wanted > current else "down"
        if door.until is None:
            sentence = f"The value has not been past its mark before: the delay has to pass first, stay at {current}."
            self.steps.append(Step("restrain", door.rule, wanted, current, sentence))
            return
        wait = show_seconds(door.until - self.now)
        word = (
            "forbidden window after the last move"
            if door.rule == "forbidden-window"
            else "delay since the mark was left"
        )
        sentence = f"No {direction}scale within the {word}, for another {wait}: stay at {current}."
        self.steps.append(Step("restrain", door.rule, wanted, current, sentence, {"until": show_time(door.until)}))

    def _finish(self, scale: Scale, desired: int, reason: str) -> tuple[Decision, Memory]:
        current = scale.replicas
        unwritten, moves, dry = self.conditions, desired != current, bool(self.wpa.dry_run)
        events = list(self.events)
        if moves and not dry:
            self._condition("AbleToScale", "True", "SuccessfulScale", f"the target's scale was set to {desired}")
            events.append(Event("Normal", "Scaling", f"New size: {desired}; reason: {reason}"))
        elif not moves and current:
            events.append(Event("Normal", "NotScaling", f"Stay at {current}"))
        if dry and moves:
            self.steps.append(
                Step("restrain", "dry-run", desired, current, f"Dry run: {desired} is told, not written.")
            )
        decision = self._decision(current, desired, reason, unwritten, events, scale.status_replicas)
        kept = self.memory.desired if moves else desired
        return decision, self.memory.after_deciding(self.memory.recommendations, unwritten, kept)

    def _undecided(self, current: int | None, error: str, kind: ErrorKind) -> tuple[Decision, Memory]:
        status = self.seen.scale.status_replicas if isinstance(self.seen.scale, Scale) else 0
        decision = self._decision(current, current, "", self.conditions, self.events, status)
        failed = replace(decision, decided=False, error=error, error_kind=kind)
        status_now = {**decision.status, "desiredReplicas": self.memory.desired}
        kept = self.memory.after_deciding(self.memory.recommendations, self.conditions, self.memory.desired)
        return replace(failed, status=status_now), kept

    def _decision(
        self,
        current: int | None,
        desired: int | None,
        reason: str,
        unwritten: Conditions,
        events: list[Event],
        status_replicas: int,
    ) -> Decision:
        wpa, ref = self.wpa, self.wpa.target or Ref()
        moves = desired != current
        return Decision(
            autoscaler=Name(wpa.API_VERSION, wpa.KIND, wpa.namespace, wpa.name),
            target=Name(ref.api_version or "", ref.kind or "", wpa.namespace, ref.name or ""),
            at=self.now,
            current=current,
            desired=desired,
            reason=reason,
            steps=tuple(self.steps),
            conditions=newest_first(self.conditions),
            unwritten=newest_first(unwritten),
            events=tuple(events),
            status=self._status(desired, moves, status_replicas),
            thresholds=tuple([t for r in self.readings for t in r.thresholds]),
            unknown=tuple(self.unknown),
            dry_run=bool(wpa.dry_run),
            readings=self.readings,
        )

    def _status(self, desired: int | None, moves: bool, status_replicas: int) -> dict[str, Any]:
        ordered = newest_first(self.conditions)
        status: dict[str, Any] = {
            "conditions": [c.to_dict() for c in ordered],
            "currentReplicas": status_replicas,
            "desiredReplicas": desired,
            "scalingEventsCount": self.memory.scalings + (1 if moves else 0),
        }
        metrics = [r.status for r in self.readings if r.status]
        if metrics:
            status["currentMetrics"] = metrics
        last = self.now if moves else self.memory.last_scale
        if last is not None:
            status["lastScaleTime"] = show_time(last)
        return status


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


__all__ = ["Condition", "decide", "gate", "recommend", "resolve", "restrain", "write_failed"]
