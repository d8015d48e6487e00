"""One decision of a WatermarkPodAutoscaler: two watermarks, limit factors, forbidden windows and delays."""

from collections.abc import Sequence
from dataclasses import replace
from math import inf
from typing import Any

from hypot.core.dataclass import dataclass
from hypot.core.instant import show_time
from hypot.core.quantity import milli
from hypot.core.replicas.bounds import Bound
from hypot.core.replicas.watermark import Side
from hypot.core.replicas.window import DELAYED, FORBIDDEN, seconds_left, waits_for
from hypot.kinds.base import FALSE_WORDS, TRUE_WORDS
from hypot.kinds.wpa import WPA, with_defaults
from hypot.kinds.wpa.fields import LIFECYCLE_CONTROL
from hypot.policy.horizontal.wpa_metrics import WatermarkContext, read_band, read_reply
from hypot.policy.model.decision import Conditions, Event, MetricReading, Move, MoveReport, condition_of, show_seconds
from hypot.policy.model.seen import Failure, Scale, Seen
from hypot.policy.model.settings import Settings
from hypot.policy.model.state import State
from hypot.policy.stages.report import Effect, Findings, Refusal, count_status, succeeded
from hypot.policy.stages.resolve import failures, largest
from hypot.policy.stages.restrain import Limited, limit_by_steps
from hypot.policy.stages.saturation import saturation, usage_message

ABLE = "AbleToScale"
ABOVE, BELOW = "AboveHighWatermark", "BelowLowWatermark"
# The reasons of lifecycle control by a DatadogMonitor.
MONITOR_OK, MONITOR_NOT_OK, MONITOR_MISSING = "DatadogMonitorOK", "DatadogMonitorNotOK", "FailedGetDatadogMonitor"
MONITOR_REASONS = {MONITOR_OK, MONITOR_NOT_OK, MONITOR_MISSING}
# Lets scale-ups skip windows and delays while the pods use all they can get.
URGENT = "hypot.dev/urgent"


def is_urgent(wpa: WPA) -> bool:
    return wpa.annotations.get(URGENT) in TRUE_WORDS


def decide(wpa: WPA, seen: Seen, state: State, settings: Settings) -> tuple[Move, State]:
    """Decide what the controller does now and why; also return the new state. Nothing is written or reported here."""
    del settings  # everything that this kind needs is in its own spec
    this = _WpaPass(with_defaults(wpa), seen, state)
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
    """How long its last scaling and its watermark conditions matter, in seconds."""
    full = with_defaults(wpa)
    return float(
        max(full.up_forbidden_window or 0, full.down_forbidden_window or 0, full.up_delay or 0, full.down_delay or 0)
    )


def conclude(wpa: WPA, seen: Seen, state: State, readings: tuple[MetricReading, ...]) -> tuple[Move, State]:
    """From readings to a decision: resolve, restrain, report. The scale must have been read."""
    if isinstance(seen.scale, Failure):
        raise TypeError("conclude needs a scale; decide handles its absence")
    return _WpaPass(wpa, seen, state).conclude(seen.scale, readings)


def recommend(wpa: WPA, seen: Seen) -> tuple[MetricReading, ...]:
    """What each metric, or the recommender, proposes. The scale must have been read."""
    if isinstance(seen.scale, Failure):
        raise TypeError("recommend needs a scale; decide handles its absence")
    look = WatermarkContext(wpa, seen, seen.scale)
    if wpa.recommender is not None:
        return (read_reply(look),)
    return tuple([read_band(metric, look) for metric in wpa.metrics or ()])


def resolve(readings: Sequence[MetricReading], current: int) -> MetricReading | None:
    """The largest proposal, if no metric fails; a step inside the band counts only while every metric is inside.

    Of equal proposals the first one is named, with the fewest ready pods of all: the order never changes the count.
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


def is_stable(readings: Sequence[MetricReading]) -> bool:
    """Whether every metric is between its watermarks."""
    return all(reading.side == Side.WITHIN for reading in readings)


def restrain(wpa: WPA, proposal: int, ready: int, current: int) -> Limited:
    """Apply the limit factors, then the bounds."""
    factors = milli(wpa.up_factor or 0), milli(wpa.down_factor or 0)
    return limit_by_steps(current, proposal, ready, wpa.min_replicas or 0, wpa.max_replicas or 0, *factors)


@dataclass(frozen=True, slots=True)
class WpaGate:
    """Whether a move may happen now; `able`, `reason` and `message` report the windows even without a move."""

    opens: bool
    able: bool
    reason: str
    message: str
    rule: str = ""
    until: float | None = None


def gate(
    wpa: WPA, current: int, desired: int, last_scale: float | None, conditions: Conditions, now: float, *, stable: bool
) -> WpaGate:
    """Check the forbidden windows after the last move, then the delays; before the first move nothing waits."""
    if last_scale is None:
        return WpaGate(opens=True, able=True, reason="ReadyForScale", message="nothing has been scaled yet")
    up = seconds_left(last_scale, wpa.up_forbidden_window or 0, now)
    down = seconds_left(last_scale, wpa.down_forbidden_window or 0, now)
    reason, message = _backoff(up, down)
    able = reason == "ReadyForScale"
    left = up if desired > current else down if desired < current else 0.0
    held = WpaGate(opens=False, able=able, reason=reason, message=message)
    if desired == current:
        return held
    delay = (wpa.up_delay if desired > current else wpa.down_delay) or 0
    since = _since(conditions, ABOVE if desired > current else BELOW)
    waits = waits_for(left, stable, delay, since, now)
    if waits == FORBIDDEN:
        return replace(held, rule="forbidden-window", until=now + left)
    if waits == DELAYED:
        return replace(held, rule="delay", until=None if since == inf else since + delay)
    return replace(held, opens=True)


def _backoff(up: float, down: float) -> tuple[str, str]:
    if up > 0 and down > 0:
        return "BackoffBoth", "the last move is still within both forbidden windows"
    if down > 0:
        return "BackoffDownscale", "the last move is still within the downscale forbidden window"
    if up > 0:
        return "BackoffUpscale", "the last move is still within the upscale forbidden window"
    return "ReadyForScale", "the last move is long enough ago"


def _since(conditions: Conditions, kind: str) -> float:
    """When the value passed the watermark; infinite if it has not."""
    left = condition_of(conditions, kind)
    return inf if left is None or left.status != "True" else left.since


def report(_wpa: WPA, move: Move, state: State, _settings: Settings, _effect: Effect) -> MoveReport:
    """The report of a written move."""
    if not move.decided:
        return MoveReport(move.unwritten)
    status = {**count_status(move, state), "scalingEventsCount": state.scalings + move.moves}
    if move.rescales:
        status |= {"lastConditionType": ABLE, "lastConditionState": "True"}
        event = Event("Normal", "Scaling", f"New size: {move.desired}; reason: {move.reason}")
        return MoveReport(succeeded(move, state, "SuccessfulScale"), (event,), status)
    stays = move.current and not move.moves and move.wanted is None
    return MoveReport(
        move.unwritten, (Event("Normal", "NotScaling", f"Stay at {move.current}"),) if stays else (), status
    )


def refused(_wpa: WPA, _move: Move, state: State, message: str) -> Refusal:
    """The report of a move whose scale could not be written."""
    status = {**state.old_status(), "scalingEventsCount": state.scalings}
    return Refusal(ABLE, "FailedScale", "FailedScale", message, status)


class _WpaPass(Findings):
    """One pass of the controller, in its order."""

    def __init__(self, wpa: WPA, seen: Seen, state: State) -> None:
        super().__init__(wpa, seen, state)
        self.wpa = wpa

    def bad_spec(self, text: str) -> tuple[Move, State]:
        self.condition("AbleToScale", "False", "FailedSpecCheck", text)
        self.condition("ScalingActive", "False", "FailedProcessWPA", "the spec is not valid")
        self.warn("FailedSpecCheck", text)
        self.step("observe", "bad-spec", None, None, f"The spec is invalid: {text}.")
        self.failed(text, "spec")
        return self._undecided()

    def blocked_by_monitor(self) -> tuple[Move, State] | None:
        """Lifecycle control: a DatadogMonitor of the same name must be OK, or nothing is scaled."""
        word = self.wpa.annotations.get(LIFECYCLE_CONTROL)
        if word and word not in TRUE_WORDS | FALSE_WORDS:
            message = f"the annotation {LIFECYCLE_CONTROL} is {word!r}, which is neither true nor false"
            self.condition("ScalingBlocked", "False", MONITOR_MISSING, message)
        if word not in TRUE_WORDS:
            return None
        state = self.seen.monitor
        if state == "OK":
            self.condition("ScalingBlocked", "False", MONITOR_OK, "the monitor is OK")
            return None
        return self._blocked(state)

    def _blocked(self, state: str | None) -> tuple[Move, State]:
        reason, message = MONITOR_NOT_OK, f"the monitor is {state or 'in an unknown state'}"
        if state is None:
            reason, message = MONITOR_MISSING, "no DatadogMonitor of this name was found"
            self.warn(reason, message)
        self.condition("ScalingBlocked", "True", reason, message)
        current = self._seen_replicas()
        text = f"Lifecycle control blocks all scaling: {message}."
        self.step("observe", "lifecycle-blocked", current, current, text)
        self.failed(message, "internal")
        return self._undecided()

    def _seen_replicas(self) -> int | None:
        return self.seen.scale.replicas if isinstance(self.seen.scale, Scale) else None

    def without_scale(self, failure: Failure) -> tuple[Move, State]:
        self.no_scale(failure, "FailedProcessWPA")
        self.condition("ScalingActive", "False", "FailedProcessWPA", "the target's scale could not be read")
        return self._undecided()

    def conclude(self, scale: Scale, readings: tuple[MetricReading, ...]) -> tuple[Move, State]:
        """From the readings to a decision."""
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
        self._report_metrics(best)
        low, high = self.wpa.min_replicas or 1, self.wpa.max_replicas or current
        bound = self.outside_bounds(current, low, high)
        if bound is not None:
            return self._finish(scale, bound, "the current size was outside its bounds")
        if best is None or best.proposal is None:
            return self._metrics_failed(current)
        return self._restrained(scale, best, best.proposal, full)

    def _saturated(self) -> str:
        """A container that used all it can get in two samples, as text; the first samples enter the state."""
        names = {container.name for pod in self.seen.pods for container in pod.containers}
        pressure = saturation(self.seen, names, self.state.vertical.hot)
        self.state = self.state._replace(vertical=replace(self.state.vertical, hot=pressure.hot))
        return next((usage_message(place, pressure.twice[place]) for place in sorted(pressure.twice)), "")

    def _report_metrics(self, best: MetricReading | None) -> None:
        broken = failures(self.readings)
        if broken:
            self.condition("ScalingActive", "False", broken[0].failed_reason, broken[0].error)
        if best is None:
            return
        text = f"a count was computed from {best.description}{_details(best)}"
        self.condition("ScalingActive", "True", "ValidMetricFound", text)
        for kind, side, word in ((ABOVE, Side.ABOVE, "above the high"), (BELOW, Side.BELOW, "below the low")):
            left = any(r.side == side for r in self.readings)
            message = f"the value is {'' if left else 'not '}{word} watermark"
            self.condition(kind, left, best.description, message)
        if best.converging or "ConvergeToWatermark" in self.reported:
            stepping = best.converging and is_stable(self.readings)
            reason, word = ("Converging", "a step") if stepping else ("NotConverging", "no step")
            text = f"{word} towards the {self.wpa.converge or 'mark'} is due"
            self.condition("ConvergeToWatermark", stepping, reason, text)

    def _metrics_failed(self, current: int) -> tuple[Move, State]:
        broken = failures(self.readings)
        text = broken[0].error if broken else "there is no metric"
        self.warn("FailedComputeMetricsReplicas", text)
        reported = f"A metric cannot be read, and missing data never scales: stay at {current}."
        self.step("resolve", "hold-on-failure", current, current, reported)
        self.failed(text, broken[0].error_kind if broken else "internal")
        return self._undecided()

    def _restrained(self, scale: Scale, best: MetricReading, proposal: int, full: str) -> tuple[Move, State]:
        wpa, current = self.wpa, scale.replicas
        self.resolved(current, best)
        limited = restrain(wpa, proposal, best.ready, current)
        low, high = wpa.min_replicas or 0, wpa.max_replicas or 0
        self.limited(proposal, limited, low, high, self._factors(limited.limit))
        wanted, stable = limited.replicas, is_stable(self.readings)
        passage = gate(wpa, current, wanted, self.state.last_scale, self.conditions, self.now, stable=stable)
        self.condition("AbleToScale", passage.able, passage.reason, passage.message)
        if wanted > current and full and not passage.opens:
            text = f"{full[:1].upper()}{full[1:]}: urgent, so no window or delay holds {wanted} back."
            self.step("restrain", "urgent", wanted, wanted, text)
        elif wanted != current and not passage.opens:
            self._report_gate(wanted, current, passage)
            wanted = current
        return self._finish(scale, wanted, _why(wanted, current, best, stable=stable))

    def _factors(self, limit: Bound) -> dict[str, Any]:
        if limit == Bound.SCALE_UP:
            return {"scaleUpLimitFactor": str(self.wpa.up_factor)}
        return {"scaleDownLimitFactor": str(self.wpa.down_factor)} if limit == Bound.SCALE_DOWN else {}

    def _report_gate(self, wanted: int, current: int, passage: WpaGate) -> None:
        if passage.until is None:
            text = f"The value has not passed its watermark before: the delay must pass first, stay at {current}."
            self.step("restrain", passage.rule, wanted, current, text)
            return
        direction = "up" if wanted > current else "down"
        window = passage.rule == "forbidden-window"
        word = "forbidden window after the last move" if window else "delay since the value passed its watermark"
        wait = show_seconds(passage.until - self.now)
        text = f"No {direction}scale within the {word}, for another {wait}: stay at {current}."
        self.step("restrain", passage.rule, wanted, current, text, {"until": show_time(passage.until)})

    def _finish(self, scale: Scale, desired: int, reason: str) -> tuple[Move, State]:
        current, dry = scale.replicas, bool(self.wpa.dry_run)
        if desired != current and dry:
            self.step("restrain", "dry-run", desired, current, f"Dry run: {desired} is reported, not written.")
        move = self.move(current, desired, self._status(), reason=reason, dry_run=dry)
        return move, self.state.after_deciding(self.state.recommendations)

    def _undecided(self) -> tuple[Move, State]:
        move = self.stays(self._seen_replicas(), self._status(), dry_run=bool(self.wpa.dry_run))
        return move, self.state.after_deciding(self.state.recommendations)

    def _status(self) -> dict[str, Any]:
        """The status; without a scale the counts and metrics stay as they are."""
        scale, old = self.seen.scale, self.state.old_status()
        kept = {} if isinstance(scale, Scale) else self.kept_status()
        status: dict[str, Any] = {
            "currentReplicas": scale.status_replicas if isinstance(scale, Scale) else 0,
            "desiredReplicas": old["desiredReplicas"],
            "scalingEventsCount": self.state.scalings,
            **kept,
        }
        written_last = self.reported.get(self.last_condition)
        if written_last is not None:
            status |= {"lastConditionType": written_last.type, "lastConditionState": written_last.status}
        metrics = [reading.status for reading in self.readings if reading.status]
        if metrics:
            status["currentMetrics"] = metrics
        return {**status, "lastScaleTime": kept.get("lastScaleTime", old["lastScaleTime"])}


def newest_first(conditions: Conditions) -> Conditions:
    """The order of this kind: the newest transition first."""
    return tuple(sorted(conditions, key=lambda condition: -condition.since))


def _details(best: MetricReading) -> str:
    reason = best.step.numbers.get("reason")
    return f": {reason}" if reason else ""


def _why(wanted: int, current: int, best: MetricReading, *, stable: bool) -> str:
    if wanted == current:
        return ""
    if stable:
        return f"{best.description} converging"
    return f"{best.description} above target" if wanted > current else "All metrics below target"
