"""From one metric of a WatermarkPodAutoscaler, or a recommender's reply, to a proposal; and which pods count."""

from collections.abc import Container as Having
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from hypot.core.dataclass import dataclass
from hypot.core.quantity import format_milli, milli
from hypot.core.replicas.ratio import MAX_INT32
from hypot.core.replicas.watermark import (
    NO_COUNT,
    STAY,
    TO_HIGH,
    TO_LOW,
    Side,
    converged,
    count_in_band,
    direction_kept,
    lower_edge,
    next_multiple,
    upper_edge,
)
from hypot.kinds.base import count_of
from hypot.kinds.selector import SelectorError, read_selector
from hypot.kinds.values.address import shown_address
from hypot.kinds.wpa import WPA
from hypot.kinds.wpa.fields import SKIP_OWNER_CHECK, BandMetric, ExternalBand, ResourceBand, marks_of
from hypot.policy.horizontal.proposal import CannotRead
from hypot.policy.horizontal.recommender import metric_name
from hypot.policy.model.decision import ErrorKind, MetricReading, Step
from hypot.policy.model.seen import Failure, Owner, Pod, Reply, Scale, Seen, metric_key
from hypot.policy.model.threshold import MarkedBand, WatermarkRule


def owned_by(owners: Iterable[Owner], target: str) -> bool:
    """Whether the target owns a pod; a ReplicaSet belongs to the Deployment named before its last dash."""
    for owner in owners:
        name = owner.name.rpartition("-")[0] if owner.kind == "ReplicaSet" else owner.name
        if name == target:
            return True
    return False


class Ready(NamedTuple):
    """How many pods count, and how many belong to another target or have ended."""

    ready: int
    foreign: int


def ready_pods(
    pods: Iterable[Pod], target: str, now: float, readiness_delay: float, *, skip_owner_check: bool
) -> Ready:
    """Count pods that are ready, and pending pods whose readiness changed recently."""
    ready = foreign = 0
    for pod in pods:
        if (not skip_owner_check and not owned_by(pod.owners, target)) or pod.phase in {"Failed", "Succeeded"}:
            foreign += 1
        elif pod.ready is not None and pod.started is not None and not pod.deleted:
            age = now - (pod.ready_since or 0.0)
            serves = pod.phase == "Running" and pod.ready == "True"
            ready += serves or (pod.phase == "Pending" and age < readiness_delay)
    return Ready(ready, foreign)


class Grouped(NamedTuple):
    ready: int
    ignored: frozenset[str]


def group_by_sample(
    pods: Iterable[Pod],
    target: str,
    sampled: Having[str],
    resource: str,
    readiness_delay: float,
    *,
    skip_owner_check: bool,
) -> Grouped:
    """Pods whose sample counts; cpu of a pod that is not ready, or turned ready within the delay, does not."""
    ready, ignored = 0, []
    for pod in pods:
        if not skip_owner_check and not owned_by(pod.owners, target):
            continue
        if pod.phase in {"Failed", "Pending"}:
            ignored.append(pod.name)
        elif pod.name not in sampled:
            continue
        elif resource == "cpu" and _cpu_too_fresh(pod, readiness_delay):
            ignored.append(pod.name)
        else:
            ready += 1
    return Grouped(ready, frozenset(ignored))


def _cpu_too_fresh(pod: Pod, readiness_delay: float) -> bool:
    if pod.ready is None or pod.started is None or pod.ready == "False":
        return True
    return (pod.ready_since or 0.0) < pod.started + readiness_delay


# The watermark that the count converges to inside the band.
TOWARDS = {"highwatermark": TO_HIGH, "lowwatermark": TO_LOW}


@dataclass(frozen=True, slots=True)
class WatermarkContext:
    """The inputs of every metric of one autoscaler."""

    wpa: WPA
    seen: Seen
    scale: Scale

    @property
    def delay(self) -> float:
        return float(self.wpa.readiness_delay or 0)

    @property
    def target(self) -> str:
        return (self.wpa.target.name if self.wpa.target else None) or ""


@dataclass(frozen=True, slots=True)
class Watermarks:
    """Both watermarks in milli; `single` if only one was written, which acts as a plain target."""

    high: int
    low: int
    single: bool = False


def read_band(metric: BandMetric, look: WatermarkContext) -> MetricReading:
    """Evaluate one metric; a failure becomes a reading too."""
    kind = metric.type or ""
    source = metric.source
    if source is None:
        return _failed(kind, f"FailedGet{kind}Metric", CannotRead(f"there is no {kind.lower()} block", "spec"), look)
    try:
        return _external(source, look) if isinstance(source, ExternalBand) else _resource(source, look)
    except (CannotRead, SelectorError) as error:
        return _failed(kind, f"FailedGet{kind}Metric", error, look)


def read_reply(look: WatermarkContext) -> MetricReading:
    """Evaluate the reply of a recommender."""
    try:
        return _reply(look)
    except CannotRead as error:
        return _failed("Recommender", "FailedGetResourceMetric", error, look)


def _failed(kind: str, reason: str, error: Exception, look: WatermarkContext) -> MetricReading:
    current = look.scale.replicas
    step = Step("recommend", "metric-failed", current, None, f"{kind} metric: {error}.", {})
    return MetricReading(kind, kind, None, step, error=str(error), error_kind=_blame(error), failed_reason=reason)


def _blame(error: Exception) -> ErrorKind:
    return error.kind if isinstance(error, CannotRead) else "internal"


def _marks(source: ExternalBand | ResourceBand) -> Watermarks:
    high, low = marks_of(source.high, source.low)
    if high is None or low is None:
        raise CannotRead("no watermark is set", "spec")
    if milli(high) <= 0:
        raise CannotRead("the high watermark is zero, nothing can be measured against it", "spec")
    return Watermarks(milli(high), milli(low), source.high is None or source.low is None)


def ready_count(look: WatermarkContext) -> int:
    """The ready pods of the target, at most as many as its scale reports; too few available pods are a failure."""
    if not look.seen.pods:
        raise CannotRead("no pods returned by selector while calculating replica count")
    skip = look.wpa.skips_owner_check
    ready, foreign = ready_pods(look.seen.pods, look.target, look.seen.now, look.delay, skip_owner_check=skip)
    total = len(look.seen.pods)
    if ready == 0:
        raise CannotRead(_not_owned("ready pod", look) or f"of {count_of(total, 'pod')}, none is ready")
    _check_available(ready, total - foreign, look)
    return min(ready, look.scale.status_replicas)


def _not_owned(what: str, look: WatermarkContext) -> str:
    """Why pods that match the selector do not count, and how to count them; empty if all belong to the target."""
    if look.wpa.skips_owner_check:
        return ""
    others = [pod.owners for pod in look.seen.pods if not owned_by(pod.owners, look.target)]
    if not others:
        return ""
    owners = [f"{owner.kind}/{owner.name}" for owner, *_ in filter(None, others)]
    without = len(others) - len(owners)
    causes = [f"{without} without an owner reference"] if without else []
    causes += [f"{len(owners)} of other owners such as {min(owners)}"] if owners else []
    return (
        f"no {what} belongs to {look.target}: the selector matches {count_of(len(look.seen.pods), 'pod')}, among "
        f"them {' and '.join(causes)}; to count pods whatever their owner, set the annotation {SKIP_OWNER_CHECK} to "
        '"true"'
    )


def _check_available(ready: int, total: int, look: WatermarkContext) -> None:
    least = look.wpa.min_available or 0
    if total <= 0:
        raise CannotRead("no pod counts, so the share of available pods is unknown")
    share = 100 * ready // total
    if share < least:
        raise CannotRead(f"only {share} % of the pods are available, at least {least} % must be")


def _external(source: ExternalBand, look: WatermarkContext) -> MetricReading:
    ready = ready_count(look)
    marks, name = _marks(source), source.name or ""
    values = look.seen.external_metrics.get(metric_key(name, source.selector))
    if isinstance(values, Failure):
        raise CannotRead(f"unable to get external metric {name}: {values.message}", values.kind)
    if not values:
        raise CannotRead(f"unable to get external metric {name}: no metrics returned from external metrics API")
    usage = sum(values)
    if ready == 0:
        raise CannotRead("the scale reports no replicas, so no pod counts")
    if usage == 0 and not look.wpa.tolerate_zero:
        return _untolerated_zero(name, source, ready, look)
    reading = _compare(source, "External", usage, ready, marks, look, look.scale.replicas)
    return reading if min(values) >= 0 else _negative(name, reading, look.scale.replicas)


def _untolerated_zero(name: str, source: ExternalBand, ready: int, look: WatermarkContext) -> MetricReading:
    current = look.scale.replicas
    sentence = f"{name} is zero, which is ignored without tolerateZero: stay at {current}."
    step = Step("recommend", "zero-not-tolerated", current, current, sentence, {"value": "0", "ready": ready})
    return MetricReading(
        "External", described(source), current, step, 0, _status(source, "External", 0, look), ready=ready
    )


def _negative(name: str, reading: MetricReading, current: int) -> MetricReading:
    """A need cannot be negative, so a sum with a negative value only scales up."""
    if reading.proposal is not None and reading.proposal > current:
        return reading
    reason = "it has a value below zero, which is not a valid measurement"
    sentence = f"{name} is at {reading.step.numbers['value']}, but {reason}: stay at {current}."
    step = Step("recommend", "negative-value", current, current, sentence, {**reading.step.numbers, "reason": reason})
    return reading._replace(proposal=current, step=step, band=None, side=Side.WITHIN, converging=False)


def _resource(source: ResourceBand, look: WatermarkContext) -> MetricReading:
    name = source.name or ""
    samples = look.seen.pod_metrics
    if isinstance(samples, Failure):
        raise CannotRead(f"unable to get metrics for resource {name}: {samples.message}", samples.kind)
    selector = read_selector(source.selector)
    labels = {pod.name: pod.labels for pod in look.seen.pods}
    usages: dict[str, int] = {}
    found = False
    for pod, sample in samples.items():
        if selector.matches(sample.labels or labels.get(pod, {})):
            found = True
            usage = sample.usage(name, "")
            if usage is not None:
                usages[pod] = usage
    if not found:
        raise CannotRead(f"unable to get metrics for resource {name}: no metrics returned from resource metrics API")
    if not look.seen.pods:
        raise CannotRead("no pods returned by selector while calculating replica count")
    skip = look.wpa.skips_owner_check
    ready, ignored = group_by_sample(look.seen.pods, look.target, usages, name, look.delay, skip_owner_check=skip)
    if ready == 0 and (why := _not_owned("pod with metrics", look)):
        raise CannotRead(why)
    _check_available(ready, len(look.seen.pods) - len(ignored), look)
    # As in the peer, the other samples stay in the sum, also those of pods that the target does not own.
    for pod in ignored:
        usages.pop(pod, None)
    if not usages or ready == 0:
        raise CannotRead("did not receive metrics for any ready pods")
    return _compare(source, "Resource", sum(usages.values()), ready, _marks(source), look, look.scale.replicas)


def _compare(
    source: ExternalBand | ResourceBand,
    kind: str,
    usage: int,
    ready: int,
    marks: Watermarks,
    look: WatermarkContext,
    current: int,
) -> MetricReading:
    """Compare with the watermarks widened by the tolerance; compute the count from the plain ones."""
    wpa = look.wpa
    averaged = wpa.algorithm == "average"
    pods, tolerance = ready if averaged else 1, milli(wpa.tolerance or 0)
    upper, lower = upper_edge(marks.high, tolerance), lower_edge(marks.low, tolerance)
    rule = WatermarkRule(
        ready,
        averaged,
        marks.high,
        marks.low,
        marks.single,
        tolerance,
        wpa.modulo or 1,
        TOWARDS.get(wpa.converge or "", STAY),
        wpa.min_replicas or 1,
        wpa.max_replicas or MAX_INT32,
        current,
    )
    side, count = count_in_band(usage, *rule)
    if count == NO_COUNT:
        raise CannotRead("the value is below a low watermark of zero, nothing can be measured against it")
    value = usage // pods
    converging = side is Side.WITHIN and count != current
    binary = kind == "Resource" and source.name == "memory"
    edges = [format_milli(edge, binary=binary) for edge in (lower, upper)]
    shown = format_milli(value, binary=binary)
    per = " per pod" if averaged else ""
    sentence = f"{source.name} is at {shown}{per} over {ready} ready, {_where(side, converging, edges)}: {count}."
    numbers = {"value": shown, "high": edges[1], "low": edges[0], "ready": ready, "side": side.name.lower()}
    return MetricReading(
        kind,
        described(source),
        count,
        Step("recommend", "watermarks", current, count, sentence, numbers),
        value,
        _status(source, kind, value, look),
        band=_band(f"{source.name}{per}", value, rule, binary=binary),
        ready=ready,
        side=side,
        converging=converging,
    )


def _band(metric: str, value: int, rule: WatermarkRule, *, binary: bool) -> MarkedBand:
    """Bytes are counted whole."""
    if binary and not rule.high % 1000 and not rule.low % 1000:
        return MarkedBand(metric, value // 1000, rule._replace(high=rule.high // 1000, low=rule.low // 1000), "bytes")
    return MarkedBand(metric, value, rule)


def _where(side: Side, converging: bool, edges: list[str]) -> str:
    if side is Side.ABOVE:
        return f"above the high watermark plus tolerance, {edges[1]}"
    if side is Side.BELOW:
        return f"below the low watermark minus tolerance, {edges[0]}"
    within = f"within {edges[0]} to {edges[1]}"
    return f"{within}, converging" if converging else within


def converge_between(wpa: WPA, current: int, fewest: int, most: int) -> int:
    """One step of the modulo towards the chosen watermark, while the count stays within what both allow."""
    return converged(TOWARDS.get(wpa.converge or "", STAY), current, wpa.modulo or 1, fewest, most)


def _reply(look: WatermarkContext) -> MetricReading:
    wpa, reply, current = look.wpa, look.seen.reply, look.scale.replicas
    url = wpa.recommender.url if wpa.recommender else ""
    ready = ready_count(look)
    if reply is None or isinstance(reply, Failure):
        why = reply.message if reply else "its answer is unknown"
        raise CannotRead(f"failed to get the recommendation from {shown_address(url or '')}: {why}")
    side = Side.ABOVE if current < reply.low else Side.BELOW if current > reply.high else Side.WITHIN
    name = metric_name(wpa.recommender) if wpa.recommender else "recommender"
    if reply.replicas == 0 and not wpa.tolerate_zero:
        side, count = Side.WITHIN, current
        sentence = f"The recommender asks for zero, which is ignored without tolerateZero: stay at {current}."
    elif reply.replicas == current:
        side, count = Side.WITHIN, converge_between(wpa, current, reply.low, reply.high)
        sentence = f"The recommender agrees with {current}: {count}."
    else:
        towards = Side.ABOVE if reply.replicas > current else Side.BELOW
        count = direction_kept(towards, next_multiple(reply.replicas, wpa.modulo or 1), current)
        sentence = f"The recommender asks for {reply.replicas} ({_bounds(reply)}): {count}."
    status = {"type": "Recommender", "recommender": {"name": name, "observed": reply.observed}}
    numbers = {"asked": reply.replicas, "low": reply.low, "high": reply.high, "ready": ready, "reason": reply.reason}
    step = Step("recommend", "recommender", current, count, sentence, numbers)
    converging = side is Side.WITHIN and reply.replicas == current and count != current
    observed = round(reply.observed * 1000)
    return MetricReading(
        "Recommender", name, count, step, observed, status, ready=ready, side=side, converging=converging
    )


def _bounds(reply: Reply) -> str:
    reported = f"between {reply.low} and {reply.high}"
    return f"{reported}, because {reply.reason}" if reply.reason else reported


def described(source: ExternalBand | ResourceBand) -> str:
    """The name of a metric in events and gauges."""
    labels = (source.selector or {}).get("matchLabels") or {}
    pairs = " ".join(f"{key}:{value}" for key, value in sorted(labels.items()))
    return f"{source.name}{{map[{pairs}]}}"


def _status(source: ExternalBand | ResourceBand, kind: str, value: int, look: WatermarkContext) -> Mapping[str, Any]:
    """The metric's entry in the status, in the established format of this kind."""
    averaged = look.wpa.algorithm == "average"
    if kind == "Resource":
        amount = format_milli(value, binary=source.name == "memory")
        return {"type": kind, "resource": {"name": source.name, "currentAverageValue": amount}}
    out = {"metricName": source.name, "metricSelector": source.selector, "currentValue": format_milli(value)}
    if averaged:
        out["currentAverageValue"] = format_milli(value)
    return {"type": kind, "external": out}
