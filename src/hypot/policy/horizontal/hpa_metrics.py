"""From one metric of a HorizontalPodAutoscaler to a reading: a proposal, or the reason why there is none.

Utilization and averages are computed over the pods that count; metrics of another object or from outside the cluster
are single values.
"""

from collections.abc import Container as Having
from collections.abc import Iterable, Mapping
from math import isnan
from typing import Any, NamedTuple, Protocol

from hypot.core.quantity import format_milli, milli
from hypot.core.replicas.ratio import (
    MAX_INT64,
    assumed_usage,
    count_by_average,
    count_by_share,
    count_by_utilization,
    count_by_value,
    per_pod_share,
    share_ratio,
    total_by_utilization,
    trunc_div,
    utilization,
    within,
)
from hypot.core.replicas.readiness import cpu_unready
from hypot.kinds.base import Ref, count_of
from hypot.kinds.hpa.fields import Metric, Target
from hypot.kinds.selector import SelectorError, read_selector
from hypot.kinds.values.version import KNOWS_CONTAINERS
from hypot.policy.horizontal.proposal import CannotRead, MetricContext, Proposal, finite, identity, outcome, slope
from hypot.policy.model.current_size import ended_lately
from hypot.policy.model.decision import ErrorKind, MetricReading, Step
from hypot.policy.model.seen import Failure, Pod, metric_key
from hypot.policy.model.settings import Settings


class Sampled(Protocol):
    """The time and the window of a sample."""

    @property
    def at(self) -> float: ...
    @property
    def window(self) -> float: ...


class Groups(NamedTuple):
    """Each pod is in one group: counted, not ready yet, without a sample, or ignored because it failed or ends."""

    ready: int
    unready: frozenset[str]
    missing: frozenset[str]
    ignored: frozenset[str]


def group(
    pods: Iterable[Pod],
    sampled: Having[str],
    samples: Mapping[str, Sampled],
    resource: str,
    now: float,
    settings: Settings,
) -> Groups:
    """Group pods by whether their sample counts; readiness matters only for cpu."""
    ready, is_cpu = 0, resource == "cpu"
    unready: list[str] = []
    missing: list[str] = []
    ignored: list[str] = []
    cpu_period, delay = settings.cpu_initialization_period, settings.initial_readiness_delay
    for pod in pods:
        name = pod.name
        if pod.deleted or pod.phase == "Failed":
            ignored.append(name)
        elif pod.phase == "Pending":
            unready.append(name)
        elif name not in sampled:
            missing.append(name)
        elif not is_cpu:
            ready += 1
        elif pod.ready is None or pod.started is None:
            unready.append(name)
        else:
            sample, since = samples[name], pod.ready_since or 0.0
            is_false = pod.ready == "False"
            if cpu_unready(is_false, since, pod.started, sample.at, sample.window, now, cpu_period, delay):
                unready.append(name)
            else:
                ready += 1
    return Groups(ready, _names(unready), _names(missing), _names(ignored))


_NONE: frozenset[str] = frozenset()


def _names(names: list[str]) -> frozenset[str]:
    return frozenset(names) if names else _NONE


def ready_and_running(pods: Iterable[Pod]) -> int:
    """How many pods run and are ready; a pod that is being deleted still counts."""
    return sum(1 for pod in pods if pod.phase == "Running" and pod.ready == "True")


def resource(metric: Metric, look: MetricContext) -> Proposal:
    source = metric.resource
    if source is None:
        raise CannotRead("the metric has no resource source")
    return _pod_resource(source.name or "", "", source.target or Target(), "resource", look)


def container_resource(metric: Metric, look: MetricContext) -> Proposal:
    source = metric.container_resource
    if source is None:
        raise CannotRead("the metric has no containerResource source")
    target = source.target or Target()
    return _pod_resource(source.name or "", source.container or "", target, "container resource", look)


def _pod_resource(name: str, container: str, target: Target, message: str, look: MetricContext) -> Proposal:
    if target.average is not None:
        usages, samples = _usages(name, container, look, f"failed to get {name} usage")
        return _average(usages, samples, name, milli(target.average), f"{name} resource", look, name)
    if target.utilization is None:
        raise CannotRead(
            "invalid resource metric source: neither an average utilization target nor an average value (usage) "
            "target was set"
        )
    description = f"{name} {message} utilization (percentage of request)"
    return _utilization(name, container, target.utilization, description, look)


def _usages(name: str, container: str, look: MetricContext, attempt: str) -> tuple[dict[str, int], Mapping[str, Any]]:
    samples = look.seen.pod_metrics
    if isinstance(samples, Failure):
        raise CannotRead(f"{attempt}: unable to get metrics for resource {name}: {samples.message}", samples.kind)
    if not samples:
        raise CannotRead(
            f"{attempt}: unable to get metrics for resource {name}: no metrics returned from resource metrics API"
        )
    usages = {pod: usage for pod, sample in samples.items() if (usage := sample.usage(name, container)) is not None}
    return usages, samples


def _grouped(
    usages: dict[str, int], samples: Mapping[str, Any], resource: str, look: MetricContext, attempt: str
) -> Groups:
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


class RequestUse(NamedTuple):
    """Usage and requests of the pods that count, summed, and the requests of the pods without a usable sample."""

    used: int
    asked: int
    samples: int
    # The pods whose request is known.
    matched: int
    groups: Groups
    unready_asked: int
    missing_asked: int
    # What pods without a sample are assumed to use in a scale-down, and what pods that crashed are assumed to use in
    # addition to what they do.
    missing_assumed: int
    crashed_assumed: int


def request_use(name: str, container: str, target: int, look: MetricContext) -> RequestUse:
    """What pods, or one container of them, use of their requests."""
    _check_target(target, f"{target} %")
    attempt = f"failed to get {name} utilization: "
    usages, samples = _usages(name, container, look, attempt[:-2])
    groups = _grouped(usages, samples, name, look, attempt)
    requests = _requests(look, name, container, attempt)
    used = asked = matched = 0
    for pod, usage in usages.items():
        request = requests.get(pod)
        if request is not None:
            used += usage
            asked += request
            matched += 1
    if asked == 0:
        raise CannotRead(f"{attempt}no metrics returned matched known pods")
    return RequestUse(
        used,
        asked,
        len(usages),
        matched,
        groups,
        sum([requests[pod] for pod in groups.unready]),
        sum([requests[pod] for pod in groups.missing]),
        sum([assumed_usage(requests[pod], target) for pod in groups.missing]),
        _assumed_after_crashes(usages, requests, target, look),
    )


def _assumed_after_crashes(
    usages: Mapping[str, int], requests: Mapping[str, int], target: int, look: MetricContext
) -> int:
    crashed = [pod.name for pod in look.seen.pods if pod.name in usages and ended_lately(pod, look.seen.now)]
    return sum([max(assumed_usage(requests[name], target) - usages[name], 0) for name in crashed])


def utilization_count(use: RequestUse, target: int, look: MetricContext) -> tuple[int, float, float]:
    """The count for a utilization, its ratio, and the ratio with missing pods filled in."""
    return count_by_utilization(
        use.used,
        use.asked,
        use.samples,
        use.groups.ready,
        len(use.groups.unready),
        use.unready_asked,
        len(use.groups.missing),
        use.missing_asked,
        use.missing_assumed,
        target,
        look.scale.replicas,
        look.down,
        look.up,
    )


def utilization_total(use: RequestUse, target: int, now: int) -> int:
    """The total of requests at which usage is exactly at the target, in milli-units; `now` is the current total."""
    return total_by_utilization(
        use.used,
        use.asked,
        len(use.groups.unready),
        use.unready_asked,
        len(use.groups.missing),
        use.missing_asked,
        use.missing_assumed + use.crashed_assumed,
        target,
        now,
    )


def _utilization(name: str, container: str, target: int, description: str, look: MetricContext) -> Proposal:
    use = request_use(name, container, target, look)
    percent, average = utilization(use.used, use.asked), trunc_div(use.used, use.matched)
    groups = use.groups
    replicas, ratio, refill = utilization_count(use, target, look)
    current = {"averageUtilization": percent, "averageValue": format_milli(average, binary=name == "memory")}
    subject = f"{name} of container {container}" if container else name
    sentence = f"{subject} is at {percent} % of its requests (target {target} %)"
    return Proposal(
        replicas,
        average,
        description,
        current,
        "utilization",
        _reported(sentence, ratio, refill, replicas, groups, look),
        {"utilization": percent, "target": target, "ratio": ratio, **_group_numbers(groups, refill)},
        None
        if not isnan(refill)
        else slope(subject, percent, target, groups.ready, look, "percent", unready=bool(groups.unready)),
    )


def _requests(look: MetricContext, name: str, container: str, attempt: str) -> dict[str, int]:
    """Every pod's request. A pod without one fails the metric, even if it would not count."""
    pod_level = look.settings.gate("PodLevelResources")
    lenient = bool(container) and look.settings.kubernetes < KNOWS_CONTAINERS
    requests: dict[str, int] = {}
    for pod in look.seen.pods:
        request = pod.request(name, container, pod_level=pod_level)
        if isinstance(request, Failure):
            if not lenient or pod.has_container(container):
                raise CannotRead(f"{attempt}{request.message}")
            request = 0
        requests[pod.name] = request
    return requests


def pods_metric(metric: Metric, look: MetricContext) -> Proposal:
    source = metric.pods
    if source is None or source.target is None or source.target.average is None:
        raise CannotRead("invalid pods metric source: no average value target was set")
    name, selector = identity(source.metric)
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
    look: MetricContext,
    subject: str,
) -> Proposal:
    _check_target(target, format_milli(target))
    attempt = f"failed to get {resource} usage: " if resource else ""
    groups = _grouped(usages, samples, resource, look, attempt)
    total, count = sum(usages.values()), len(usages)
    average = trunc_div(total, count)
    replicas, ratio, refill = count_by_average(
        total,
        count,
        groups.ready,
        len(groups.unready),
        len(groups.missing),
        target,
        look.scale.replicas,
        look.down,
        look.up,
    )
    binary = resource == "memory"
    per_pod, unready = f"{subject} per pod", bool(groups.unready)
    shown, wanted = format_milli(average, binary=binary), format_milli(target, binary=binary)
    sentence = f"{subject} is at {shown} per pod (target {wanted})"
    return Proposal(
        replicas,
        average,
        description,
        {"averageValue": shown},
        "average-value",
        _reported(sentence, ratio, refill, replicas, groups, look),
        {"average": shown, "target": wanted, "ratio": ratio, **_group_numbers(groups, refill)},
        None
        if not isnan(refill)
        else slope(per_pod, average, target, groups.ready, look, "bytes" if binary else "amount", unready=unready),
    )


def _reported(sentence: str, ratio: float, refill: float, replicas: int, groups: Groups, look: MetricContext) -> str:
    parts = [f"{sentence}, ratio {ratio:.3f} over {groups.ready} ready"]
    if groups.unready:
        parts.append(f"{len(groups.unready)} unready")
    if groups.missing:
        parts.append(f"{len(groups.missing)} without a sample")
    if groups.ignored:
        parts.append(f"{len(groups.ignored)} ignored")
    reported = ", ".join(parts)
    if isnan(refill):
        return f"{reported}: {outcome(ratio, replicas, look)}."
    filled = f"{reported}; with those filled in the ratio is {refill:.3f}"
    if within(refill, look.down, look.up):
        return f"{filled}: within tolerance, stay at {replicas}."
    if replicas == look.scale.replicas:
        return f"{filled}, which would not move the same way: stay at {replicas}."
    return f"{filled}: proposes {replicas}."


def _group_numbers(groups: Groups, refill: float) -> dict[str, Any]:
    numbers: dict[str, Any] = {"ready": groups.ready}
    if groups.unready:
        numbers["unready"] = sorted(groups.unready)
    if groups.missing:
        numbers["missing"] = sorted(groups.missing)
    if groups.ignored:
        numbers["ignored"] = sorted(groups.ignored)
    if not isnan(refill):
        numbers["ratioFilledIn"] = refill
    return numbers


def object_metric(metric: Metric, look: MetricContext) -> Proposal:
    source = metric.object
    if source is None:
        raise CannotRead("the metric has no object source")
    name, selector = identity(source.metric)
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
        message, shown = f"{ref.kind} metric {name}", f"{name} of {ref}"
        return _total(found, milli(target.value or 0), message, shown, look)
    message, shown = f"external metric {name}({_shown_selector(selector)})", f"{name} of {ref}"
    return _per_pod(found, milli(target.average or 0), message, shown, look)


def external_metric(metric: Metric, look: MetricContext) -> Proposal:
    source = metric.external
    if source is None:
        raise CannotRead("the metric has no external source")
    name, selector = identity(source.metric)
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


def _check_target(target: int, shown: str) -> None:
    """API servers reject such a target, but not inside a template, and older ones not everywhere."""
    if target <= 0:
        raise CannotRead(f"the target is {shown}: no number of replicas meets it; set it above 0", "spec")


def _sum_of_shares(values: tuple[int, ...]) -> int:
    """The sum; a running sum below zero counts as an overflow."""
    total = 0
    for value in values:
        total += value
        if total < 0 or total > MAX_INT64:
            return MAX_INT64
    return total


def _total(amount: int, target: int, description: str, subject: str, look: MetricContext) -> Proposal:
    """A value for all pods together: its ratio is multiplied by the ready pods, except from zero replicas."""
    _check_target(target, format_milli(target))
    ratio = amount / target
    ready = ready_and_running(look.seen.pods)
    if look.scale.replicas and not look.seen.pods and not within(ratio, look.down, look.up):
        raise CannotRead("unable to calculate ready pods: no pods returned by selector while calculating replica count")
    replicas = count_by_value(amount, target, ready, look.scale.replicas, look.down, look.up)
    shown, wanted = format_milli(amount), format_milli(target)
    reported = outcome(ratio, replicas, look)
    return Proposal(
        replicas,
        amount,
        description,
        {"value": shown},
        "total-value",
        f"{subject} is at {shown} in total (target {wanted}, ratio {ratio:.3f}): {reported}.",
        {"value": shown, "target": wanted, "ratio": ratio, "ready": ready},
        slope(subject, amount, target, ready, look),
    )


def _per_pod(amount: int, target: int, description: str, subject: str, look: MetricContext) -> Proposal:
    """A value that is divided among pods; readiness does not matter."""
    _check_target(target, format_milli(target))
    pods = look.scale.status_replicas
    ratio = share_ratio(amount, target, pods)
    replicas = count_by_share(amount, target, pods, look.down, look.up)
    share = MAX_INT64 if amount >= MAX_INT64 else per_pod_share(amount, pods)
    total, shown, wanted = format_milli(amount), format_milli(share), format_milli(target)
    reported = f"at {shown} per pod over {count_of(pods, 'pod')} (target {wanted}, ratio {ratio:.3f})"
    if pods == 0:
        reported = f"at {total} with no pods to share it (target {wanted} per pod)"
    return Proposal(
        replicas,
        share,
        description,
        {"averageValue": shown},
        "value-per-pod",
        f"{subject} is {reported}: {outcome(ratio, replicas, look)}.",
        {"total": total, "average": shown, "target": wanted, "ratio": finite(ratio), "pods": pods},
        slope(f"{subject} in total", amount, target * pods, pods, look) if pods else None,
    )


def _shown_selector(selector: Mapping[str, Any] | None) -> str:
    """A selector as Kubernetes prints it in messages."""
    if selector is None:
        return "nil"
    labels = " ".join(f"{k}: {v}," for k, v in sorted((selector.get("matchLabels") or {}).items()))
    rules = "".join(_shown_rule(rule) for rule in selector.get("matchExpressions") or ())
    listed = f"MatchExpressions:[]LabelSelectorRequirement{{{rules}}}"
    return f"&LabelSelector{{MatchLabels:map[string]string{{{labels}}},{listed},}}"


def _shown_rule(rule: Mapping[str, Any]) -> str:
    values = " ".join(str(value) for value in rule.get("values") or ())
    return f"LabelSelectorRequirement{{Key:{rule.get('key')},Operator:{rule.get('operator')},Values:[{values}],}},"


_EVALUATORS = {
    "Resource": resource,
    "ContainerResource": container_resource,
    "Pods": pods_metric,
    "Object": object_metric,
    "External": external_metric,
}
_KEYS = {kind: kind[0].lower() + kind[1:] for kind in _EVALUATORS}


def read_metric(metric: Metric, look: MetricContext) -> MetricReading:
    """Evaluate one metric; a failure becomes a reading too."""
    kind = metric.type or ""
    try:
        proposal = _evaluate(metric, kind, look)
    except (CannotRead, SelectorError) as error:
        reason = f"FailedGet{kind}Metric" if kind in _EVALUATORS else "InvalidMetricSourceType"
        error_kind: ErrorKind = "spec" if isinstance(error, CannotRead) and error.kind == "spec" else "internal"
        step = Step("recommend", "metric-failed", look.scale.replicas, None, f"{kind} metric: {error}.", {})
        return MetricReading(
            kind, kind, None, step, status={"type": ""}, error=str(error), error_kind=error_kind, failed_reason=reason
        )
    step = Step("recommend", proposal.rule, look.scale.replicas, proposal.replicas, proposal.sentence, proposal.numbers)
    key = _KEYS[kind]
    status = {"type": kind, key: {**_identity_of(metric, key), "current": proposal.current}}
    return MetricReading(
        kind,
        proposal.description,
        proposal.replicas,
        step,
        proposal.value,
        status,
        band=proposal.band,
    )


def _evaluate(metric: Metric, kind: str, look: MetricContext) -> Proposal:
    evaluate = _EVALUATORS.get(kind)
    if evaluate is None:
        raise CannotRead(f'unknown metric source type "{kind}"', "spec")
    return evaluate(metric, look)


def _identity_of(metric: Metric, key: str) -> dict[str, Any]:
    """The identity of the metric in the status: the source without its target."""
    if key == "resource" and metric.resource is not None:
        return {"name": metric.resource.name}
    source = metric.write()[key]
    return {name: value for name, value in source.items() if name != "target"}
