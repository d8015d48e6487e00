"""One decision of a HorizontalPodAutoscaler, as the controller of the given Kubernetes version makes it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hypot.core.quantity import milli
from hypot.kinds.base import Ref
from hypot.kinds.hpa import HPA
from hypot.kinds.hpa_defaults import DEFAULT_DOWN, DEFAULT_UP, with_defaults
from hypot.kinds.hpa_parts import Behavior
from hypot.kinds.selector import SelectorError, parse_selector
from hypot.kinds.version import REMEMBERS_SCALED_TO_ZERO
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
    without_condition,
)
from hypot.policy.hpa_metrics import Look, read_metric
from hypot.policy.memory import EMPTY, History, Memory
from hypot.policy.resolve import failures, largest
from hypot.policy.restrain import (
    LIMIT_REASONS,
    Limited,
    Past,
    Stabilised,
    limit_by_doubling,
    limit_by_pace,
    limit_step,
    longest_period,
    stabilise,
    stabilise_downwards,
)
from hypot.policy.seen import Failure, Scale, Seen
from hypot.policy.settings import Settings

ABOVE_MAX = "Current number of replicas above Spec.MaxReplicas"
BELOW_MIN = "Current number of replicas below Spec.MinReplicas"
ALL_BELOW = "All metrics below target"


def decide(hpa: HPA, seen: Seen, memory: Memory, settings: Settings) -> tuple[Decision, Memory]:
    """What the controller would do now, why, and what it must remember. Nothing is done here."""
    return _Pass(with_defaults(hpa, settings.kubernetes, settings.gates), seen, memory, settings).run()


def recommend(hpa: HPA, seen: Seen, settings: Settings) -> tuple[Reading, ...]:
    """What each metric asks for. The scale must have been read."""
    if isinstance(seen.scale, Failure):
        raise TypeError("recommend needs a scale; decide handles its absence")
    down, up = tolerances(hpa, settings)
    look = Look(seen, seen.scale, settings, down, up)
    return tuple([read_metric(metric, look) for metric in hpa.metrics or ()])


def tolerances(hpa: HPA, settings: Settings) -> tuple[float, float]:
    """Downwards and upwards; each side of a behavior may replace the cluster's."""
    down = up = settings.tolerance
    if hpa.behavior is None or not settings.gate("HPAConfigurableTolerance"):
        return down, up
    if hpa.scale_down is not None and hpa.scale_down.tolerance is not None:
        down = milli(hpa.scale_down.tolerance) / 1000
    if hpa.scale_up is not None and hpa.scale_up.tolerance is not None:
        up = milli(hpa.scale_up.tolerance) / 1000
    return down, up


@dataclass(frozen=True, slots=True)
class Resolved:
    """One count from all metrics, or none; `error` may be there beside a count."""

    recommendation: int | None
    description: str
    error: str
    error_kind: ErrorKind
    failed_reason: str


def resolve(readings: tuple[Reading, ...], current: int) -> Resolved:
    """The largest proposal; while any metric fails nothing shrinks."""
    broken, best = failures(readings), largest(readings)
    error, reason = "", ""
    kind: ErrorKind = "none"
    if broken:
        first = broken[0]
        error = f"invalid metrics ({len(broken)} invalid out of {len(readings)}), first error is: {first.error}"
        kind, reason = first.error_kind, first.failed_reason
    proposal = best.proposal if best else None
    if best is None or proposal is None or (broken and proposal < current):
        return Resolved(None, "", error or "no metric", kind, reason)
    return Resolved(proposal, best.description, error, kind, reason)


@dataclass(frozen=True, slots=True)
class Restrained:
    replicas: int
    stabilised: Stabilised
    limited: Limited
    history: History


def restrain(hpa: HPA, recommendation: int, current: int, memory: Memory, now: float, settings: Settings) -> Restrained:
    """Stabilise, then limit; what history keeps is the bare recommendation."""
    low, high = _least(hpa), hpa.max_replicas or 0
    history = memory.recommendations or EMPTY
    if hpa.behavior is None:
        window = settings.downscale_window
        settled = stabilise_downwards(recommendation, history, now, window)
        limited = limit_by_doubling(
            current, settled.replicas, low, high, settings.scale_up_factor, settings.scale_up_floor
        )
        return Restrained(limited.replicas, settled, limited, history.with_entry(recommendation, now, now - window))
    up, down = hpa.scale_up or DEFAULT_UP, hpa.scale_down or DEFAULT_DOWN
    up_window = float(up.window or 0)
    down_window = settings.downscale_window if down.window is None else float(down.window)
    settled = stabilise(recommendation, current, history, now, up_window, down_window)
    past = Past(memory.ups, memory.downs, memory.last_scale)
    limited = limit_by_pace(current, settled.replicas, low, high, up, down, past, now)
    kept = history.with_entry(recommendation, now, now - max(up_window, down_window))
    return Restrained(limited.replicas, settled, limited, kept)


def write_failed(decision: Decision, memory: Memory, message: str) -> Decision:
    """The decision after its scale could not be written; remember its conditions with `memory.failed`."""
    told = f"New size: {decision.desired}; reason: {decision.reason}; error: {message}"
    return refused(decision, "FailedUpdateScale", "FailedRescale", told, memory.old_status())


def _least(hpa: HPA) -> int:
    return 1 if hpa.min_replicas is None else hpa.min_replicas


class _Pass:
    """One pass through the stages; collects steps, conditions and events on the way."""

    def __init__(self, hpa: HPA, seen: Seen, memory: Memory, settings: Settings) -> None:
        self.hpa, self.seen, self.memory, self.settings = hpa, seen, memory, settings
        self.now = seen.now
        self.conditions: Conditions = memory.conditions
        self.steps: list[Step] = []
        self.events: list[Event] = []
        self.unknown: list[str] = []
        self.readings: tuple[Reading, ...] = ()
        self.first_look = False
        self.history = memory.recommendations
        self.error = ""
        self.error_kind: ErrorKind = "none"

    def run(self) -> tuple[Decision, Memory]:
        ref = self.hpa.target or Ref()
        if (ref.api_version or "").count("/") > 1:
            return self._no_scale(Failure(f"unexpected GroupVersion string: {ref.api_version}", "spec"))
        scale = self.seen.scale
        if isinstance(scale, Failure):
            return self._no_scale(scale)
        self._condition("AbleToScale", "True", "SucceededGetScale", "the target's scale was read")
        current = scale.replicas
        if self.memory.recommendations is None:
            self.first_look = True
            self.history = History((current,), (self.now,))
            self.memory = self.memory.after_deciding(self.history, self.memory.conditions, self.memory.desired)
        jump = self._jump(current)
        if jump is not None:
            return jump
        return self._from_metrics(scale)

    def _condition(self, kind: str, status: bool | str, reason: str, message: str) -> None:
        self.conditions = with_condition(self.conditions, kind, status, reason, message, self.now)

    def _no_scale(self, failure: Failure) -> tuple[Decision, Memory]:
        message = f"the target's scale could not be read: {failure.message}"
        self._condition("AbleToScale", "False", "FailedGetScale", message)
        self.events.append(Event("Warning", "FailedGetScale", failure.message))
        self.steps.append(Step("observe", "no-scale", None, None, f"{message[0].upper()}{message[1:]}."))
        self.error, self.error_kind = failure.message, failure.kind
        return self._undecided(None, keep_metrics=True)

    def _jump(self, current: int) -> tuple[Decision, Memory] | None:
        """Outside the bounds no metric is asked and nothing is slowed; at zero it depends on who went there."""
        low, high = _least(self.hpa), self.hpa.max_replicas or 0
        if current == 0:
            return None if self._wakes(low) else self._switched_off()
        if current > high:
            step = Step("restrain", "above-max", current, high, f"{current} is above the maximum: go to {high}.")
            return self._jumped(current, high, step, ABOVE_MAX)
        if current < low:
            step = Step("restrain", "below-min", current, low, f"{current} is below the minimum: go to {low}.")
            return self._jumped(current, low, step, BELOW_MIN)
        return None

    def _jumped(self, current: int, desired: int, step: Step, reason: str) -> tuple[Decision, Memory]:
        self.steps.append(step)
        return self._finish(current, desired, reason, metrics=None)

    def _wakes(self, low: int) -> bool:
        """Whether a target at zero is looked at: since 1.36 only if the autoscaler itself brought it there."""
        if self.settings.kubernetes < REMEMBERS_SCALED_TO_ZERO:
            return low == 0 and self.settings.gate("HPAScaleToZero")
        return self._marked() and (low != 0 or self._outside_metric())

    def _marked(self) -> bool:
        mark = condition_of(self.conditions, "ScaledToZero")
        return self.settings.gate("HPAScaleToZero") and mark is not None and mark.status == "True"

    def _outside_metric(self) -> bool:
        return any(m.type in {"Object", "External"} for m in self.hpa.metrics or ())

    def _switched_off(self) -> tuple[Decision, Memory]:
        self._condition("ScalingActive", "False", "ScalingDisabled", "the target has zero replicas, so scaling is off")
        if not self.settings.gate("HPAScaleToZero"):
            self.conditions = without_condition(self.conditions, "ScaledToZero")
        sentence = (
            "The target was set to zero replicas, not by this autoscaler: it stays off until someone scales it up."
        )
        self.steps.append(Step("restrain", "scaling-disabled", 0, 0, sentence))
        return self._finish(0, 0, "", metrics=None)

    def _from_metrics(self, scale: Scale) -> tuple[Decision, Memory]:
        current = scale.replicas
        if not self._selector_is_good(scale):
            return self._undecided(current, keep_metrics=False)
        self.readings = recommend(self.hpa, self.seen, self.settings)
        resolved = resolve(self.readings, current)
        self._tell_readings()
        self.error, self.error_kind = resolved.error, resolved.error_kind
        if resolved.recommendation is None:
            return self._metrics_failed(current, resolved)
        self._condition(
            "ScalingActive", "True", "ValidMetricFound", f"a count was computed from {resolved.description}"
        )
        return self._restrained(current, resolved)

    def _tell_readings(self) -> None:
        for reading in self.readings:
            self.steps.append(reading.step)
            if reading.proposal is None:
                self.events.append(Event("Warning", reading.failed_reason, reading.error))

    def _metrics_failed(self, current: int, resolved: Resolved) -> tuple[Decision, Memory]:
        first = failures(self.readings)
        message = f"the count could not be computed: {first[0].error}" if first else "there is no metric"
        self._condition("ScalingActive", "False", resolved.failed_reason or "InvalidMetricSourceType", message)
        self.events.append(Event("Warning", "FailedComputeMetricsReplicas", resolved.error))
        lower = largest(self.readings)
        why = f"{resolved.error[0].upper()}{resolved.error[1:]}"
        also = f"; the others propose {lower.proposal}, and nothing shrinks on missing data" if lower else ""
        self.steps.append(Step("resolve", "hold-on-failure", current, current, f"{why}{also}: stay at {current}."))
        return self._undecided(current, keep_metrics=False)

    def _restrained(self, current: int, resolved: Resolved) -> tuple[Decision, Memory]:
        recommendation = resolved.recommendation or 0
        sentence = f"The largest proposal is {recommendation}, from {resolved.description}."
        self.steps.append(Step("resolve", "largest", current, recommendation, sentence))
        done = restrain(self.hpa, recommendation, current, self.memory, self.now, self.settings)
        self._tell_stabilised(recommendation, current, done.stabilised)
        self._tell_limited(done)
        self.history = done.history
        desired, reason = done.replicas, ""
        if recommendation > current:
            reason = f"{resolved.description} above target"
        elif recommendation < current:
            reason = ALL_BELOW
        low = _least(self.hpa)
        if current == 0 and low != 0 and self._marked() and desired < low:
            self.steps.append(Step("restrain", "below-min", desired, low, f"Awake again, at least the minimum: {low}."))
            desired, reason = low, reason or BELOW_MIN
        return self._finish(current, desired, reason, metrics=[r.status for r in self.readings])

    def _tell_stabilised(self, recommendation: int, current: int, settled: Stabilised) -> None:
        if settled.replicas == recommendation:
            self._condition("AbleToScale", "True", "ReadyForNewScale", "the recommended size may be used as it is")
            return
        downwards = recommendation < current or self.hpa.behavior is None
        reason = "ScaleDownStabilized" if downwards else "ScaleUpStabilized"
        extreme = "highest" if downwards else "lowest"
        message = f"recent recommendations differ, the {extreme} of them counts"
        self._condition("AbleToScale", "True", reason, message)
        until = f", until {show_time(settled.from_then)} if it lasts" if settled.from_then else ""
        sentence = (
            f"{recommendation} is held back by the {extreme} recommendation of the stabilisation window{until}: "
            f"{settled.replicas}."
        )
        numbers = {"until": show_time(settled.from_then)} if settled.from_then else {}
        rule = "stabilise-down" if downwards else "stabilise-up"
        self.steps.append(Step("restrain", rule, recommendation, settled.replicas, sentence, numbers))
        if self.first_look and settled.from_then:
            wait = show_seconds(settled.from_then - self.now)
            self.unknown.append(
                f"earlier recommendations are not known; as after a controller restart the current size counts as the "
                f"first, so {recommendation} takes effect from {show_time(settled.from_then)}, in {wait}, at the latest"
            )

    def _tell_limited(self, done: Restrained) -> None:
        low, high = _least(self.hpa), self.hpa.max_replicas or 0
        before = done.stabilised.replicas
        reason, message = LIMIT_REASONS[done.limited.limit]
        self._condition("ScalingLimited", done.limited.replicas != before, reason, message)
        self.steps.append(limit_step(before, done.limited, low, high, {}))
        if done.limited.unknown:
            self.unknown.append(done.limited.unknown)

    def _selector_is_good(self, scale: Scale) -> bool:
        if not scale.selector:
            return self._bad_selector("InvalidSelector", "SelectorRequired", "selector is required")
        try:
            parse_selector(scale.selector)
        except SelectorError as error:
            return self._bad_selector("InvalidSelector", "InvalidSelector", f"the selector cannot be read: {error}")
        if self.seen.rivals:
            others = ", ".join(self.seen.rivals)
            message = f"pods by selector {scale.selector} are also controlled by {others}"
            return self._bad_selector("AmbiguousSelector", "AmbiguousSelector", message)
        return True

    def _bad_selector(self, reason: str, event: str, message: str) -> bool:
        self._condition("ScalingActive", "False", reason, message)
        self.events += [Event("Warning", event, message), Event("Warning", "FailedComputeMetricsReplicas", message)]
        self.steps.append(Step("observe", "selector", None, None, f"{message[0].upper()}{message[1:]}."))
        self.error, self.error_kind = message, "internal"
        return False

    def _finish(
        self, current: int, desired: int, reason: str, metrics: list[Mapping[str, Any]] | None
    ) -> tuple[Decision, Memory]:
        unwritten, rescales = self.conditions, desired != current
        events = list(self.events)
        if rescales:
            self._condition("AbleToScale", "True", "SucceededRescale", f"the target's scale was set to {desired}")
            events.append(Event("Normal", "SuccessfulRescale", f"New size: {desired}; reason: {reason}"))
            self._mark_zero(current, desired)
        status = self._status(current, desired, metrics)
        if rescales:
            status["lastScaleTime"] = show_time(self.now)
        decision = self._decision(current, desired, reason, unwritten, events, status, decided=True)
        kept = self.memory.desired if rescales else desired
        return decision, self.memory.after_deciding(self.history, unwritten, kept)

    def _mark_zero(self, current: int, desired: int) -> None:
        if self.settings.kubernetes < REMEMBERS_SCALED_TO_ZERO or not self.settings.gate("HPAScaleToZero"):
            self.conditions = without_condition(self.conditions, "ScaledToZero")
            return
        to_zero = current > 0 and desired == 0 and _least(self.hpa) == 0 and self._outside_metric()
        reason = "ScaledToZero" if to_zero else "NotScaledToZero"
        message = (
            "the autoscaler brought the target to zero" if to_zero else "the target is not at zero by this autoscaler"
        )
        self._condition("ScaledToZero", to_zero, reason, message)

    def _undecided(self, current: int | None, *, keep_metrics: bool) -> tuple[Decision, Memory]:
        """Nothing is done and the old desired size stays in the status."""
        status = dict(self.hpa.status) if isinstance(self.hpa.status, dict) else {}
        if not keep_metrics:
            status = self._status(current or 0, self.memory.desired, [r.status for r in self.readings] or None)
        status["conditions"] = [c.to_dict() for c in self.conditions]
        decision = self._decision(current, current, "", self.conditions, self.events, status, decided=False)
        return decision, self.memory.after_deciding(self.history, self.conditions, self.memory.desired)

    def _status(self, current: int, desired: int, metrics: list[Mapping[str, Any]] | None) -> dict[str, Any]:
        status: dict[str, Any] = {"conditions": [c.to_dict() for c in self.conditions]}
        if metrics:
            status["currentMetrics"] = metrics
        status["currentReplicas"] = current
        status["desiredReplicas"] = desired
        if self.memory.last_scale is not None:
            status["lastScaleTime"] = show_time(self.memory.last_scale)
        return status

    def _decision(
        self,
        current: int | None,
        desired: int | None,
        reason: str,
        unwritten: Conditions,
        events: list[Event],
        status: dict[str, Any],
        *,
        decided: bool,
    ) -> Decision:
        hpa, ref = self.hpa, self.hpa.target or Ref()
        return Decision(
            autoscaler=Name(hpa.API_VERSION, hpa.KIND, hpa.namespace, hpa.name),
            target=Name(ref.api_version or "", ref.kind or "", hpa.namespace, ref.name or ""),
            at=self.now,
            current=current,
            desired=desired,
            reason=reason,
            steps=tuple(self.steps),
            conditions=self.conditions,
            unwritten=unwritten,
            events=tuple(events),
            status=status,
            thresholds=tuple([t for r in self.readings for t in r.thresholds]),
            unknown=tuple(self.unknown),
            error=self.error,
            error_kind=self.error_kind,
            decided=decided,
            event_period=_event_period(hpa.behavior, current, desired),
            readings=self.readings,
        )


def _event_period(behavior: Behavior | None, current: int | None, desired: int | None) -> float | None:
    if behavior is None or current is None or desired is None:
        return None
    pace = behavior.scale_up if desired > current else behavior.scale_down
    return float(longest_period(pace.limits or ())) if pace else None


__all__ = ["Condition", "decide", "recommend", "resolve", "restrain", "tolerances", "write_failed"]
