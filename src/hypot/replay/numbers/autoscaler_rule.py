"""An Autoscaler as plain numbers, if these cover everything it asks for."""

from collections.abc import Mapping

from hypot.kinds.autoscaler import WorkloadAutoscaler
from hypot.kinds.meta import MetricName
from hypot.kinds.vpa.allowed import allowed
from hypot.policy.autoscaler.rule import CPU, rule_of
from hypot.policy.hold import needs_whole_decisions
from hypot.policy.model.settings import Settings
from hypot.replay.numbers.autoscaler import NO_SIGNAL, AutoscalerNumbers
from hypot.replay.world.parameters import Signal
from hypot.replay.world.signals import SIGNALS


def numbers_of(
    autoscaler: WorkloadAutoscaler, container: str, cpu: int, names: Mapping[str, Signal], settings: Settings
) -> AutoscalerNumbers | None:
    """`cpu` is the request in the pod template. None if only the full decision works."""
    bounds = allowed(autoscaler, container)
    left_alone = autoscaler.sizes and (bounds.switched_off or CPU not in bounds.controlled)
    if needs_whole_decisions(autoscaler.annotations) or left_alone or cpu <= 0:
        return None
    return AutoscalerNumbers(
        rule_of(autoscaler, container, cpu, settings),
        _signal(autoscaler.requests_metric, names),
        _signal(autoscaler.late_metric, names),
        autoscaler.acts,
    )


def _signal(metric: MetricName | None, names: Mapping[str, Signal]) -> int:
    return NO_SIGNAL if metric is None else SIGNALS[names[metric.name or ""]]
