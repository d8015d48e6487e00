"""The API server's validation of HorizontalPodAutoscalers, with its order and messages. The hints are hypot's own."""

from collections.abc import Iterator, Mapping
from typing import Any

from hypot.core.dataclass import dataclass
from hypot.core.quantity import Quantity
from hypot.kinds.base import Ref, reference_problems, version_problem
from hypot.kinds.hpa.fields import Behavior, HPASpec, Limit, Metric, ScalingRules, Target
from hypot.kinds.identity import AUTOSCALING_V1, HPA
from hypot.kinds.meta import MetricName
from hypot.kinds.metadata import managed_fields_problems
from hypot.kinds.problem import Problem, Where, in_order, unsupported
from hypot.kinds.values.names import container_resource, dns_label, path_segment
from hypot.kinds.values.version import NEWEST, SCALE_TARGET_NEEDS_GROUP, Version, gate_open

METRIC_TYPES = {
    "Object": "object",
    "External": "external",
    "Pods": "pods",
    "Resource": "resource",
    "ContainerResource": "containerResource",
}
SELECT_POLICIES = ("Max", "Min", "Disabled")
POLICY_TYPES = ("Pods", "Percent")
# What people write instead of a policy type.
_POLICY_HINTS = {
    "MaxPods": "Pods is how many pods may be added or removed in a period",
    "MaxUnavailable": "Pods is how many pods may be added or removed in a period",
    "Disabled": "selectPolicy: Disabled stops scaling in this direction",
}
_STOPS = "selectPolicy: Disabled stops scaling in this direction; in Python that is FROZEN"
MAX_WINDOW = 3600
MAX_PERIOD = 1800

ONE_METRIC = f"{AUTOSCALING_V1} knows one cpu percentage and nothing else; it was read as {HPA.api_version}"
NEWER = f"write {HPA.api_version} when you want more than one cpu percentage"


@dataclass(frozen=True, slots=True)
class HpaStrictness:
    """What the API server accepts for this request."""

    least_min_replicas: int = 1
    any_target_version: bool = False
    any_target_group: bool = False
    any_described_version: bool = False
    any_described_group: bool = True


def strictness(
    new: HPASpec, old: HPASpec | None = None, kubernetes: Version = NEWEST, gates: Mapping[str, bool] | None = None
) -> HpaStrictness:
    """How strictly a creation, or an update of `old`, is checked."""
    to_zero = gate_open("HPAScaleToZero", kubernetes, gates) or (old is not None and old.min_replicas == 0)
    unchecked = kubernetes < SCALE_TARGET_NEEDS_GROUP
    target = new.target or Ref()
    same_target = old is not None and _version_and_kind(old.target) == _version_and_kind(new.target)
    return HpaStrictness(
        least_min_replicas=0 if to_zero else 1,
        any_target_version=unchecked or same_target,
        any_target_group=target.kind == "ReplicationController",
        any_described_version=unchecked or (old is not None and _describes_unversioned(old)),
    )


def _version_and_kind(ref: Ref | None) -> tuple[str, str]:
    return (ref.api_version or "", ref.kind or "") if ref else ("", "")


def _describes_unversioned(hpa: HPASpec) -> bool:
    described = [m.object.described for m in hpa.metrics or () if m.type == "Object" and m.object is not None]
    return any(ref is not None and version_problem(ref, any_version=False, any_group=True) for ref in described)


def spec_problems(hpa: HPASpec, strict: HpaStrictness) -> Iterator[Problem]:
    """The problems of a spec as it is, without applying defaults."""
    least = strict.least_min_replicas
    low, high = hpa.min_replicas, hpa.max_replicas or 0
    if low is not None and low < least:
        hint = "write 1 or more; 0 needs Kubernetes 1.37, or the feature gate HPAScaleToZero" if low == 0 else ""
        yield _invalid("min-replicas", ("spec", "minReplicas"), low, f"must be greater than or equal to {least}", hint)
    if high == 0:
        yield Problem("max-replicas", "Required", ("spec", "maxReplicas"), "must be set and greater than 0")
    elif high < 0:
        yield _invalid("max-replicas", ("spec", "maxReplicas"), high, "must be greater than or equal to 1")
    if low is not None and high < low:
        message = "must be greater than or equal to `minReplicas`"
        yield _invalid("min-over-max", ("spec", "maxReplicas"), high, message, in_order(low, high))
    yield from reference_problems(
        hpa.target or Ref(),
        ("spec", "scaleTargetRef"),
        any_version=strict.any_target_version,
        any_group=strict.any_target_group,
    )
    for i, metric in enumerate(hpa.metrics or ()):
        yield from _metric_problems(metric, ("spec", "metrics", i), strict)
    if low == 0 and not any(m.type in {"Object", "External"} for m in hpa.metrics or ()):
        yield Problem(
            "zero-needs-outside-metric",
            "Forbidden",
            ("spec", "metrics"),
            "must specify at least one Object or External metric to support scaling to zero replicas",
            hint="add one, or write minReplicas: 1; without pods there are no pod metrics that could scale up again",
        )
    yield from _behavior_problems(hpa.behavior or Behavior())


def _invalid(rule: str, where: Where, value: Any, message: str, hint: str = "") -> Problem:
    return Problem(rule, "Invalid", where, message, value, hint)


def _metric_problems(metric: Metric, where: Where, strict: HpaStrictness) -> Iterator[Problem]:
    kind = metric.type or ""
    message = unsupported(METRIC_TYPES)
    unknown = Problem("metric-type", "NotSupported", (*where, "type"), message, kind)
    if not kind:
        yield Problem("metric-type", "Required", (*where, "type"), "must specify a metric source type")
    if kind not in METRIC_TYPES:
        yield unknown
    present = [key for key in METRIC_TYPES.values() if getattr(metric, Metric.BY_KEY[key][0]) is not None]
    if present:
        yield from _source_problems(metric, present[0], (*where, present[0]), strict)
    own = METRIC_TYPES.get(kind)
    if own is None:
        yield unknown
    elif own not in present:
        message = "must populate information for the given metric source"
        yield Problem("metric-source", "Required", (*where, own), message)
    if len(present) > 1:
        for other in present:
            if other != own:
                message = "must populate the given metric source only"
                yield Problem("metric-source", "Forbidden", (*where, other), message)


def _source_problems(metric: Metric, key: str, where: Where, strict: HpaStrictness) -> Iterator[Problem]:
    if key == "object" and metric.object is not None:
        yield from _object_problems(metric, where, strict)
    elif key == "external" and metric.external is not None:
        yield from _name_problems(metric.external.metric, where)
        yield from _external_target_problems(metric.external.target or Target(), (*where, "target"))
    elif key == "pods" and metric.pods is not None:
        yield from _name_problems(metric.pods.metric, where)
        target = metric.pods.target or Target()
        yield from _target_problems(target, (*where, "target"))
        if target.average is None:
            yield _target_required(where, "averageValue", "must specify a positive target averageValue")
    elif key == "resource" and metric.resource is not None:
        if not metric.resource.name:
            yield Problem("resource-name", "Required", (*where, "name"), "must specify a resource name")
        yield from _resource_target_problems(metric.resource.target or Target(), (*where, "target"))
    elif metric.container_resource is not None:
        yield from _container_problems(metric, where)


def _object_problems(metric: Metric, where: Where, strict: HpaStrictness) -> Iterator[Problem]:
    source = metric.object
    if source is None:
        return
    yield from reference_problems(
        source.described or Ref(),
        (*where, "describedObject"),
        any_version=strict.any_described_version,
        any_group=strict.any_described_group,
    )
    yield from _name_problems(source.metric, where)
    target = source.target or Target()
    yield from _target_problems(target, (*where, "target"))
    if target.value is None and target.average is None:
        yield _target_required(where, "averageValue", "must set either a target value or averageValue")


def _container_problems(metric: Metric, where: Where) -> Iterator[Problem]:
    source = metric.container_resource
    if source is None:
        return
    if not source.name:
        yield Problem("resource-name", "Required", (*where, "name"), "must specify a resource name")
    for message in container_resource(source.name) if source.name else ():
        yield _invalid("resource-name", (*where, "name"), source.name, message)
    if not source.container:
        yield Problem("container-name", "Required", (*where, "container"), "must specify a container")
    for message in dns_label(source.container) if source.container else ():
        yield _invalid("container-name", (*where, "container"), source.container, message)
    yield from _resource_target_problems(source.target or Target(), (*where, "target"))


def _name_problems(metric: MetricName | None, where: Where) -> Iterator[Problem]:
    name = metric.name if metric else None
    if not name:
        yield Problem("metric-name", "Required", (*where, "metric", "name"), "must specify a metric name")
    for message in path_segment(name or ""):
        yield _invalid("metric-name", (*where, "metric", "name"), name, message)


def _target_required(where: Where, key: str, message: str) -> Problem:
    return Problem("metric-target", "Required", (*where, "target", key), message)


def _target_problems(target: Target, where: Where) -> Iterator[Problem]:
    kind = target.type or ""
    if not kind:
        yield Problem("target-type", "Required", (*where, "type"), "must specify a metric target type")
    if kind not in {"Utilization", "Value", "AverageValue"}:
        yield _invalid("target-type", (*where, "type"), kind, "must be either Utilization, Value, or AverageValue")
    for key, amount in (("value", target.value), ("averageValue", target.average)):
        if amount is not None and Quantity.parse(amount).sign != 1:
            yield _invalid("target-value", (*where, key), str(Quantity.parse(amount)), "must be positive")
    if target.utilization is not None and target.utilization < 1:
        message = "must be greater than 0"
        yield _invalid("utilization", (*where, "averageUtilization"), target.utilization, message)


def _external_target_problems(target: Target, where: Where) -> Iterator[Problem]:
    yield from _target_problems(target, where)
    if target.value is None and target.average is None:
        message = "must set either a target value for metric or a per-pod target"
        yield _target_required(where[:-1], "averageValue", message)
    if target.value is not None and target.average is not None:
        message = "may not set both a target value for metric and a per-pod target"
        yield Problem("metric-target", "Forbidden", (*where, "value"), message)


def _resource_target_problems(target: Target, where: Where) -> Iterator[Problem]:
    yield from _target_problems(target, where)
    if target.utilization is None and target.average is None:
        message = "must set either a target raw value or a target utilization"
        yield _target_required(where[:-1], "averageUtilization", message)
    if target.utilization is not None and target.average is not None:
        message = "may not set both a target raw value and a target utilization"
        yield Problem("metric-target", "Forbidden", (*where, "averageValue"), message)


def _behavior_problems(behavior: Behavior) -> Iterator[Problem]:
    if behavior.scale_up is not None:
        yield from _pace_problems(behavior.scale_up, ("spec", "behavior", "scaleUp"))
    if behavior.scale_down is not None:
        yield from _pace_problems(behavior.scale_down, ("spec", "behavior", "scaleDown"))


def _pace_problems(pace: ScalingRules, where: Where) -> Iterator[Problem]:
    window, at = pace.window, (*where, "stabilizationWindowSeconds")
    if window is not None and window < 0:
        yield _invalid("window", at, window, "must be greater than or equal to zero")
    if window is not None and window > MAX_WINDOW:
        yield _invalid("window", at, window, f"must be less than or equal to {MAX_WINDOW}")
    if pace.select is not None and pace.select not in SELECT_POLICIES:
        message = unsupported(SELECT_POLICIES)
        yield Problem("select-policy", "NotSupported", (*where, "selectPolicy"), message, pace.select)
    if not pace.limits:
        hint = f"leave policies out for the defaults; {_STOPS}"
        message = "must specify at least one Policy"
        yield Problem("policies", "Required", (*where, "policies"), message, hint=hint)
    for i, policy in enumerate(pace.limits or ()):
        yield from _policy_problems(policy, (*where, "policies", i))
    if pace.tolerance is not None and Quantity.parse(pace.tolerance).sign < 0:
        message = "must be greater than or equal to 0"
        yield _invalid("tolerance", (*where, "tolerance"), str(Quantity.parse(pace.tolerance)), message)


def _policy_problems(policy: Limit, where: Where) -> Iterator[Problem]:
    kind, value, period = policy.type or "", policy.value or 0, policy.period or 0
    if kind not in POLICY_TYPES:
        message = unsupported(POLICY_TYPES)
        yield Problem("policy-type", "NotSupported", (*where, "type"), message, kind, _POLICY_HINTS.get(kind, ""))
    if value <= 0:
        hint = _STOPS if value == 0 else ""
        yield _invalid("policy-value", (*where, "value"), value, "must be greater than zero", hint)
    if period <= 0:
        yield _invalid("policy-period", (*where, "periodSeconds"), period, "must be greater than zero")
    if period > MAX_PERIOD:
        yield _invalid(
            "policy-period", (*where, "periodSeconds"), period, f"must be less than or equal to {MAX_PERIOD}"
        )


def status_problems(status: dict[str, Any]) -> Iterator[Problem]:
    """The problems of a status update."""
    for key in ("currentReplicas", "desiredReplicas"):
        yield from _negative(status.get(key) or 0, ("status", key))
    for i, condition in enumerate(status.get("conditions") or ()):
        yield from _negative(
            condition.get("observedGeneration") or 0, ("status", "conditions", i, "observedGeneration")
        )


def scale_problems(scale: dict[str, Any]) -> Iterator[Problem]:
    """The problems of a Scale object: its count and its managed fields."""
    yield from managed_fields_problems(scale.get("metadata") or {})
    yield from _negative((scale.get("spec") or {}).get("replicas") or 0, ("spec", "replicas"))


def _negative(value: int, where: Where) -> Iterator[Problem]:
    if value < 0:
        yield _invalid("not-negative", where, value, "must be greater than or equal to 0")
