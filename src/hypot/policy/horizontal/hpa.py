"""One decision of a HorizontalPodAutoscaler, as the controller of the given Kubernetes version makes it."""

from typing import Any, NamedTuple

from hypot.core.instant import show_time
from hypot.kinds.base import Ref
from hypot.kinds.hpa import HPA
from hypot.kinds.hpa.defaults import DEFAULT_DOWN, DEFAULT_UP, with_defaults
from hypot.kinds.hpa.fields import MOST_METRICS, Behavior, ScalingRules
from hypot.kinds.selector import SelectorError, parse_selector
from hypot.kinds.values.version import REMEMBERS_SCALED_TO_ZERO
from hypot.policy.horizontal.hpa_metrics import read_metric
from hypot.policy.horizontal.proposal import MetricContext
from hypot.policy.horizontal.tolerances import tolerances
from hypot.policy.model.decision import (
    Conditions,
    ErrorKind,
    Event,
    MetricReading,
    Move,
    MoveReport,
    Step,
    condition_of,
    placed,
    renewed,
    show_seconds,
)
from hypot.policy.model.seen import Failure, Scale, Seen
from hypot.policy.model.settings import Settings
from hypot.policy.model.state import EMPTY, State, TimedValues
from hypot.policy.stages.report import Effect, Findings, Refusal, count_status, sentence, succeeded
from hypot.policy.stages.resolve import failures, largest
from hypot.policy.stages.restrain import (
    Limited,
    RateHistory,
    Stabilised,
    limit_by_doubling,
    limit_by_pace,
    longest_period,
    stabilise,
    stabilise_downwards,
)

ABOVE_MAX = "Current number of replicas above Spec.MaxReplicas"
BELOW_MIN = "Current number of replicas below Spec.MinReplicas"
ALL_BELOW = "All metrics below target"
SCALED_TO_ZERO = "ScaledToZero"


def decide(hpa: HPA, seen: Seen, state: State, settings: Settings) -> tuple[Move, State]:
    """Decide what the controller does now and why; also return the new state. Nothing is written or reported here."""
    full = with_defaults(hpa.readable(), settings.kubernetes, settings.gates)
    return _HpaPass(full, seen, state, settings).run()


def recommend(hpa: HPA, seen: Seen, settings: Settings) -> tuple[MetricReading, ...]:
    """What each metric proposes. The scale must have been read."""
    look, metrics = metric_context(hpa, seen, settings), hpa.metrics or ()
    readings = [read_metric(metric, look) for metric in metrics[:MOST_METRICS]]
    return (*readings, _not_read(len(metrics), look)) if len(metrics) > MOST_METRICS else tuple(readings)


def _not_read(metrics: int, look: MetricContext) -> MetricReading:
    """The reading of the metrics that are too many: so nothing is scaled down."""
    error = f"it has {metrics} metrics, and only the first {MOST_METRICS} are read"
    step = Step("recommend", "metric-failed", look.scale.replicas, None, sentence(error), {})
    status, reason = {"type": ""}, "TooManyMetrics"
    return MetricReading(
        "", "the other metrics", None, step, status=status, error=error, error_kind="spec", failed_reason=reason
    )


def metric_context(hpa: HPA, seen: Seen, settings: Settings) -> MetricContext:
    """The inputs of its metrics. The scale must have been read."""
    if isinstance(seen.scale, Failure):
        raise TypeError("metrics need a scale; decide handles its absence")
    down, up = tolerances(hpa, settings)
    return MetricContext(seen, seen.scale, settings, down, up, _least(hpa), hpa.max_replicas or 0)


class Resolved(NamedTuple):
    """The metric that counts, or None; `error` may be set in addition."""

    best: MetricReading | None
    error: str = ""
    error_kind: ErrorKind = "none"
    failed_reason: str = ""


def resolve(readings: tuple[MetricReading, ...], current: int) -> Resolved:
    """The largest proposal; while any metric fails, the count is not lowered."""
    broken, best = failures(readings), largest(readings)
    if not broken:
        return Resolved(best, "" if best else "there is no metric")
    first = broken[0]
    text = f"invalid metrics ({len(broken)} invalid out of {len(readings)}), first error is: {first.error}"
    if best is not None and (best.proposal or 0) < current:
        best = None
    return Resolved(best, text, first.error_kind, first.failed_reason)


class Restrained(NamedTuple):
    replicas: int
    stabilised: Stabilised
    limited: Limited
    history: TimedValues


def restrain(hpa: HPA, recommendation: int, current: int, state: State, now: float, settings: Settings) -> Restrained:
    """Stabilise, then limit; the history keeps the raw recommendation."""
    low, high = _least(hpa), hpa.max_replicas or 0
    history = state.recommendations or EMPTY
    if hpa.behavior is None:
        window = settings.downscale_window
        settled = stabilise_downwards(recommendation, history, now, window)
        limited = limit_by_doubling(
            current, settled.replicas, low, high, settings.scale_up_factor, settings.scale_up_floor
        )
        return Restrained(limited.replicas, settled, limited, history.lasting(recommendation, now, now - window))
    up, down = hpa.scale_up or DEFAULT_UP, hpa.scale_down or DEFAULT_DOWN
    up_window = float(up.window or 0)
    down_window = settings.downscale_window if down.window is None else float(down.window)
    settled = stabilise(recommendation, current, history, now, up_window, down_window)
    past = RateHistory(state.ups, state.downs, state.unknown_move)
    limited = limit_by_pace(current, settled.replicas, low, high, up, down, past, now)
    kept = history.lasting(recommendation, now, now - max(up_window, down_window))
    return Restrained(limited.replicas, settled, limited, kept)


def report(hpa: HPA, move: Move, state: State, settings: Settings, _effect: Effect) -> MoveReport:
    """The report of a written move."""
    status = count_status(move, state) if move.decided else {}
    if not move.moves:
        return MoveReport(move.unwritten, (), status)
    conditions = succeeded(move, state, "SucceededRescale")
    if move.wanted is None:
        conditions = _zero_marked(hpa, move, conditions, state, settings)
    event = Event("Normal", "SuccessfulRescale", f"New size: {move.desired}; reason: {move.reason}")
    return MoveReport(conditions, (event,), status)


def _zero_marked(hpa: HPA, move: Move, conditions: Conditions, state: State, settings: Settings) -> Conditions:
    """Record whether this autoscaler scaled the target to zero: only then does it scale the target up again."""
    if settings.kubernetes < REMEMBERS_SCALED_TO_ZERO or not settings.gate("HPAScaleToZero"):
        return tuple([each for each in conditions if each.type != SCALED_TO_ZERO])
    to_zero = bool(move.current) and move.desired == 0 and _may_scale_to_zero(hpa.readable())
    reason, negation = (SCALED_TO_ZERO, "") if to_zero else ("NotScaledToZero", "not ")
    text = f"the autoscaler has {negation}scaled the target to zero"
    old = condition_of(state.conditions, SCALED_TO_ZERO)
    return placed(conditions, renewed(old, SCALED_TO_ZERO, to_zero, reason, text, move.at))


def _may_scale_to_zero(hpa: HPA) -> bool:
    return _least(hpa) == 0 and _has_outside_metric(hpa)


def _has_outside_metric(hpa: HPA) -> bool:
    return any(m.type in {"Object", "External"} for m in hpa.metrics or ())


def refused(_hpa: HPA, move: Move, state: State, message: str) -> Refusal:
    """The report of a move whose scale could not be written."""
    text = f"New size: {move.desired}; reason: {move.reason}; error: {message}"
    return Refusal("AbleToScale", "FailedUpdateScale", "FailedRescale", text, state.old_status())


def behavior_of(hpa: HPA, settings: Settings) -> Behavior | None:
    """The behavior with the cluster's defaults; None if the object has none: then the controller's flags apply."""
    return with_defaults(hpa, settings.kubernetes, settings.gates).behavior


def longest_window(hpa: HPA, settings: Settings) -> float:
    """How long past recommendations matter, in seconds."""
    full = with_defaults(hpa, settings.kubernetes, settings.gates)
    if full.behavior is None:
        return settings.downscale_window
    up, down = full.scale_up or ScalingRules(), full.scale_down or ScalingRules()
    return max(float(up.window or 0), settings.downscale_window if down.window is None else float(down.window))


def _least(hpa: HPA) -> int:
    return 1 if hpa.min_replicas is None else hpa.min_replicas


class _HpaPass(Findings):
    """One pass of the controller, in its order."""

    def __init__(self, hpa: HPA, seen: Seen, state: State, settings: Settings) -> None:
        super().__init__(hpa, seen, state)
        self.hpa, self.settings = hpa, settings
        self.low, self.high = _least(hpa), hpa.max_replicas or 0
        self.history = state.recommendations

    def run(self) -> tuple[Move, State]:
        ref, scale = self.hpa.target or Ref(), self.seen.scale
        if self.high < max(self.low, 1):
            return self._bad_bounds()
        if (ref.api_version or "").count("/") > 1:
            scale = Failure(f"unexpected GroupVersion string: {ref.api_version}", "spec")
        if isinstance(scale, Failure):
            self.no_scale(scale, "FailedGetScale")
            return self._undecided(None)
        self.scale_read()
        if self.state.recommendations is None:
            self.state = self.state.first_seen(scale.replicas, self.now)
            self.history = self.state.recommendations
        return self._jump(scale.replicas) or self._from_metrics(scale)

    def _bad_bounds(self) -> tuple[Move, State]:
        """No API server accepts such an object; scaling to its maximum would scale to zero."""
        message = f"maxReplicas is {self.high} and minReplicas {self.low}, so no count is allowed"
        self.step("observe", "bad-spec", None, None, sentence(message))
        self.failed(message, "spec")
        return self._undecided(None)

    def _jump(self, current: int) -> tuple[Move, State] | None:
        """A count outside the bounds changes at once, without metrics; at zero it depends on what scaled it there."""
        if current == 0:
            return None if self._wakes() else self._stay_off()
        bound = self.outside_bounds(current, self.low, self.high)
        if bound is None:
            return None
        return self._finish(current, bound, ABOVE_MAX if current > bound else BELOW_MIN)

    def _wakes(self) -> bool:
        """Whether a target at zero may scale up: since 1.36 only if the autoscaler itself scaled it to zero."""
        if self.settings.kubernetes < REMEMBERS_SCALED_TO_ZERO:
            return self.low == 0
        return self._marked() and (self.low != 0 or _has_outside_metric(self.hpa))

    def _marked(self) -> bool:
        mark = self.reported.get(SCALED_TO_ZERO)
        return self.settings.gate("HPAScaleToZero") and mark is not None and mark.status == "True"

    def _stay_off(self) -> tuple[Move, State]:
        self.switched_off("The target was set to zero replicas, not by this autoscaler")
        if not self.settings.gate("HPAScaleToZero"):
            self.reported.pop(SCALED_TO_ZERO, None)
        return self._finish(0, 0, "")

    def _from_metrics(self, scale: Scale) -> tuple[Move, State]:
        current = scale.replicas
        if not self._selector_is_good(scale):
            return self._undecided(current)
        self.read(recommend(self.hpa, self.seen, self.settings))
        resolved = resolve(self.readings, current)
        self.failed(resolved.error, resolved.error_kind)
        if resolved.best is None or resolved.best.proposal is None:
            return self._metrics_failed(current, resolved)
        text = f"a count was computed from {resolved.best.description}"
        self.condition("ScalingActive", "True", "ValidMetricFound", text)
        return self._restrained(current, resolved.best, resolved.best.proposal)

    def _metrics_failed(self, current: int, resolved: Resolved) -> tuple[Move, State]:
        first = failures(self.readings)
        message = f"the count could not be computed: {first[0].error}" if first else "there is no metric"
        self.condition("ScalingActive", "False", resolved.failed_reason or "InvalidMetricSourceType", message)
        self.warn("FailedComputeMetricsReplicas", resolved.error)
        lower = largest(self.readings)
        also = f"; the others propose {lower.proposal}, and missing data never scales down" if lower else ""
        text = sentence(f"{resolved.error}{also}: stay at {current}")
        self.step("resolve", "hold-on-failure", current, current, text)
        return self._undecided(current)

    def _restrained(self, current: int, best: MetricReading, recommendation: int) -> tuple[Move, State]:
        self.resolved(current, best)
        done = restrain(self.hpa, recommendation, current, self.state, self.now, self.settings)
        self.history = done.history
        self._report_stabilised(recommendation, current, done.stabilised)
        self.limited(done.stabilised.replicas, done.limited, self.low, self.high, {})
        desired, reason = done.replicas, ""
        if recommendation > current:
            reason = f"{best.description} above target"
        elif recommendation < current:
            reason = ALL_BELOW
        if current == 0 and self.low != 0 and self._marked() and desired < self.low:
            text = f"Scaled up from zero, at least to the minimum: {self.low}."
            self.step("restrain", "below-min", desired, self.low, text)
            desired, reason = self.low, reason or BELOW_MIN
        return self._finish(current, desired, reason)

    def _report_stabilised(self, recommendation: int, current: int, settled: Stabilised) -> None:
        if settled.replicas == recommendation:
            self.condition("AbleToScale", "True", "ReadyForNewScale", "the recommended size is not stabilised")
            return
        downwards = recommendation < current or self.hpa.behavior is None
        reason, extreme = ("ScaleDownStabilized", "highest") if downwards else ("ScaleUpStabilized", "lowest")
        self.condition("AbleToScale", "True", reason, f"the {extreme} of the recent recommendations counts")
        until = f" until {show_time(settled.from_then)}, if that lasts" if settled.from_then else ""
        text = (
            f"The window keeps {settled.replicas} instead of {recommendation}{until}: {settled.replicas} is the "
            f"{extreme} recommendation in the stabilisation window."
        )
        numbers = {"until": show_time(settled.from_then)} if settled.from_then else {}
        rule = "stabilise-down" if downwards else "stabilise-up"
        self.step("restrain", rule, recommendation, settled.replicas, text, numbers)
        since = self.state.since
        if since is not None and settled.from_then and since > self.now - settled.window:
            self._report_unknown(recommendation, current, settled.from_then)

    def _report_unknown(self, recommendation: int, current: int, from_then: float) -> None:
        word = "smaller" if recommendation < current else "larger"
        self.unknown.append(
            f"earlier recommendations are not known; as after a controller restart the current size counts as the "
            f"first, so nothing {word} than {current} takes effect before {show_time(from_then)}, in "
            f"{show_seconds(from_then - self.now)}"
        )

    def _selector_is_good(self, scale: Scale) -> bool:
        if not scale.selector:
            return self._bad_selector("InvalidSelector", "SelectorRequired", "selector is required")
        try:
            parse_selector(scale.selector)
        except SelectorError as error:
            return self._bad_selector("InvalidSelector", "InvalidSelector", f"the selector cannot be read: {error}")
        if self.seen.others:
            message = f"pods by selector {scale.selector} are also controlled by {', '.join(self.seen.others)}"
            return self._bad_selector("AmbiguousSelector", "AmbiguousSelector", message)
        return True

    def _bad_selector(self, reason: str, event: str, message: str) -> bool:
        self.condition("ScalingActive", "False", reason, message)
        self.warn(event, message)
        self.warn("FailedComputeMetricsReplicas", message)
        self.step("observe", "selector", None, None, sentence(message))
        self.failed(message, "internal")
        return False

    def _finish(self, current: int, desired: int, reason: str) -> tuple[Move, State]:
        periods = _event_periods(self.hpa.behavior)
        move = self.move(current, desired, self._status(current), reason=reason, event_periods=periods)
        return move, self.state.after_deciding(self.history)

    def _undecided(self, current: int | None) -> tuple[Move, State]:
        """Change nothing; the status keeps the old desired count, and without a scale it stays as it is."""
        move = self.stays(current, self.kept_status() if current is None else self._status(current))
        return move, self.state.after_deciding(self.history)

    def _status(self, current: int) -> dict[str, Any]:
        status: dict[str, Any] = {}
        if self.readings:
            status["currentMetrics"] = [reading.status for reading in self.readings]
        status["currentReplicas"] = current
        status |= self.state.old_status()
        generation = self.hpa.metadata.get("generation")
        if generation is not None and self.settings.gate("HPAGeneration"):
            status["observedGeneration"] = generation
        return status


def _event_periods(behavior: Behavior | None) -> tuple[float | None, float | None]:
    if behavior is None:
        return None, None
    return _event_period(behavior.scale_down), _event_period(behavior.scale_up)


def _event_period(pace: ScalingRules | None) -> float | None:
    return None if pace is None else float(longest_period(pace.limits or ()))
