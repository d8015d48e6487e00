"""To a HorizontalPodAutoscaler: a band becomes its middle and two tolerances."""

from collections.abc import Iterator
from math import ceil
from typing import NamedTuple

from hypot.authoring.convert.result import CannotConvertError, Converted, Note, metadata_like
from hypot.authoring.convert.steps import DEFAULT_WINDOW
from hypot.core.amount import of_milli, readable
from hypot.core.quantity import format_milli, milli
from hypot.core.replicas.watermark import count_down, count_up, lower_edge, upper_edge
from hypot.kinds.autoscaler import WorkloadAutoscaler
from hypot.kinds.base import Kind, count_of
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
from hypot.kinds.hvpa.fields import LEAST_CHANGE, MAINTENANCE_WINDOW, OFF, ScaleType
from hypot.kinds.hvpa.intervals import counts_of
from hypot.kinds.meta import MetricName
from hypot.kinds.node import replaced
from hypot.kinds.tortoise import Tortoise
from hypot.kinds.tortoise.fields import EMERGENCY
from hypot.kinds.tortoise.policies import HORIZONTAL, written_policies
from hypot.kinds.values.version import opened_in
from hypot.kinds.wpa import WPA, with_defaults
from hypot.kinds.wpa.fields import BandMetric, marks_of

# How many pods an example has.
_PODS = 10
_OTHERS = {
    "converge": "convergeTowardsWatermark: an HPA changes nothing within its tolerance",
    "min_available": "minAvailableReplicaPercentage: an HPA scales however many pods are ready",
    "readiness_delay": "readinessDelaySeconds: a flag of kube-controller-manager sets it for all HPAs",
}


class _Band(NamedTuple):
    """A metric, and its watermarks and the target between them in milli-units."""

    metric: Metric
    name: str
    low: int
    high: int
    target: int
    # Whether only one watermark was written: then counts are rounded up, as by an HPA.
    single: bool


def from_wpa(wpa: WPA) -> Converted:
    if wpa.recommender is not None:
        raise CannotConvertError("its counts come from a recommender, and an HPA only follows metrics")
    complete, notes = with_defaults(wpa), list[Note]()
    averaged = complete.algorithm == "average"
    bands = [band for metric in complete.metrics or () if (band := _band(metric, averaged, notes)) is not None]
    if not bands:
        raise CannotConvertError("; ".join(note.text for note in notes))
    share = milli(complete.tolerance or 0)
    up = min(_tolerance(band.high * (1000 + share), band.target) for band in bands)
    down = min(-_tolerance(band.low * (1000 - share), band.target) for band in bands)
    notes += [note for band in bands for note in _notes_of_band(band, share, wpa.max_replicas or 1)]
    since = opened_in("HPAConfigurableTolerance")
    notes.append(Note("check", f"older clusters than {since} drop the tolerances silently, and act at 10 %"))
    if len(bands) > 1:
        text = (
            f"pods are added from {up / 10:g} % above each target on, and may be removed from {down / 10:g} % below it"
        )
        notes.append(Note("lost", f"a band for each metric: the narrowest tolerances hold for all: {text}"))
    if any(band.metric.external is not None for band in bands) and not wpa.tolerate_zero:
        text = (
            "a value of zero changes nothing without tolerateZero; with the HPA, pods are removed down to minReplicas"
        )
        notes.append(Note("lost", text))
    if (complete.modulo or 1) > 1:
        more = count_of((complete.modulo or 1) - 1, "pod")
        text = f"counts in multiples of {complete.modulo}, rounded up: up to {more} more may be removed"
        notes.append(Note("lost", text))
    notes += [Note("lost", text) for name, text in _OTHERS.items() if getattr(wpa, name) not in {None, "", False}]
    made = HPA(
        wpa.target or {},
        min_replicas=complete.min_replicas,
        max_replicas=wpa.max_replicas or 0,
        metrics=[band.metric for band in bands],
        scale_up=_up(complete, up, notes),
        scale_down=_down(complete, down, notes),
        **metadata_like(wpa),
    )
    return Converted((made,), tuple(notes))


def _band(metric: BandMetric, averaged: bool, notes: list[Note]) -> _Band | None:
    source = metric.source
    marks = marks_of(source.high, source.low) if source is not None else (None, None)
    if source is None or marks[0] is None or marks[1] is None:
        return None
    name, high, low = source.name or "", milli(marks[0]), milli(marks[1])
    middle, single = max(1, (high + low) // 2), source.high is None or source.low is None
    if metric.external is not None:
        amount = format_milli(middle)
        target = Target("AverageValue", average=amount) if averaged else Target("Value", amount)
        series = MetricName(source.name, dict(source.selector) if source.selector else None)
        written = Metric("External", external=ExternalSource(series, target))
        return _Band(written, name, low, high, middle, single)
    if not averaged:
        text = "an HPA compares usage per pod; write it as an external metric"
        notes.append(Note("lost", f"the total usage of {name}: pods may be removed that it needs; {text}"))
        return None
    if source.selector:
        notes.append(Note("lost", f"the selector of {name}: an HPA reads all pods of its target"))
    target = Target("AverageValue", average=readable(name, of_milli(name, middle)))
    return _Band(Metric("Resource", resource=ResourceSource(name, target)), name, low, high, middle, single)


def _tolerance(edge: int, middle: int) -> int:
    """How far an edge, times 1000, is from the middle, in thousandths of it."""
    return edge // middle - 1000


def _notes_of_band(band: _Band, share: int, most: int) -> Iterator[Note]:
    """How far each goes just outside the band: both watermarks are nearer than the target between them."""
    if band.low == band.high:
        return
    upper, lower = upper_edge(band.high, share), lower_edge(band.low, share)
    low, middle, high = map(format_milli, (band.low, band.target, band.high))
    yield Note("assumed", f"{band.name}: the target {middle}, with tolerances that begin to act where the band ends")
    pods = min(_PODS, max(1, most // 2))
    to_high, to_middle = (min(count_up(pods * (upper + 1), 1, mark), most) for mark in (band.high, band.target))
    text = f"{band.name}: counts follow {middle}, and above the band they followed {high}, below it {low}: just above, "
    text += f"{pods} pods become {to_middle} and became {to_high}"
    if lower > 0:
        to_low = count_down(pods * (lower - 1), 1, band.low, band.single)
        fewer = max(1, count_up(pods * (lower - 1), 1, band.target))
        text += f"; just below, {fewer} and {to_low}, so more pods may be removed"
    yield Note("lost", f"{text}, as far as one step goes")


def _up(complete: WPA, tolerance: int, notes: list[Note]) -> ScalingRules:
    factor, pause, delay = milli(complete.up_factor or 0), complete.up_forbidden_window or 1, complete.up_delay or 0
    if factor == 0:
        return FROZEN
    percent, per = -(-factor // 1000), min(pause, MAX_PERIOD)
    text = (
        f"scaleUp: steps of {_percent(factor)} with pauses of {pause} s after any scaling are {percent} % per {per} s"
    )
    notes.append(Note("assumed", f"{text}; right after pods were removed, an HPA may add some"))
    window = min(delay, MAX_WINDOW)
    if window:
        text = f"scaleUp: the delay of {delay} s is a stabilization window of {window} s"
        notes.append(Note("assumed", f"{text}: an HPA then uses the lowest recommendation of that time"))
    limits = (limit(percent=percent, per=per),)
    return ScalingRules(limits, window=window, tolerance=format_milli(max(0, tolerance)))


def _down(complete: WPA, tolerance: int, notes: list[Note]) -> ScalingRules:
    """The window is as long as the pause, too: so nothing is removed right after pods were added."""
    factor, delay = milli(complete.down_factor or 0), complete.down_delay or 0
    pause = complete.down_forbidden_window or 1
    if factor == 0:
        return FROZEN
    percent, per = max(1, factor // 1000), min(pause, MAX_PERIOD)
    text = f"scaleDown: steps of {_percent(factor)} with pauses of {pause} s are {percent} % per {per} s"
    notes.append(Note("assumed", f"{text}, rounded up: a step may remove one more pod"))
    if percent * 1000 > factor:
        text = f"scaleDown: the least step is 1 %, so more pods are removed than by {_percent(factor)}"
        notes.append(Note("lost", text))
    if per < pause:
        text = f"a period has at most {per} s, so within {pause} s pods are removed {-(-pause // per)} times"
        notes.append(Note("lost", f"scaleDown: a pause of {pause} s: {text}"))
    longest = max(pause, delay)
    window = min(longest, MAX_WINDOW)
    text = f"scaleDown: the pause after any scaling and the delay are a stabilization window of {window} s"
    notes.append(Note("assumed", f"{text}: an HPA then uses the highest recommendation of that time"))
    if window < longest:
        notes.append(Note("lost", f"scaleDown: a wait of {longest} s: after {window} s, pods may be removed"))
    limits = (limit(percent=percent, per=per),)
    return ScalingRules(limits, window=window, tolerance=format_milli(max(0, tolerance)))


def _percent(factor: int) -> str:
    """A factor in thousandths of a percent."""
    return f"{factor / 1000:g} %"


NO_SIZES = Note("lost", "all sizes: intervals, overlap, and policies of containers; pods stay as they are")


def from_hvpa(hvpa: Hvpa) -> Converted:
    notes = [NO_SIZES]
    written = hpa_of(hvpa)
    low, high = counts_of(hvpa)
    if not hvpa.uses_hpa or not written.metrics:
        text = "the Hvpa has no metrics" if hvpa.uses_hpa else "the Hvpa counts by the sizes of its intervals"
        notes.append(Note("assumed", f"cpu at 80 % of the request: {text}"))
    text = "an HPA has a tolerance, of 10 % by default, so pods may be removed for a smaller change"
    notes.append(Note("lost", f"minimum changes, which are {_least_changes()} if absent: {text}"))
    made = HPA(
        hvpa.target or {},
        min_replicas=low,
        max_replicas=max(high, hvpa.max_replicas or 0),
        metrics=(written.metrics if hvpa.uses_hpa else None) or DEFAULT_METRICS,
        scale_up=_held(written.scale_up, hvpa.scale_up, "scaleUp", 0, notes),
        scale_down=_held(written.scale_down, hvpa.scale_down, "scaleDown", DEFAULT_WINDOW, notes),
        **metadata_like(hvpa),
    )
    return Converted((made,), tuple(notes))


def _least_changes() -> str:
    return " and ".join(f"{amount} of {resource}" for resource, amount in LEAST_CHANGE.items())


def _held(
    rules: ScalingRules | None, held: ScaleType | None, key: str, usual: int, notes: list[Note]
) -> ScalingRules | None:
    """The rules of one direction, with what holds the Hvpa back in it."""
    if held is None:
        return rules
    if held.mode == OFF:
        return FROZEN
    if held.mode == MAINTENANCE_WINDOW:
        text = "an HPA acts at any time" if key == "scaleUp" else "with an HPA, pods are removed at any time"
        notes.append(Note("lost", f"{key}: the maintenance window: {text}"))
    wait = ceil(held.stabilization_seconds or 0.0)
    window = usual if rules is None or rules.window is None else rules.window
    if wait <= window:
        return rules
    text = f"to wait {held.stabilization} after the last change is a stabilization window of {min(wait, MAX_WINDOW)} s"
    notes.append(Note("assumed", f"{key}: {text}"))
    if wait > MAX_WINDOW and key == "scaleDown":
        notes.append(Note("lost", f"{key}: a wait of {wait} s: after {MAX_WINDOW} s, pods may be removed"))
    return replaced(rules or ScalingRules(), window=min(wait, MAX_WINDOW))


def from_tortoise(tortoise: Tortoise) -> Converted:
    """An HPA of the same name."""
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
        Note(
            "check", "minReplicas is 1, and pods may be removed down to it: write the minimum that the Tortoise learned"
        ),
    ]
    if tortoise.mode == EMERGENCY:
        notes.append(Note("lost", "the mode Emergency, which keeps maxReplicas: pods may be removed"))
    made = HPA(
        tortoise.target or {},
        max_replicas=tortoise.max_replicas,
        metrics=metrics or DEFAULT_METRICS,
        scale_up=tortoise.behavior.scale_up if tortoise.behavior else None,
        scale_down=tortoise.behavior.scale_down if tortoise.behavior else None,
        **metadata_like(tortoise),
    )
    return Converted((made,), tuple(notes))


def from_autoscaler(autoscaler: WorkloadAutoscaler) -> Converted:
    if not autoscaler.counts:
        raise CannotConvertError(f"it has the axes {autoscaler.axes}, so it sets no replicas, which is all an HPA does")
    notes = [
        Note("lost", "everything learned: which rule is cheapest, and how soon pods serve"),
        Note("assumed", "cpu at 80 % of the request: an Autoscaler has no target"),
        Note("check", "an HPA removes pods after its window of 300 s, whatever the Autoscaler learned"),
    ]
    if autoscaler.sizes:
        notes.append(Note("lost", "all sizes: pods stay as they are, so check that their requests are right"))
    if autoscaler.metrics is not None or autoscaler.objective is not None:
        notes.append(Note("lost", "the objective and the metrics of requests"))
    made = HPA(
        autoscaler.target or {},
        min_replicas=autoscaler.min_replicas,
        max_replicas=autoscaler.max_replicas,
        metrics=DEFAULT_METRICS,
        **metadata_like(autoscaler),
    )
    return Converted((made,), tuple(notes))


def named_as_edited(made: Converted, tortoise: Tortoise) -> Converted:
    """The same HPA in place of the one that the Tortoise edits."""
    notes = [Note("check", f"HPA {tortoise.hpa_name}, which the Tortoise edits, has this name: better keep that one")]
    if tortoise.deletes_all and not tortoise.names_hpa:
        notes.append(Note("check", "deletionPolicy DeleteAll: with the Tortoise, the HPA is deleted"))
    named = [_renamed(one, tortoise.hpa_name) for one in made.objects]
    return Converted(tuple(named), (*made.notes, *notes))


def beside_edited(made: Converted, tortoise: Tortoise) -> Converted:
    """Objects of other kinds, which must not act beside the HPA that the Tortoise edits."""
    text = f"delete HPA {tortoise.hpa_name}, too, if it exists: the Tortoise edits it, and it scales the same workload"
    return Converted(made.objects, (*made.notes, Note("check", text)))


def _renamed(one: Kind, name: str) -> Kind:
    return replaced(one, metadata={**one.metadata, "name": name})
