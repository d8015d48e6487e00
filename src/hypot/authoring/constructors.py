"""Each kind as a call of its constructor, with the short functions that an author would use."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from hypot.authoring.source import Call, Constant, call
from hypot.kinds.autoscaler import WorkloadAutoscaler
from hypot.kinds.base import Kind, Ref, refer
from hypot.kinds.hpa import HPA
from hypot.kinds.hpa.fields import (
    FROZEN,
    Behavior,
    Limit,
    Metric,
    ScalingRules,
    Target,
    cpu,
    external,
    limit,
    memory,
    on,
    pods,
)
from hypot.kinds.hvpa import Hvpa
from hypot.kinds.hvpa.fields import ResourceChanges, ScaleType, ScalingInterval, interval
from hypot.kinds.meta import MetricName
from hypot.kinds.node import Node
from hypot.kinds.problem import dotted
from hypot.kinds.tortoise import Tortoise
from hypot.kinds.tortoise.fields import ContainerResourcePolicy
from hypot.kinds.tortoise.policies import ContainerAutoscalingPolicy
from hypot.kinds.vpa import VPA
from hypot.kinds.vpa.fields import ContainerPolicy
from hypot.kinds.wpa import WPA
from hypot.kinds.wpa.fields import BandMetric, ExternalBand, ResourceBand, WatermarkRules, band, resource_band


class InexpressibleError(Exception):
    """Something that no constructor can write; its arguments say what."""


def constructor_of(one: Kind) -> Call:
    """The call that makes this object, as far as a constructor can. Whether it is equal must be checked."""
    strange = [*one.around, *_unknown(one)]
    if strange:
        raise InexpressibleError(*strange)
    made = _CONSTRUCTORS.get(type(one))
    if made is None:
        raise InexpressibleError(f"a {one.KIND}")
    return made(one)


def _unknown(one: Kind) -> Iterator[str]:
    """The places of unknown fields and of wrong types."""
    if not one.sound():
        yield from (f"{dotted(where)}: a wrong type" for where, *_ in one.misfits(("spec",)))
        yield from (f"{dotted(where)}: an unknown field" for where, _ in one.strangers(("spec",)))
    if not isinstance(one.metadata, dict):
        yield "metadata"


def _hpa(hpa: HPA) -> Call:
    return call(
        HPA,
        _target(hpa.target),
        min_replicas=hpa.min_replicas,
        max_replicas=hpa.max_replicas,
        metrics=_all(_metric, hpa.metrics),
        scale_up=_rules(hpa.scale_up),
        scale_down=_rules(hpa.scale_down),
        **_metadata(hpa, hpa.target),
    )


def _wpa(wpa: WPA) -> Call:
    return call(
        WPA,
        _target(wpa.target),
        min_replicas=wpa.min_replicas,
        max_replicas=wpa.max_replicas,
        metrics=_all(_band, wpa.metrics),
        recommender=_node(wpa.recommender),
        algorithm=wpa.algorithm,
        tolerance=wpa.tolerance,
        scale_up=_watermark_rules(wpa.up_factor, wpa.up_forbidden_window, wpa.up_delay),
        scale_down=_watermark_rules(wpa.down_factor, wpa.down_forbidden_window, wpa.down_delay),
        modulo=wpa.modulo,
        converge=wpa.converge,
        dry_run=wpa.dry_run,
        tolerate_zero=wpa.tolerate_zero,
        min_available=wpa.min_available,
        readiness_delay=_duration(wpa.readiness_delay),
        **_metadata(wpa, wpa.target),
    )


def _vpa(vpa: VPA) -> Call:
    updates, sizes, recommenders = vpa.update_policy, vpa.resource_policy, vpa.recommenders or ()
    return call(
        VPA,
        _target(vpa.target),
        mode=updates.mode if updates else None,
        min_replicas=updates.min_replicas if updates else None,
        eviction_requirements=_all(_node, updates.eviction_requirements if updates else None),
        evict_after_oom=_duration(updates.evict_after_oom) if updates else None,
        containers=_all(_policy, sizes.containers if sizes else None),
        recommender=recommenders[0].name if recommenders else None,
        startup_boost=_node(vpa.startup_boost),
        **_metadata(vpa, vpa.target),
    )


def _hvpa(hvpa: Hvpa) -> Call:
    hpa, policies = hvpa.hpa_spec, hvpa.container_policies
    behavior = hpa.behavior or Behavior()
    window = hvpa.window
    return call(
        Hvpa,
        _target(hvpa.target),
        intervals=_all(_interval, hvpa.intervals or ()),
        overlap=_node(hvpa.overlap),
        base=_node(hvpa.base),
        limits_gap=_node(hvpa.limits_gap),
        scale_up=_scale_type(hvpa.scale_up),
        scale_down=_scale_type(hvpa.scale_down),
        window=_node(window),
        min_replicas=hpa.min_replicas,
        max_replicas=hpa.max_replicas,
        metrics=_all(_metric, hpa.metrics),
        hpa_scale_up=_rules(behavior.scale_up),
        hpa_scale_down=_rules(behavior.scale_down),
        containers=_all(_policy, policies.containers if policies else None),
        knobs=dict(hvpa.knob_annotations) or None,
        use_hpa=None if hvpa.uses_hpa else False,
        use_vpa=None if hvpa.uses_vpa else False,
        **_metadata(hvpa, hvpa.target),
    )


def _tortoise(tortoise: Tortoise) -> Call:
    refs, behavior = tortoise.target_refs, tortoise.behavior or Behavior()
    written = refs.target if refs else None
    return call(
        Tortoise,
        _target(written),
        mode=tortoise.update_mode,
        hpa=refs.hpa if refs else None,
        containers=_scaling(tortoise.autoscaling_policy or (), tortoise.resource_policy or ()) or None,
        deletion_policy=tortoise.deletion_policy,
        max_replicas=tortoise.max_replicas,
        scale_up=_rules(behavior.scale_up),
        scale_down=_rules(behavior.scale_down),
        **_metadata(tortoise, written),
    )


def _autoscaler(autoscaler: WorkloadAutoscaler) -> Call:
    late, metrics, policies = autoscaler.late, autoscaler.request_metrics, autoscaler.container_policies
    return call(
        WorkloadAutoscaler,
        _target(autoscaler.target),
        mode=autoscaler.update_mode,
        axes=autoscaler.written_axes,
        min_replicas=autoscaler.written_min,
        max_replicas=autoscaler.written_max,
        containers=_all(_policy, policies.containers if policies else None),
        late_after=late.after,
        late_price=late.price,
        requests_metric=_pod_metric(metrics.requests),
        late_metric=_pod_metric(metrics.late),
        **_metadata(autoscaler, autoscaler.target),
    )


def _pod_metric(metric: MetricName | None) -> Any:
    """Its name if that is all."""
    if metric is None:
        return None
    return metric.write() if metric.selector is not None or metric.name is None else metric.name


_CONSTRUCTORS: Mapping[type[Kind], Callable[[Any], Call]] = {
    HPA: _hpa,
    WPA: _wpa,
    VPA: _vpa,
    Hvpa: _hvpa,
    Tortoise: _tortoise,
    WorkloadAutoscaler: _autoscaler,
}


def _metadata(one: Kind, target: Ref | None) -> dict[str, Any]:
    given = {key: one.metadata.get(key) for key in ("name", "namespace", "labels", "annotations")}
    if target is not None and given["name"] == target.name:
        given["name"] = None
    return given


def _target(ref: Ref | None) -> Any:
    """`deployment/web` if that is enough, else a `Ref`."""
    if ref is None:
        raise InexpressibleError("an object without a target")
    short = f"{(ref.kind or '').lower()}/{ref.name}"
    if ref.kind and refer(short) == ref:
        return short
    return Call("Ref", Ref, (ref.api_version, ref.kind, ref.name))


def _all(make: Callable[[Any], Any], parts: Iterable[Any] | None) -> list[Any] | None:
    return None if parts is None else [make(part) for part in parts]


def _node(part: Node | None) -> Call | None:
    """Any part, by the names of its fields."""
    return None if part is None else Call(type(part).__name__, type(part), (), dict(_fields(part)))


def _fields(part: Node) -> Iterator[tuple[str, Any]]:
    for name, _ in part.TABLE:
        value = getattr(part, name)
        if value is not None:
            yield name, _value(value)


def _value(value: Any) -> Any:
    if isinstance(value, Node):
        return _node(value)
    if isinstance(value, tuple):
        return [_value(item) for item in value]
    return dict(value) if isinstance(value, Mapping) else value


def _metric(metric: Metric) -> Call:
    resource, series = metric.resource or metric.container_resource, metric.pods or metric.external
    if resource is not None:
        function = {"cpu": cpu, "memory": memory}.get(resource.name or "")
        if function is None:
            raise InexpressibleError(f"the resource {resource.name}")
        container = metric.container_resource.container if metric.container_resource is not None else None
        return call(function, **_target_keywords(resource.target), container=container)
    if metric.object is not None:
        name, labels = _series(metric.object.metric)
        described = _target(metric.object.described)
        return call(on, described, name, **_target_keywords(metric.object.target), labels=labels)
    if series is None:
        raise InexpressibleError("a metric without a source")
    name, labels = _series(series.metric)
    return call(pods if metric.pods is not None else external, name, **_target_keywords(series.target), labels=labels)


def _target_keywords(target: Target | None) -> dict[str, Any]:
    if target is None:
        raise InexpressibleError("a metric without a target")
    return {"utilization": target.utilization, "average": target.average, "value": target.value}


def _series(metric: MetricName | None) -> tuple[str, dict[str, str] | None]:
    if metric is None or metric.name is None:
        raise InexpressibleError("a metric without a name")
    return metric.name, _labels(metric.selector)


def _labels(selector: Mapping[str, Any] | None) -> dict[str, str] | None:
    if selector is None:
        return None
    if selector.keys() - {"matchLabels"}:
        raise InexpressibleError("a selector with matchExpressions")
    return dict(selector.get("matchLabels") or {}) or None


def _rules(rules: ScalingRules | None) -> Call | Constant | None:
    if rules is None or rules == FROZEN:
        return None if rules is None else Constant("FROZEN", FROZEN)
    limits = [] if rules.limits is None else [[_limit(one) for one in rules.limits]]
    return call(ScalingRules, *limits, window=_duration(rules.window), select=rules.select, tolerance=rules.tolerance)


def _limit(one: Limit) -> Call:
    amount = {"Pods": "pods", "Percent": "percent"}.get(one.type or "")
    if amount is None:
        raise InexpressibleError(f"a policy of the type {one.type}")
    return call(limit, **{amount: one.value}, per=_duration(one.period))


def _duration(seconds: int | None) -> Any:
    """Text with the largest unit that divides it: 300 as 5m."""
    if seconds is None or seconds <= 0:
        return seconds
    unit, size = next((unit, size) for unit, size in (("h", 3600), ("m", 60), ("s", 1)) if seconds % size == 0)
    return f"{seconds // size}{unit}"


def _band(metric: BandMetric) -> Call:
    source: ExternalBand | ResourceBand | None = metric.external or metric.resource
    if source is None or source.name is None:
        raise InexpressibleError("a metric without a block or a name")
    function = band if metric.external is not None else resource_band
    return call(function, source.name, low=source.low, high=source.high, labels=_labels(source.selector))


def _watermark_rules(percent: Any, forbidden_window: int | None, delay: int | None) -> Call | None:
    rules = call(WatermarkRules, percent=percent, forbidden_window=_duration(forbidden_window), delay=_duration(delay))
    return rules if rules.keywords else None


def _policy(policy: ContainerPolicy) -> Call:
    fields = dict(_fields(policy))
    return Call("ContainerPolicy", ContainerPolicy, (fields.pop("container_name", None),), fields)


def _interval(one: ScalingInterval) -> Call:
    sizes = dict(one.max_resources or {})
    if sizes.keys() - {"cpu", "memory"}:
        raise InexpressibleError("an interval with other resources than cpu and memory")
    counts = () if one.max_replicas is None else (one.max_replicas,)
    return call(interval, *counts, cpu=sizes.get("cpu"), memory=sizes.get("memory"), extrapolation=one.extrapolation)


def _scale_type(scale: ScaleType | None) -> Call | None:
    if scale is None:
        return None
    fields = dict(_fields(scale))
    policy, least = scale.update_policy, scale.min_change
    fields.pop("update_policy", None)
    mode = None if policy is None else policy.mode or _node(policy)
    if least is not None and least.replicas is None:
        fields["min_change"] = _node(ResourceChanges(least.cpu, least.memory))
    return call(ScaleType, mode=mode, **fields)


def _scaling(
    types: Iterable[ContainerAutoscalingPolicy], bounds: Iterable[ContainerResourcePolicy]
) -> dict[str, dict[str, Any]]:
    """How each container is scaled, and within which bounds, by name."""
    made: dict[str, dict[str, Any]] = {}
    for one in types:
        made.setdefault(one.container_name or "", {}).update(_fields(one.policy) if one.policy else {})
    for each in bounds:
        given = {"min_allocated": each.min_allocated, "max_allocated": each.max_allocated}
        sizes = {key: dict(value) for key, value in given.items() if value is not None}
        made.setdefault(each.container_name or "", {}).update(sizes)
    return made
