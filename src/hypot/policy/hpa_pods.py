"""Metrics that are read pod by pod: utilisation and averages."""

from collections.abc import Mapping
from math import isnan
from typing import Any

from hypot.core.quantity import format_milli, milli
from hypot.core.ratio import (
    assumed_usage,
    count_by_average,
    count_by_utilization,
    trunc_div,
    utilization,
    within,
)
from hypot.kinds.hpa_parts import Metric, Target
from hypot.kinds.selector import read_selector
from hypot.kinds.version import KNOWS_CONTAINERS
from hypot.policy.pods import Groups, group
from hypot.policy.proposal import CannotRead, Look, Proposal, identity, outcome, slope
from hypot.policy.seen import Failure, metric_key


def resource(metric: Metric, look: Look) -> Proposal:
    source = metric.resource
    if source is None:
        raise CannotRead("the metric has no resource source")
    return _pod_resource(source.name or "", "", source.target or Target(), "resource", look)


def container_resource(metric: Metric, look: Look) -> Proposal:
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
    unready, missing = groups.unready, groups.missing
    replicas, ratio, refill = count_by_utilization(
        used,
        asked,
        len(usages),
        groups.ready,
        len(unready),
        sum([requests[pod] for pod in unready]),
        len(missing),
        sum([requests[pod] for pod in missing]),
        sum([assumed_usage(requests[pod], target) for pod in missing]),
        target,
        look.scale.replicas,
        look.down,
        look.up,
    )
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
        slope(subject, percent, target, groups.ready, look, "percent") if isnan(refill) else None,
    )


def _requests(look: Look, name: str, container: str, attempt: str) -> dict[str, int]:
    """Every pod's request: one that lacks it fails the metric, even a pod that would not count."""
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


def pods_metric(metric: Metric, look: Look) -> Proposal:
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
    look: Look,
    subject: str,
) -> Proposal:
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
        None
        if not isnan(refill)
        else slope(subject, average, target, groups.ready, look, "bytes" if binary else "amount"),
    )


def _told(sentence: str, ratio: float, refill: float, replicas: int, groups: Groups, look: Look) -> str:
    parts = [f"{sentence}, ratio {ratio:.3f} over {groups.ready} ready"]
    if groups.unready:
        parts.append(f"{len(groups.unready)} unready")
    if groups.missing:
        parts.append(f"{len(groups.missing)} without a sample")
    if groups.ignored:
        parts.append(f"{len(groups.ignored)} ignored")
    told = ", ".join(parts)
    if isnan(refill):
        return f"{told}: {outcome(ratio, replicas, look)}."
    filled = f"{told}; with those filled in the ratio is {refill:.3f}"
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
