"""Metrics that are read as a whole: of another object, or from outside the cluster."""

from collections.abc import Mapping
from typing import Any

from hypot.core.quantity import format_milli, milli
from hypot.core.ratio import MAX_INT64, count_by_share, count_by_value, per_pod_share, share_ratio, within
from hypot.kinds.base import Ref
from hypot.kinds.hpa_parts import Metric, Target
from hypot.kinds.selector import read_selector
from hypot.policy.pods import ready_and_running
from hypot.policy.proposal import CannotRead, Look, Proposal, finite, identity, outcome, slope
from hypot.policy.seen import Failure, metric_key


def object_metric(metric: Metric, look: Look) -> Proposal:
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
        words, shown = f"{ref.kind} metric {name}", f"{name} of {ref}"
        return _total(found, milli(target.value or 0), words, shown, look)
    words, shown = f"external metric {name}({_shown_selector(selector)})", f"{name} of {ref}"
    return _per_pod(found, milli(target.average or 0), words, shown, look)


def external_metric(metric: Metric, look: Look) -> Proposal:
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
    ready = ready_and_running(look.seen.pods)
    if look.scale.replicas and not look.seen.pods and not within(ratio, look.down, look.up):
        raise CannotRead("unable to calculate ready pods: no pods returned by selector while calculating replica count")
    replicas = count_by_value(amount, target, ready, look.scale.replicas, look.down, look.up)
    shown, wanted = format_milli(amount), format_milli(target)
    told = outcome(ratio, replicas, look)
    return Proposal(
        replicas,
        amount,
        description,
        {"value": shown},
        "total-value",
        f"{subject} is at {shown} in total (target {wanted}, ratio {ratio:.3f}): {told}.",
        {"value": shown, "target": wanted, "ratio": ratio, "ready": ready},
        slope(subject, amount, target, ready, look),
    )


def _per_pod(amount: int, target: int, description: str, subject: str, look: Look) -> Proposal:
    """A value to be shared among pods: readiness plays no part."""
    pods = look.scale.status_replicas
    ratio = share_ratio(amount, target, pods)
    replicas = count_by_share(amount, target, pods, look.down, look.up)
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
        f"{subject} is {told}: {outcome(ratio, replicas, look)}.",
        {"total": total, "average": shown, "target": wanted, "ratio": finite(ratio), "pods": pods},
        slope(f"{subject} in total", amount, target * pods, pods, look) if pods else None,
    )


def _shown_selector(selector: Mapping[str, Any] | None) -> str:
    """How Kubernetes prints a selector inside its texts."""
    if selector is None:
        return "nil"
    labels = " ".join(f"{k}: {v}," for k, v in sorted((selector.get("matchLabels") or {}).items()))
    rules = "".join(_shown_rule(rule) for rule in selector.get("matchExpressions") or ())
    listed = f"MatchExpressions:[]LabelSelectorRequirement{{{rules}}}"
    return f"&LabelSelector{{MatchLabels:map[string]string{{{labels}}},{listed},}}"


def _shown_rule(rule: Mapping[str, Any]) -> str:
    values = " ".join(str(value) for value in rule.get("values") or ())
    return f"LabelSelectorRequirement{{Key:{rule.get('key')},Operator:{rule.get('operator')},Values:[{values}],}},"
