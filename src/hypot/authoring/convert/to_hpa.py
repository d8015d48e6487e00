"""To a HorizontalPodAutoscaler: a band becomes its middle and two tolerances."""

from typing import Any

from hypot.authoring.convert.result import CannotConvertError, Converted, Note, metadata_like
from hypot.core.amount import of_milli, readable
from hypot.core.quantity import format_milli, milli
from hypot.kinds.hpa import HPA
from hypot.kinds.hpa.defaults import DEFAULT_METRICS
from hypot.kinds.hpa.fields import (
    FROZEN,
    ContainerResourceSource,
    ExternalSource,
    Metric,
    ResourceSource,
    ScalingRules,
    Target,
    limit,
)
from hypot.kinds.hpa.rules import MAX_PERIOD, MAX_WINDOW
from hypot.kinds.hvpa import Hvpa, hpa_of
from hypot.kinds.hvpa.intervals import counts_of
from hypot.kinds.meta import MetricName
from hypot.kinds.tortoise import Tortoise
from hypot.kinds.tortoise.policies import HORIZONTAL, written_policies
from hypot.kinds.version import opened_in
from hypot.kinds.wpa import WPA, with_defaults
from hypot.kinds.wpa.fields import BandMetric, marks_of

_OTHERS = {
    "converge": "convergeTowardsWatermark: an HPA changes nothing within its tolerance",
    "tolerate_zero": "tolerateZero: an HPA scales by a value of zero as by any other",
    "min_available": "minAvailableReplicaPercentage: an HPA scales however many pods are ready",
    "readiness_delay": "readinessDelaySeconds: a flag of kube-controller-manager sets it for all HPAs",
}


def from_wpa(wpa: WPA) -> Converted:
    if wpa.recommender is not None:
        raise CannotConvertError("its counts come from a recommender, and an HPA only follows metrics")
    if wpa.dry_run:
        raise CannotConvertError("it has dryRun, and an HPA would act at once; remove dryRun first if that is meant")
    complete, notes = with_defaults(wpa), list[Note]()
    averaged = complete.algorithm == "average"
    bands = [band for metric in complete.metrics or () if (band := _band(metric, averaged, notes)) is not None]
    if not bands:
        raise CannotConvertError("; ".join(note.text for note in notes))
    share = milli(complete.tolerance or 0)
    up = min(_tolerance(high * (1000 + share), middle) for _, _, high, middle in bands)
    down = min(-_tolerance(low * (1000 - share), middle) for _, low, _, middle in bands)
    notes.append(Note("assumed", "targets in the middle of the bands; the tolerances begin to act at the same values"))
    since = opened_in("HPAConfigurableTolerance")
    notes.append(Note("check", f"older clusters than {since} drop the tolerances silently, and act at 10 %"))
    if len(bands) > 1:
        notes.append(Note("lost", "a band for each metric: the narrowest tolerances hold for all"))
    if (complete.modulo or 1) > 1:
        notes.append(Note("lost", f"counts in multiples of {complete.modulo}"))
    notes += [Note("lost", text) for name, text in _OTHERS.items() if getattr(wpa, name) not in {None, "", False}]
    made = HPA(
        wpa.target or {},
        min_replicas=complete.min_replicas,
        max_replicas=wpa.max_replicas or 0,
        metrics=[metric for metric, *_ in bands],
        scale_up=_rules(complete.up_factor, complete.up_forbidden_window, complete.up_delay, up, "scaleUp", notes),
        scale_down=_rules(
            complete.down_factor, complete.down_forbidden_window, complete.down_delay, down, "scaleDown", notes
        ),
        **metadata_like(wpa),
    )
    return Converted((made,), tuple(notes))


def _band(metric: BandMetric, averaged: bool, notes: list[Note]) -> tuple[Metric, int, int, int] | None:
    """The metric with its target, and the low, the high and the middle of its band in milli-units."""
    source = metric.source
    marks = marks_of(source.high, source.low) if source is not None else (None, None)
    if source is None or marks[0] is None or marks[1] is None:
        return None
    high, low = milli(marks[0]), milli(marks[1])
    middle = max(1, (high + low) // 2)
    if metric.external is not None:
        amount = format_milli(middle)
        target = Target("AverageValue", average=amount) if averaged else Target("Value", amount)
        series = MetricName(source.name, dict(source.selector) if source.selector else None)
        return Metric("External", external=ExternalSource(series, target)), low, high, middle
    if not averaged:
        text = "an HPA compares usage per pod; write it as an external metric"
        notes.append(Note("lost", f"the total usage of {source.name}: {text}"))
        return None
    if source.selector:
        notes.append(Note("lost", f"the selector of {source.name}: an HPA reads all pods of its target"))
    name = source.name or ""
    target = Target("AverageValue", average=readable(name, of_milli(name, middle)))
    return Metric("Resource", resource=ResourceSource(name, target)), low, high, middle


def _tolerance(edge: int, middle: int) -> int:
    """How far an edge, times 1000, is from the middle, in thousandths of it."""
    return edge // middle - 1000


def _rules(
    factor: Any, pause: int | None, delay: int | None, tolerance: int, key: str, notes: list[Note]
) -> ScalingRules:
    percent = -(-milli(factor or 0) // 1000)
    if percent == 0:
        return FROZEN
    per = min(pause or 1, MAX_PERIOD)
    if per != pause:
        notes.append(Note("lost", f"{key}: a pause of {pause} s; a period has at most {MAX_PERIOD} s"))
    notes.append(Note("assumed", f"{key}: steps of {percent} % with pauses of {pause} s are {percent} % per {per} s"))
    window = min(delay or 0, MAX_WINDOW)
    if window:
        text = "an HPA then uses the safest recommendation of that time"
        notes.append(Note("assumed", f"{key}: the delay of {delay} s is a stabilization window: {text}"))
    return ScalingRules((limit(percent=percent, per=per),), window=window, tolerance=format_milli(max(0, tolerance)))


NO_SIZES = Note("lost", "all sizes: intervals, overlap, and policies of containers; pods stay as they are")


def from_hvpa(hvpa: Hvpa) -> Converted:
    notes = [NO_SIZES]
    held = [key for key in ("scale_up", "scale_down", "window") if getattr(hvpa, key) is not None]
    if held:
        notes.append(Note("lost", "update modes, minimum changes, stabilization durations and maintenance windows"))
    written = hpa_of(hvpa)
    low, high = counts_of(hvpa)
    if not hvpa.uses_hpa or not written.metrics:
        text = "the Hvpa has no metrics" if hvpa.uses_hpa else "the Hvpa counts by the sizes of its intervals"
        notes.append(Note("assumed", f"cpu at 80 % of the request: {text}"))
    made = HPA(
        hvpa.target or {},
        min_replicas=low,
        max_replicas=max(high, hvpa.max_replicas or 0),
        metrics=(written.metrics if hvpa.uses_hpa else None) or DEFAULT_METRICS,
        scale_up=written.scale_up,
        scale_down=written.scale_down,
        **metadata_like(hvpa),
    )
    return Converted((made,), tuple(notes))


def from_tortoise(tortoise: Tortoise) -> Converted:
    if tortoise.max_replicas is None:
        raise CannotConvertError("it has no maxReplicas, which an HPA needs; write spec.maxReplicas first")
    policies = written_policies(tortoise.autoscaling_policy)
    metrics = [
        Metric(
            "ContainerResource",
            container_resource=ContainerResourceSource(resource, container, Target("Utilization", utilization=80)),
        )
        for container, types in policies.items()
        for resource, word in types.items()
        if word == HORIZONTAL
    ]
    if policies and not metrics:
        raise CannotConvertError("it scales no resource horizontally, so an HPA would have nothing to do")
    notes = [
        Note("lost", "all sizes, and everything learned: bounds and targets that follow the hour of the week"),
        Note("assumed", "80 % of the request as the target: the Tortoise learns its own, which its status shows"),
        Note("check", f"the Tortoise edits an HPA with the same name, {tortoise.hpa_name}: better keep that one"),
    ]
    if tortoise.deletes_all:
        notes.append(Note("check", "deletionPolicy DeleteAll: with the Tortoise, the HPA is deleted"))
    made = HPA(
        tortoise.target or {},
        max_replicas=tortoise.max_replicas,
        metrics=metrics or DEFAULT_METRICS,
        scale_up=tortoise.behavior.scale_up if tortoise.behavior else None,
        scale_down=tortoise.behavior.scale_down if tortoise.behavior else None,
        **{**metadata_like(tortoise), "name": tortoise.hpa_name},
    )
    return Converted((made,), tuple(notes))
