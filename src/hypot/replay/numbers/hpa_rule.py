"""A HorizontalPodAutoscaler as the plain numbers of the numeric step, if that covers everything it asks for."""

from collections.abc import Mapping

from hypot.core.quantity import milli
from hypot.kinds.hpa import HPA
from hypot.kinds.hpa.defaults import DEFAULT_DOWN, DEFAULT_UP, with_defaults
from hypot.kinds.hpa.fields import MOST_METRICS, Metric, ScalingRules, Target
from hypot.policy.hold import needs_whole_decisions
from hypot.policy.horizontal.tolerances import tolerances
from hypot.policy.model.settings import Settings
from hypot.policy.stages.restrain import longest_period
from hypot.replay.numbers.hpa import AVERAGE, CPU, MEMORY, PODS, SHARE, UTILIZATION, VALUE, HpaRule, NumericPace
from hypot.replay.world.parameters import Signal
from hypot.replay.world.signals import SIGNALS

_RESOURCES = {"cpu": CPU, "memory": MEMORY}
# The kind of target, the resource or signal, and the target value.
_Line = tuple[int, int, int]


def rule_of(hpa: HPA, container: str, names: Mapping[str, Signal], settings: Settings) -> HpaRule | None:
    """None if only the full decision works: a hold, scaling from zero, or a metric that is measured in another way."""
    if needs_whole_decisions(hpa.annotations):
        return None
    full = with_defaults(hpa, settings.kubernetes, settings.gates)
    low = 1 if full.min_replicas is None else full.min_replicas
    if len(full.metrics or ()) > MOST_METRICS:
        return None
    lines = [_line(metric, container, names) for metric in full.metrics or ()]
    known = [line for line in lines if line is not None]
    if low < 1 or not known or len(known) < len(lines):
        return None
    down, up = tolerances(full, settings)
    pace_up, pace_down = full.scale_up or DEFAULT_UP, full.scale_down or DEFAULT_DOWN
    down_window = settings.downscale_window if pace_down.window is None else float(pace_down.window)
    return HpaRule(
        len(known),
        [line[0] for line in known],
        [line[1] for line in known],
        [line[2] for line in known],
        low,
        full.max_replicas or 0,
        down,
        up,
        full.behavior is not None,
        settings.downscale_window,
        _pace(pace_up, float(pace_up.window or 0)),
        _pace(pace_down, down_window),
        settings.scale_up_factor,
        settings.scale_up_floor,
        settings.cpu_initialization_period,
        settings.initial_readiness_delay,
    )


def _pace(written: ScalingRules, window: float) -> NumericPace:
    limits = written.limits or ()
    return NumericPace(
        window,
        written.select == "Disabled",
        written.select == "Min",
        len(limits),
        [limit.type == "Percent" for limit in limits],
        [limit.value or 0 for limit in limits],
        [float(limit.period or 0) for limit in limits],
        float(longest_period(limits)),
    )


def _line(metric: Metric, container: str, names: Mapping[str, Signal]) -> _Line | None:
    """None for a target that no replicas can meet, which only a full decision can report."""
    line = _any_line(metric, container, names)
    return line if line is not None and line[2] > 0 else None


def _any_line(metric: Metric, container: str, names: Mapping[str, Signal]) -> _Line | None:
    """None also for another container, which a replay does not have."""
    if metric.container_resource is not None and metric.container_resource.container != container:
        return None
    source = metric.resource or metric.container_resource
    if source is not None:
        return _resource(source.name or "", source.target or Target())
    if metric.pods is not None:
        name, target = metric.pods.metric, metric.pods.target or Target()
        return None if name is None or target.average is None else _custom(PODS, name.name, names, target.average)
    outside = metric.object or metric.external
    if outside is None or outside.metric is None:
        return None
    target = outside.target or Target()
    if target.average is not None and target.type != "Value":
        return _custom(SHARE, outside.metric.name, names, target.average)
    return None if target.value is None else _custom(VALUE, outside.metric.name, names, target.value)


def _resource(name: str, target: Target) -> _Line | None:
    if name not in _RESOURCES:
        return None
    if target.average is not None:
        return AVERAGE, _RESOURCES[name], milli(target.average)
    return None if target.utilization is None else (UTILIZATION, _RESOURCES[name], target.utilization)


def _custom(source: int, name: str | None, names: Mapping[str, Signal], target: str | float) -> _Line | None:
    return (source, SIGNALS[names[name]], milli(target)) if name and name in names else None
