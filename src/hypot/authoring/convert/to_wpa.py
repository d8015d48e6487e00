"""HPA to WatermarkPodAutoscaler: a target becomes a band without width, and its tolerance the band's."""

from typing import Any

from hypot.authoring.convert.result import CannotConvertError, Converted, Note, Workload, metadata_like
from hypot.core.amount import of_milli, readable
from hypot.core.quantity import format_milli, milli
from hypot.kinds.hpa import HPA
from hypot.kinds.hpa.defaults import with_defaults
from hypot.kinds.hpa.fields import Metric, ScalingRules
from hypot.kinds.wpa import WPA
from hypot.kinds.wpa.fields import Algorithm, BandMetric, ExternalBand, ResourceBand, WatermarkRules

# An HPA decides this often, and has no pause after a scaling.
SYNC = 15
DEFAULT_TOLERANCE = 100
DEFAULT_WINDOW = 300
# A WatermarkPodAutoscaler must keep something.
_MOST_DOWN = 99
# A tolerance of zero means its default.
_LEAST_TOLERANCE = 1


def from_hpa(hpa: HPA, workload: Workload) -> Converted:
    notes: list[Note] = []
    complete = with_defaults(hpa)
    algorithm, metrics = _metrics(complete.metrics or (), workload, notes)
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
        scale_up=_up(hpa.scale_up, notes),
        scale_down=_down(hpa.scale_down, notes),
        **metadata_like(hpa),
    )
    return Converted((made,), tuple(notes))


def _metrics(metrics: tuple[Metric, ...], workload: Workload, notes: list[Note]) -> tuple[Algorithm, list[BandMetric]]:
    """All metrics of one algorithm: that of the first that can be written."""
    found = [pair for metric in metrics if (pair := _metric(metric, workload, notes)) is not None]
    if not found:
        reasons = "; ".join(note.text for note in notes)
        raise CannotConvertError(f"no metric can be written for a WatermarkPodAutoscaler: {reasons}")
    algorithm = found[0][0]
    for other, band in found:
        if other != algorithm:
            name = band.source.name if band.source is not None else ""
            notes.append(Note("lost", f"the metric {name}: all metrics share the algorithm, which is {algorithm}"))
    return algorithm, [band for other, band in found if other == algorithm]


def _metric(metric: Metric, workload: Workload, notes: list[Note]) -> tuple[Algorithm, BandMetric] | None:
    if metric.external is not None and metric.external.target is not None and metric.external.metric is not None:
        series, target = metric.external.metric, metric.external.target
        amount = target.value if target.value is not None else target.average
        algorithm: Algorithm = "absolute" if target.value is not None else "average"
        band = ExternalBand(series.name, dict(series.selector or {}), _plain(amount), _plain(amount))
        return algorithm, BandMetric("External", external=band)
    if metric.resource is not None:
        return _resource(metric.resource, workload, notes)
    what = metric.container_resource or metric.pods or metric.object
    name = getattr(what, "name", None) or getattr(getattr(what, "metric", None), "name", None)
    reason = (
        "usage is read for the whole pod only"
        if metric.container_resource is not None
        else "only External and Resource metrics are read; serve it as an external metric"
    )
    notes.append(Note("lost", f"the metric {name} of type {metric.type}: {reason}"))
    return None


def _resource(source: Any, workload: Workload, notes: list[Note]) -> tuple[Algorithm, BandMetric] | None:
    target, name = source.target, source.name or ""
    if target.average is not None:
        return "average", _resource_band(name, milli(target.average))
    requested = workload.total(name)
    if requested is None:
        fix = "give the workload's manifest too, with a request in every container"
        notes.append(Note("lost", f"{name} at {target.utilization} % of the request: a band has amounts; {fix}"))
        return None
    amount = requested * target.utilization // 100
    band = _resource_band(name, amount)
    shown = band.resource.high if band.resource is not None else ""
    notes.append(Note("assumed", f"{target.utilization} % of the requested {name} is {shown} per pod now"))
    notes.append(Note("check", f"the watermarks of {name} do not follow the request if it changes"))
    return "average", band


def _resource_band(name: str, amount: int) -> BandMetric:
    text = readable(name, of_milli(name, amount))
    return BandMetric("Resource", resource=ResourceBand(name, {}, text, text))


def _plain(amount: Any) -> Any:
    return format_milli(milli(amount)) if isinstance(amount, float) else amount


def _tolerance(hpa: HPA, notes: list[Note]) -> int:
    written = [rules.tolerance if rules is not None else None for rules in (hpa.scale_up, hpa.scale_down)]
    up, down = (DEFAULT_TOLERANCE if one is None else milli(one) for one in written)
    if up != down:
        notes.append(Note("lost", f"a tolerance per direction: {format_milli(min(up, down))} holds for both"))
    if min(up, down) < _LEAST_TOLERANCE:
        notes.append(Note("assumed", f"a tolerance of {format_milli(_LEAST_TOLERANCE)}: 0 would mean the default"))
    return max(min(up, down), _LEAST_TOLERANCE)


def _up(rules: ScalingRules | None, notes: list[Note]) -> WatermarkRules:
    percent, pause = _step(rules, 100, "scaleUp", notes)
    window = rules.window if rules is not None else None
    return WatermarkRules(percent, pause, _delay(window or 0, "scaleUp", notes))


def _down(rules: ScalingRules | None, notes: list[Note]) -> WatermarkRules:
    percent, pause = _step(rules, _MOST_DOWN, "scaleDown", notes)
    window = rules.window if rules is not None and rules.window is not None else DEFAULT_WINDOW
    return WatermarkRules(min(percent, _MOST_DOWN), pause, _delay(window, "scaleDown", notes))


def _step(rules: ScalingRules | None, usual: int, key: str, notes: list[Note]) -> tuple[int, int]:
    """The largest step in percent, and the pause after a scaling."""
    if rules is not None and rules.select == "Disabled":
        return 0, SYNC
    limits = (rules.limits if rules is not None else None) or ()
    percents = [one for one in limits if one.type == "Percent"]
    counted = [one for one in limits if one.type != "Percent"]
    notes += [
        Note("lost", f"{key}: at most {one.value} pods per {one.period} s; steps are in percent") for one in counted
    ]
    if not percents:
        if limits:
            notes.append(Note("assumed", f"{key}: steps of {usual} % every {SYNC} s"))
        return usual, SYNC
    chosen = (min if rules is not None and rules.select == "Min" else max)(percents, key=_rate)
    if len(percents) > 1:
        notes.append(Note("lost", f"{key}: all policies but {chosen.value} % per {chosen.period} s"))
    notes.append(Note("assumed", f"{key}: {chosen.value} % per {chosen.period} s is a step, and a pause after it"))
    return chosen.value or 0, max(1, chosen.period or SYNC)


def _rate(limit: Any) -> float:
    return float((limit.value or 0) / max(1, limit.period or 1))


def _delay(window: int, key: str, notes: list[Note]) -> int | None:
    if window <= 0:
        return None
    text = "all that time the value must be outside; an HPA uses the safest recommendation of its window instead"
    notes.append(Note("assumed", f"{key}: the stabilization window of {window} s is a delay: {text}"))
    return window
