"""From one metric of a HorizontalPodAutoscaler to a proposal, or to the reason why there is none."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import isfinite
from typing import Any

from hypot.core.quantity import format_milli, milli
from hypot.core.ratio import (
    MAX_INT64,
    assumed_usage,
    ceil_int32,
    count_after_refill,
    count_for,
    first_above,
    first_below,
    per_pod_share,
    trunc_div,
    utilization,
    within,
)
from hypot.kinds.base import Ref
from hypot.kinds.hpa_parts import Metric, MetricName, Target
from hypot.kinds.selector import SelectorError, read_selector
from hypot.kinds.version import SATURATES_TOTALS
from hypot.policy.decision import ErrorKind, Reading, Step, Threshold
from hypot.policy.pods import Groups, group, ready_and_running
from hypot.policy.seen import Failure, Pod, Scale, Seen, Value, metric_key
from hypot.policy.settings import Settings


class CannotRead(Exception):  # noqa: N818  a turn of the decision, not a mistake
    """A metric that gives no proposal; carried to the one place that turns it into a reading."""

    def __init__(self, message: str, kind: ErrorKind = "internal") -> None:
        super().__init__(message)
        self.kind: ErrorKind = kind


@dataclass(frozen=True, slots=True)
class Look:
    """What every metric of one autoscaler looks at."""

    seen: Seen
    scale: Scale
    settings: Settings
    down: float
    up: float


@dataclass(frozen=True, slots=True)
class Proposal:
    """A metric's count, its value as status shows it, and how it came about."""

    replicas: int
    value: int
    description: str
    current: Mapping[str, Any]
    rule: str
    sentence: str
    numbers: Mapping[str, Any]
    thresholds: tuple[Threshold, ...] = ()


def read_metric(metric: Metric, look: Look) -> Reading:
    """Evaluate one metric; what fails becomes a reading too."""
    kind = metric.type or ""
    try:
        proposal = _evaluate(metric, kind, look)
    except (CannotRead, SelectorError) as error:
        reason = f"FailedGet{kind}Metric" if kind in _EVALUATORS else "InvalidMetricSourceType"
        error_kind: ErrorKind = "spec" if isinstance(error, CannotRead) and error.kind == "spec" else "internal"
        step = Step("recommend", "metric-failed", look.scale.replicas, None, f"{kind} metric: {error}.", {})
        return Reading(
            kind, kind, None, step, status={"type": ""}, error=str(error), error_kind=error_kind, failed_reason=reason
        )
    step = Step("recommend", proposal.rule, look.scale.replicas, proposal.replicas, proposal.sentence, proposal.numbers)
    key = _KEYS[kind]
    status = {"type": kind, key: {**_identity_of(metric, key), "current": proposal.current}}
    return Reading(
        kind,
        proposal.description,
        proposal.replicas,
        step,
        proposal.value,
        status,
        thresholds=proposal.thresholds,
    )


def _evaluate(metric: Metric, kind: str, look: Look) -> Proposal:
    evaluate = _EVALUATORS.get(kind)
    if evaluate is None:
        raise CannotRead(f'unknown metric source type "{kind}"', "spec")
    return evaluate(metric, look)


def _resource(metric: Metric, look: Look) -> Proposal:
    source = metric.resource
    if source is None:
        raise CannotRead("the metric has no resource source")
    return _pod_resource(source.name or "", "", source.target or Target(), "resource", look)


def _container_resource(metric: Metric, look: Look) -> Proposal:
    source = metric.container_resource
    if source is None:
        raise CannotRead("the metric has no containerResource source")
    target = source.target or Target()
    return _pod_resource(source.name or "", source.container or "", target, "container resource", look)


def _pod_resource(name: str, container: str, target: Target, words: str, look: Look) -> Proposal:
    if target.average is not None:
        usages, samples = _usages(name, container, look, f"failed to get {name} usage")
        return _average(usages, samples, name, milli(target.average), f"{name} resource", look, name)
    if target.utilization is None:
        raise CannotRead(
            "invalid resource metric source: neither an average utilization target nor an average value (usage) "
            "target was set"
        )
    description = f"{name} {words} utilization (percentage of request)"
    return _utilization(name, container, target.utilization, description, look)


def _usages(name: str, container: str, look: Look, attempt: str) -> tuple[dict[str, int], Mapping[str, Any]]:
    samples = look.seen.pod_metrics
    if isinstance(samples, Failure):
        raise CannotRead(f"{attempt}: unable to get metrics for resource {name}: {samples.message}", samples.kind)
    if not samples:
        raise CannotRead(
            f"{attempt}: unable to get metrics for resource {name}: no metrics returned from resource metrics API"
        )
    usages = {pod: usage for pod, sample in samples.items() if (usage := sample.usage(name, container)) is not None}
    return usages, samples


def _grouped(usages: dict[str, int], samples: Mapping[str, Any], resource: str, look: Look, attempt: str) -> Groups:
    """Group the pods and drop the samples that do not count."""
    pods = look.seen.pods
    if not pods:
        raise CannotRead(f"{attempt}no pods returned by selector while calculating replica count")
    groups = group(pods, usages, samples, resource, look.seen.now, look.settings)
    for name in groups.ignored:
        usages.pop(name, None)
    for name in groups.unready:
        usages.pop(name, None)
    if not usages:
        raise CannotRead(f"{attempt}did not receive metrics for targeted pods (pods might be unready)")
    return groups


def _utilization(name: str, container: str, target: int, description: str, look: Look) -> Proposal:
    attempt = f"failed to get {name} utilization: "
    usages, samples = _usages(name, container, look, attempt[:-2])
    groups = _grouped(usages, samples, name, look, attempt)
    requests = _requests(look, name, container, attempt)
    used = asked = matched = 0
    for pod, usage in usages.items():
        if pod in requests:
            used += usage
            asked += requests[pod]
            matched += 1
    if asked == 0:
        raise CannotRead(f"{attempt}no metrics returned matched known pods")
    percent, average = utilization(used, asked), trunc_div(used, matched)

    def ratio_with(filled: Mapping[str, int]) -> float:
        asked_too = sum(requests[pod] for pod in filled)
        return utilization(used + sum(filled.values()), asked + asked_too) / target

    ratio = percent / target
    assumed = {pod: assumed_usage(requests[pod], target) for pod in groups.missing}
    replicas, refill = _count(ratio, groups, assumed, len(usages), ratio_with, look)
    current = {"averageUtilization": percent, "averageValue": format_milli(average, binary=name == "memory")}
    subject = f"{name} of container {container}" if container else name
    sentence = f"{subject} is at {percent} % of its requests (target {target} %)"
    return Proposal(
        replicas,
        average,
        description,
        current,
        "utilization",
        _told(sentence, ratio, refill, replicas, groups, look),
        {"utilization": percent, "target": target, "ratio": ratio, **_group_numbers(groups, refill)},
        _band(subject, target, look, _percent),
    )


def _count(
    ratio: float,
    groups: Groups,
    assumed: Mapping[str, int],
    samples: int,
    ratio_with: Callable[[Mapping[str, int]], float],
    look: Look,
) -> tuple[int, float | None]:
    """A count from the first ratio where every pod has spoken, else from a second one with the silent filled in."""
    current = look.scale.replicas
    rising = ratio > 1.0 and bool(groups.unready)
    if not rising and not groups.missing:
        return (current if within(ratio, look.down, look.up) else count_for(ratio, groups.ready)), None
    filled = _fill(groups, ratio, rising, assumed)
    refill = ratio_with(filled)
    return count_after_refill(ratio, refill, samples + len(filled), current, look.down, look.up), refill


def _requests(look: Look, name: str, container: str, attempt: str) -> dict[str, int]:
    """Every pod's request: one that lacks it fails the metric, even a pod that would not count."""
    pod_level = look.settings.gate("PodLevelResources")
    requests: dict[str, int] = {}
    for pod in look.seen.pods:
        request = pod.request(name, container, pod_level=pod_level)
        if isinstance(request, Failure):
            if look.settings.kubernetes < SATURATES_TOTALS and container and "not found" in request.message:
                request = 0
            else:
                raise CannotRead(f"{attempt}{request.message}")
        requests[pod.name] = request
    return requests


def _fill(groups: Groups, ratio: float, rising: bool, assumed: Mapping[str, int]) -> dict[str, int]:
    """What pods without a usable sample are taken to use, so that they never speak for the move at hand."""
    filled: dict[str, int] = {}
    if ratio < 1.0:
        filled.update(assumed)
    elif ratio > 1.0:
        filled.update(dict.fromkeys(groups.missing, 0))
    if rising:
        filled.update(dict.fromkeys(groups.unready, 0))
    return filled


def _pods(metric: Metric, look: Look) -> Proposal:
    source = metric.pods
    if source is None or source.target is None or source.target.average is None:
        raise CannotRead("invalid pods metric source: no average value target was set")
    name, selector = _identity(source.metric)
    read_selector(selector)
    values = look.seen.pods_metrics.get(metric_key(name, selector))
    if isinstance(values, Failure):
        raise CannotRead(f"unable to get metric {name}: {values.message}", values.kind)
    if not values:
        raise CannotRead(f"unable to get metric {name}: no metrics returned from custom metrics API")
    usages = {pod: value.milli for pod, value in values.items()}
    return _average(usages, values, "", milli(source.target.average), f"pods metric {name}", look, name)


def _average(
    usages: dict[str, int],
    samples: Mapping[str, Any],
    resource: str,
    target: int,
    description: str,
    look: Look,
    subject: str,
) -> Proposal:
    attempt = f"failed to get {resource} usage: " if resource else ""
    groups = _grouped(usages, samples, resource, look, attempt)
    total, count = sum(usages.values()), len(usages)
    average = trunc_div(total, count)

    def ratio_with(filled: Mapping[str, int]) -> float:
        return trunc_div(total + sum(filled.values()), count + len(filled)) / target

    ratio = average / target
    assumed = dict.fromkeys(groups.missing, target)
    replicas, refill = _count(ratio, groups, assumed, count, ratio_with, look)
    binary = resource == "memory"
    shown, wanted = format_milli(average, binary=binary), format_milli(target, binary=binary)
    sentence = f"{subject} is at {shown} per pod (target {wanted})"
    return Proposal(
        replicas,
        average,
        description,
        {"averageValue": shown},
        "average-value",
        _told(sentence, ratio, refill, replicas, groups, look),
        {"average": shown, "target": wanted, "ratio": ratio, **_group_numbers(groups, refill)},
        _band(subject, target, look, lambda amount: format_milli(amount, binary=binary), 1000 if binary else 1),
    )


def _object(metric: Metric, look: Look) -> Proposal:
    source = metric.object
    if source is None:
        raise CannotRead("the metric has no object source")
    name, selector = _identity(source.metric)
    read_selector(selector)
    ref, target = source.described or Ref(), source.target or Target()
    by_value = target.type == "Value" and target.value is not None
    if not by_value and not (target.type == "AverageValue" and target.average is not None):
        raise CannotRead(
            "invalid object metric source: neither a value target nor an average value target was set", "internal"
        )
    found = look.seen.object_metrics.get(metric_key(name, selector, str(ref)))
    if found is None or isinstance(found, Failure):
        why = found.message if found else "no metrics returned from custom metrics API"
        raise CannotRead(f"unable to get metric {name} on {ref}: {why}", found.kind if found else "internal")
    if by_value:
        words, shown = f"{ref.kind} metric {name}", f"{name} of {ref}"
        return _total(found, milli(target.value or 0), words, shown, look)
    words, shown = f"external metric {name}({_shown_selector(selector)})", f"{name} of {ref}"
    return _per_pod(found, milli(target.average or 0), words, shown, look)


def _external(metric: Metric, look: Look) -> Proposal:
    source = metric.external
    if source is None:
        raise CannotRead("the metric has no external source")
    name, selector = _identity(source.metric)
    target = source.target or Target()
    if target.average is None and target.value is None:
        raise CannotRead("invalid external metric source: neither a value target nor an average value target was set")
    read_selector(selector)
    values = look.seen.external_metrics.get(metric_key(name, selector))
    if isinstance(values, Failure):
        raise CannotRead(f"unable to get external metric {name}: {values.message}", values.kind)
    if not values:
        raise CannotRead(f"unable to get external metric {name}: no metrics returned from external metrics API")
    description = f"external metric {name}({_shown_selector(selector)})"
    if target.average is not None:
        return _per_pod(_sum_of_shares(values), milli(target.average), description, name, look)
    return _total(min(sum(values), MAX_INT64), milli(target.value or 0), description, name, look)


def _sum_of_shares(values: tuple[int, ...]) -> int:
    """A running sum below zero is taken for an overflow."""
    total = 0
    for value in values:
        total += value
        if total < 0 or total > MAX_INT64:
            return MAX_INT64
    return total


def _total(amount: int, target: int, description: str, subject: str, look: Look) -> Proposal:
    """A value for all pods together: it is weighed by the pods that serve; from zero nothing is weighed."""
    ratio = amount / target
    ready = 0
    if look.scale.replicas == 0:
        replicas = ceil_int32(ratio)
    elif within(ratio, look.down, look.up):
        replicas = look.scale.replicas
    else:
        if not look.seen.pods:
            raise CannotRead(
                "unable to calculate ready pods: no pods returned by selector while calculating replica count"
            )
        ready = ready_and_running(look.seen.pods)
        replicas = count_for(ratio, ready)
    shown, wanted = format_milli(amount), format_milli(target)
    outcome = _outcome(ratio, replicas, look)
    return Proposal(
        replicas,
        amount,
        description,
        {"value": shown},
        "total-value",
        f"{subject} is at {shown} in total (target {wanted}, ratio {ratio:.3f}): {outcome}.",
        {"value": shown, "target": wanted, "ratio": ratio, "ready": ready},
        _band(subject, target, look, format_milli),
    )


def _per_pod(amount: int, target: int, description: str, subject: str, look: Look) -> Proposal:
    """A value to be shared among pods: readiness plays no part."""
    pods = look.scale.status_replicas
    ratio = amount / (target * pods) if pods else float("inf") if amount > 0 else float("nan")
    replicas = pods if within(ratio, look.down, look.up) else ceil_int32(amount / target)
    share = MAX_INT64 if amount >= MAX_INT64 else per_pod_share(amount, pods)
    total, shown, wanted = format_milli(amount), format_milli(share), format_milli(target)
    told = f"at {shown} per pod over {pods} pods (target {wanted}, ratio {ratio:.3f})"
    if pods == 0:
        told = f"at {total} with no pods to share it (target {wanted} per pod)"
    return Proposal(
        replicas,
        share,
        description,
        {"averageValue": shown},
        "value-per-pod",
        f"{subject} is {told}: {_outcome(ratio, replicas, look)}.",
        {"total": total, "average": shown, "target": wanted, "ratio": _finite(ratio), "pods": pods},
        _band(subject, target, look, format_milli),
    )


def _identity(metric: MetricName | None) -> tuple[str, Mapping[str, Any] | None]:
    return (metric.name or "", metric.selector) if metric else ("", None)


def _shown_selector(selector: Mapping[str, Any] | None) -> str:
    """How Kubernetes prints a selector inside its texts."""
    if selector is None:
        return "nil"
    labels = selector.get("matchLabels") or {}
    pairs = " ".join(f"{k}: {v}," for k, v in sorted(labels.items()))
    return (
        f"&LabelSelector{{MatchLabels:map[string]string{{{pairs}}},MatchExpressions:[]LabelSelectorRequirement{{}},}}"
    )


def _outcome(ratio: float, replicas: int, look: Look) -> str:
    if within(ratio, look.down, look.up):
        return f"within tolerance, stay at {replicas}"
    return f"proposes {replicas}"


def _told(sentence: str, ratio: float, refill: float | None, replicas: int, groups: Groups, look: Look) -> str:
    parts = [f"{sentence}, ratio {ratio:.3f} over {groups.ready} ready"]
    if groups.unready:
        parts.append(f"{len(groups.unready)} unready")
    if groups.missing:
        parts.append(f"{len(groups.missing)} without a sample")
    if groups.ignored:
        parts.append(f"{len(groups.ignored)} ignored")
    told = ", ".join(parts)
    if refill is None:
        return f"{told}: {_outcome(ratio, replicas, look)}."
    filled = f"{told}; with those filled in the ratio is {refill:.3f}"
    if within(refill, look.down, look.up):
        return f"{filled}: within tolerance, stay at {replicas}."
    if replicas == look.scale.replicas:
        return f"{filled}, which would not move the same way: stay at {replicas}."
    return f"{filled}: proposes {replicas}."


def _group_numbers(groups: Groups, refill: float | None) -> dict[str, Any]:
    numbers: dict[str, Any] = {"ready": groups.ready}
    if groups.unready:
        numbers["unready"] = sorted(groups.unready)
    if groups.missing:
        numbers["missing"] = sorted(groups.missing)
    if groups.ignored:
        numbers["ignored"] = sorted(groups.ignored)
    if refill is not None:
        numbers["ratioFilledIn"] = refill
    return numbers


def _finite(ratio: float) -> float | None:
    """A ratio to nothing is no number."""
    return ratio if isfinite(ratio) else None


def _percent(amount: int) -> str:
    return f"{amount} %"


def _band(subject: str, target: int, look: Look, show: Callable[[int], str], grain: int = 1) -> tuple[Threshold, ...]:
    """The two amounts between which this metric leaves things alone; bytes are counted whole."""
    whole = grain if target % grain == 0 else 1
    above, below = _edges(target // whole, look.down, look.up)
    found = [Threshold(subject, "up", show((above - 1) * whole), show(above * whole))]
    if below >= 0:
        found.append(Threshold(subject, "down", show((below + 1) * whole), show(below * whole)))
    return tuple(found)


@lru_cache(4096)
def _edges(target: int, down: float, up: float) -> tuple[int, int]:
    return first_above(target, up), first_below(target, down)


def _identity_of(metric: Metric, key: str) -> dict[str, Any]:
    """Which metric, as status repeats it: everything of the source but its target."""
    if key == "resource" and metric.resource is not None:
        return {"name": metric.resource.name}
    source = metric.write()[key]
    return {name: value for name, value in source.items() if name != "target"}


_EVALUATORS = {
    "Resource": _resource,
    "ContainerResource": _container_resource,
    "Pods": _pods,
    "Object": _object,
    "External": _external,
}
_KEYS = {kind: kind[0].lower() + kind[1:] for kind in _EVALUATORS}

__all__ = ["Look", "Pod", "Value", "read_metric"]
