"""The rules for Autoscalers. What a schema or CEL can express is also in the generated CRD: all but annotations."""

from collections.abc import Iterator

from hypot.core.instant import LONGEST_SPAN, span
from hypot.core.regex import regex
from hypot.kinds.autoscaler.fields import (
    AUTOSCALER_MODES,
    AXES,
    LATE_AFTER_PATTERN,
    LATE_AFTER_RANGE,
    LATE_PRICE_RANGE,
    MAX_REPLICAS,
    REPLICAS,
    SIZE,
    AutoscalerSpec,
)
from hypot.kinds.base import Ref, target_problems
from hypot.kinds.meta import MetricName
from hypot.kinds.problem import Problem, Where, below, did_you_mean, in_order, unsupported
from hypot.kinds.values.names import path_segment
from hypot.kinds.vpa.knobs import knob_problems
from hypot.kinds.vpa.rules import resource_policy_problems
from hypot.kinds.wpa.rules import selector_problems

RESOURCE_POLICY: Where = ("spec", "resourcePolicy")
LATE: Where = ("spec", "objective", "late")
METRICS: Where = ("spec", "metrics")
_LATE_AFTER = regex(LATE_AFTER_PATTERN)


def spec_problems(autoscaler: AutoscalerSpec) -> Iterator[Problem]:
    """The problems of a spec as it is, without applying defaults."""
    yield from target_problems(autoscaler.target or Ref(), ("spec", "targetRef"))
    yield from _word_problems("update-mode", autoscaler.update_mode, AUTOSCALER_MODES, ("spec", "updateMode"))
    yield from _word_problems("axes", autoscaler.written_axes, AXES, ("spec", "axes"))
    yield from _count_problems(autoscaler)
    if autoscaler.resource_policy is not None:
        yield from resource_policy_problems(autoscaler.resource_policy, RESOURCE_POLICY)
    yield from _other_axis_problems(autoscaler)
    yield from _late_problems(autoscaler)
    yield from _metric_problems(autoscaler)
    yield from knob_problems(autoscaler.annotations, ("metadata", "annotations"))


def _word_problems(rule: str, word: str | None, known: tuple[str, ...], where: Where) -> Iterator[Problem]:
    if word is not None and word not in known:
        yield Problem(rule, "NotSupported", where, unsupported(known), word, did_you_mean(word, known))


def _count_problems(autoscaler: AutoscalerSpec) -> Iterator[Problem]:
    low, high = autoscaler.written_min, autoscaler.written_max
    yield from below("min-replicas", low, 1, ("spec", "minReplicas"))
    yield from below("max-replicas", high, 1, ("spec", "maxReplicas"))
    if low is None or low <= (MAX_REPLICAS if high is None else max(high, 0)):
        return
    if high is None:
        message = f"must be set if minReplicas is above its default of {MAX_REPLICAS}"
        yield Problem("min-over-max", "Required", ("spec", "maxReplicas"), message, hint=in_order(low, high))
    elif high >= 1:
        message = "must be greater than or equal to minReplicas"
        yield Problem("min-over-max", "Invalid", ("spec", "maxReplicas"), message, high, in_order(low, high))


def _other_axis_problems(autoscaler: AutoscalerSpec) -> Iterator[Problem]:
    """Bounds of an axis that it does not set."""
    if autoscaler.axes == REPLICAS and autoscaler.resource_policy is not None:
        hint = f"leave it out, or write axes: {SIZE} or Both"
        yield _other_axis(RESOURCE_POLICY, REPLICAS, "so no container is sized", hint)
    for key, count in (("minReplicas", autoscaler.written_min), ("maxReplicas", autoscaler.written_max)):
        if autoscaler.axes == SIZE and count is not None:
            hint = f"leave it out, or write axes: {REPLICAS} or Both"
            yield _other_axis(("spec", key), SIZE, "so the number of replicas stays", hint)


def _other_axis(where: Where, axes: str, so: str, hint: str) -> Problem:
    message = f"is ignored: axes is {axes}, {so}"
    return Problem("other-axis", "Notice", where, message, hint=hint, severity="warning")


def _late_problems(autoscaler: AutoscalerSpec) -> Iterator[Problem]:
    after, price = autoscaler.late.after, autoscaler.late.price
    if after is not None and not _is_late_after(after):
        message = "must be a duration of at least 1ms and at most 1h"
        yield Problem("late-after", "Invalid", (*LATE, "after"), message, after, "write 250ms, 1s or 1m30s")
    least, most = LATE_PRICE_RANGE
    if price is not None and not least <= price <= most:
        message = f"must be between {least} and {most}"
        yield Problem("late-price", "Invalid", (*LATE, "price"), message, price, "10 is ten times its core-time")


def _is_late_after(text: str) -> bool:
    least, most = LATE_AFTER_RANGE
    readable = len(text) <= LONGEST_SPAN and _LATE_AFTER.fullmatch(text) is not None
    return readable and least <= round(span(text), 9) <= most


def _metric_problems(autoscaler: AutoscalerSpec) -> Iterator[Problem]:
    metrics = autoscaler.metrics
    if metrics is None:
        return
    for key, metric in (("requests", metrics.requests), ("late", metrics.late)):
        if metric is not None:
            yield from _identifier_problems(metric, (*METRICS, key))
    if metrics.late is None:
        return
    if metrics.requests is None:
        message = "must be set if late is: the share of late requests is needed"
        yield Problem("late-metric", "Required", (*METRICS, "requests"), message)
    elif metrics.requests == metrics.late:
        message = "is the metric of all requests, so every request would be late"
        hint = "name the metric of late requests, or leave it out"
        yield Problem("late-metric", "Invalid", (*METRICS, "late"), message, metrics.late.name, hint, "warning")


def _identifier_problems(metric: MetricName, where: Where) -> Iterator[Problem]:
    if not metric.name:
        yield Problem("metric-name", "Required", (*where, "name"), "must specify a metric name")
    for message in path_segment(metric.name or ""):
        yield Problem("metric-name", "Invalid", (*where, "name"), message, metric.name)
    if metric.selector is not None:
        yield from selector_problems(metric.selector, (*where, "selector"))
