"""HPA to WatermarkPodAutoscaler: a target becomes a single watermark, and its tolerance that of the watermark."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from hypot.authoring.convert.result import CannotConvertError, Converted, Note, TargetWorkload, metadata_like
from hypot.authoring.convert.steps import DEFAULT_WINDOW, steps_of
from hypot.core.amount import of_milli, readable
from hypot.core.quantity import format_milli, milli
from hypot.kinds.hpa import HPA
from hypot.kinds.hpa.defaults import with_defaults
from hypot.kinds.hpa.fields import Metric, ResourceSource
from hypot.kinds.values.names import label_value
from hypot.kinds.wpa import WPA
from hypot.kinds.wpa.fields import Algorithm, BandMetric, ExternalBand, ResourceBand, WatermarkRules

DEFAULT_TOLERANCE = 100
# A tolerance of zero means its default, and none is above 1.
_LEAST_TOLERANCE, _MOST_TOLERANCE = 1, 1000

_SINGLE = Note("assumed", "a single watermark acts as the target of an HPA: counts are rounded up in both directions")
_ROUNDS_DOWN = Note(
    "check",
    "Datadog's controller rounds down below a single watermark, so that it may remove and add a pod, endlessly; "
    "for it, write a lowWatermark of at most half the highWatermark",
)
_FIRST = Note(
    "check", "the first scaling of a new WatermarkPodAutoscaler waits for no delay, so pods may be removed at once"
)


def from_hpa(hpa: HPA, workload: TargetWorkload) -> Converted:
    notes: list[Note] = []
    complete = with_defaults(hpa)
    algorithm, metrics = _metrics(complete, workload, notes)
    low = complete.min_replicas or 0
    if low < 1:
        notes.append(Note("lost", "minReplicas 0: a WatermarkPodAutoscaler keeps at least one pod"))
    made = WPA(
        hpa.target or {},
        min_replicas=max(1, low),
        max_replicas=hpa.max_replicas or 0,
        metrics=metrics,
        algorithm=algorithm,
        tolerance=format_milli(_tolerance(hpa, notes)),
        scale_up=_rules(hpa, notes, grows=True),
        scale_down=_rules(hpa, notes, grows=False),
        # An HPA scales by a value of zero as by any other; usage is never ignored.
        tolerate_zero=True if any(metric.external is not None for metric in metrics) else None,
        **metadata_like(hpa),
    )
    return Converted((made,), tuple(dict.fromkeys([_SINGLE, _ROUNDS_DOWN, *notes])))


def _metrics(hpa: HPA, workload: TargetWorkload, notes: list[Note]) -> tuple[Algorithm, list[BandMetric]]:
    """All metrics of one algorithm: that of the first that can be written."""
    pods = _pods_of(hpa, workload)
    found = [pair for metric in hpa.metrics or () if (pair := _metric(metric, workload, pods, notes)) is not None]
    if not found:
        reasons = "; ".join(note.text for note in notes)
        raise CannotConvertError(f"no metric can be written for a WatermarkPodAutoscaler: {reasons}")
    algorithm = found[0][0]
    for other, band in found:
        if other != algorithm:
            name = band.source.name if band.source is not None else ""
            text = f"the metric {name}: pods may be removed that it needs; all metrics share the algorithm {algorithm}"
            notes.append(Note("lost", text))
    return algorithm, [band for other, band in found if other == algorithm]


class _MeasuredPods(NamedTuple):
    """What selects the pods that are measured, and what was assumed about it."""

    selector: Mapping[str, Any] | None
    assumed: str = ""


def _pods_of(hpa: HPA, workload: TargetWorkload) -> _MeasuredPods:
    """As the workload selects them; without its manifest, by the usual label."""
    if workload.selector is not None:
        return _MeasuredPods(workload.selector)
    name = (hpa.target.name if hpa.target is not None else None) or ""
    if any(label_value(name)):
        return _MeasuredPods(None)
    text = (
        f"the pods of {hpa.target} are assumed to have the label app={name}, and no others: without such pods nothing "
        "is scaled, and the usage of others is added; give the workload's manifest too, for its selector"
    )
    return _MeasuredPods({"matchLabels": {"app": name}}, text)


def _metric(
    metric: Metric, workload: TargetWorkload, pods: _MeasuredPods, notes: list[Note]
) -> tuple[Algorithm, BandMetric] | None:
    if metric.external is not None and metric.external.target is not None and metric.external.metric is not None:
        series, target = metric.external.metric, metric.external.target
        amount = target.value if target.value is not None else target.average
        algorithm: Algorithm = "absolute" if target.value is not None else "average"
        band = ExternalBand(series.name, dict(series.selector or {}), _plain(amount))
        return algorithm, BandMetric("External", external=band)
    if metric.resource is not None:
        amount = _amount(metric.resource, workload, notes)
        return None if amount is None else _resource_band(metric.resource.name or "", amount, pods, notes)
    what = metric.container_resource or metric.pods or metric.object
    name = getattr(what, "name", None) or getattr(getattr(what, "metric", None), "name", None)
    reason = (
        "usage is read for the whole pod only"
        if metric.container_resource is not None
        else "only External and Resource metrics are read; serve it as an external metric"
    )
    notes.append(Note("lost", f"the metric {name} of type {metric.type}: pods may be removed that it needs; {reason}"))
    return None


def _amount(source: ResourceSource, workload: TargetWorkload, notes: list[Note]) -> int | None:
    """The target per pod, in milli-units."""
    target, name = source.target, source.name or ""
    if target is None:
        return None
    if target.average is not None:
        return milli(target.average)
    percent, requested = target.utilization or 0, workload.total(name)
    if requested is None:
        fix = "give the workload's manifest too, with a request in every container"
        notes.append(Note("lost", f"{name} at {percent} % of the request: a watermark is an amount; {fix}"))
        return None
    amount = requested * percent // 100
    shown = readable(name, of_milli(name, amount))
    notes.append(Note("assumed", f"{percent} % of the requested {name} is {shown} per pod now"))
    notes.append(Note("check", f"the watermark of {name} does not follow the request if it changes"))
    return amount


def _resource_band(
    name: str, amount: int, pods: _MeasuredPods, notes: list[Note]
) -> tuple[Algorithm, BandMetric] | None:
    if pods.selector is None:
        fix = "give the workload's manifest too, for its selector"
        notes.append(Note("lost", f"the usage of {name}, which is measured by labels of pods: {fix}"))
        return None
    if pods.assumed:
        notes.append(Note("check", pods.assumed))
    mark = readable(name, of_milli(name, amount))
    return "average", BandMetric("Resource", resource=ResourceBand(name, pods.selector, mark))


def _plain(amount: Any) -> Any:
    return format_milli(milli(amount)) if isinstance(amount, float) else amount


def _tolerance(hpa: HPA, notes: list[Note]) -> int:
    """One for both directions: the smaller."""
    written = [rules.tolerance if rules is not None else None for rules in (hpa.scale_up, hpa.scale_down)]
    up, down = (DEFAULT_TOLERANCE if one is None else milli(one) for one in written)
    kept = min(max(min(up, down), _LEAST_TOLERANCE), _MOST_TOLERANCE)
    if up > kept:
        text = f"pods are added from {_share(1000 + kept)} of the target on, and by the HPA from {_share(1000 + up)}"
        notes.append(Note("lost", f"scaleUp: a tolerance of {format_milli(up)}: {text}"))
    if down > kept:
        text = f"pods are removed below {_share(1000 - kept)} of the target, and by the HPA "
        text += f"below {_share(1000 - down)}" if down < _MOST_TOLERANCE else "never"
        notes.append(Note("lost", f"scaleDown: a tolerance of {format_milli(down)}: {text}"))
    if min(up, down) < _LEAST_TOLERANCE:
        notes.append(Note("assumed", f"a tolerance of {format_milli(_LEAST_TOLERANCE)}: 0 would mean the default"))
    return kept


def _share(thousandths: int) -> str:
    return f"{format_milli(thousandths * 100)} %" if thousandths % 10 else f"{thousandths // 10} %"


def _rules(hpa: HPA, notes: list[Note], *, grows: bool) -> WatermarkRules:
    steps, differences = steps_of(hpa, grows=grows)
    notes += differences
    if steps.factor == 0:
        return WatermarkRules(0, steps.pause)
    given = hpa.scale_up if grows else hpa.scale_down
    usual = 0 if grows else DEFAULT_WINDOW
    window = given.window if given is not None and given.window is not None else usual
    delay = window if window > 0 else None
    if delay is not None:
        key, which = ("scaleUp", "lowest") if grows else ("scaleDown", "highest")
        text = (
            f"{key}: the stabilization window of {window} s is a delay: all that time the value must be outside, and "
        )
        text += f"then the count of that moment is used; an HPA uses the {which} of its window"
        notes.append(Note("assumed", text if grows else f"{text}, so that fewer pods are removed"))
        if not grows:
            notes.append(_FIRST)
    return WatermarkRules(steps.percent, steps.pause, delay)
