"""The replica recommendation as a source: what the metrics of an HPA propose.

Only utilization of requests gives a total, and only for its own resource: what is used, divided by the target. It is
exact, so it also counts within the tolerance. Every other metric votes for a number of replicas: multiplied by a
request it would rise with every resize. So does a utilization where the size of pods may not change.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from hypot.core.amount import CPU, RESOURCES, brief, of_milli, to_milli
from hypot.core.axes.gate import averaged, is_peak, lags_after_removal, may_be_noise, without_noise
from hypot.core.replicas import bounds
from hypot.kinds.base import count_of
from hypot.kinds.derived import derived
from hypot.kinds.hpa import HPA
from hypot.kinds.hpa.defaults import with_defaults
from hypot.kinds.hpa.fields import Metric
from hypot.kinds.hvpa import Hvpa, hpa_of
from hypot.kinds.values.version import Version
from hypot.kinds.vpa.allowed import allowed
from hypot.policy.horizontal.hpa import metric_context
from hypot.policy.horizontal.hpa_metrics import (
    RequestUse,
    read_metric,
    request_use,
    utilization_count,
    utilization_total,
)
from hypot.policy.horizontal.proposal import CannotRead, MetricContext
from hypot.policy.hvpa.gates import scale_type, settle_time, threshold
from hypot.policy.hvpa.proposal import Bound, HvpaContext, SizeProposal, kept_step
from hypot.policy.model.current_size import CurrentSize
from hypot.policy.model.decision import MetricReading, Step, show_seconds
from hypot.policy.model.seen import CountAdvice, Failure
from hypot.policy.model.size import Place
from hypot.policy.model.state import RecentUse
from hypot.policy.stages.estimate import knobs_for
from hypot.policy.stages.restrain import Limited, limit_step

NAME = "hpa"


def count_proposal(context: HvpaContext) -> SizeProposal | None:
    """From our own reading of the metrics, or from an HPA's status if configured or if no metric can be read."""
    if not context.hvpa.uses_hpa:
        return None
    settings, advice = context.settings, context.seen.count_advice
    hpa = _counter(context.hvpa, settings.kubernetes, tuple(settings.gates.items()))
    if context.hvpa.recommendations == "objects":
        return _from_status(context, hpa, advice)
    look = metric_context(hpa, context.seen, settings)
    readings = tuple([read_metric(metric, look) for metric in hpa.metrics or ()])
    if advice is not None and all(reading.proposal is None for reading in readings):
        return _from_status(context, hpa, advice)
    return _from_readings(context, hpa, readings, look)


@derived
def _counter(hvpa: Hvpa, kubernetes: Version, gates: tuple[tuple[str, bool], ...]) -> HPA:
    """The HPA that an Hvpa describes."""
    return with_defaults(hpa_of(hvpa), kubernetes, dict(gates))


class UtilizationMetric(NamedTuple):
    """A metric that gives a total: the resource, its target in percent, and the container if it is for only one."""

    resource: str
    target: int
    container: str = ""


def utilization_metric(metric: Metric) -> UtilizationMetric | None:
    """The metric as one that gives a total; None if it only votes for a count."""
    source = metric.resource if metric.type == "Resource" else metric.container_resource
    if metric.type not in {"Resource", "ContainerResource"} or source is None or source.target is None:
        return None
    if source.name not in RESOURCES or source.target.utilization is None or source.target.average is not None:
        return None
    return UtilizationMetric(source.name, source.target.utilization, getattr(source, "container", None) or "")


def _from_readings(
    context: HvpaContext, hpa: HPA, readings: tuple[MetricReading, ...], look: MetricContext
) -> SizeProposal:
    steps = [reading.step for reading in readings]
    broken = [reading for reading in readings if reading.proposal is None]
    missing = [reading.error for reading in broken] if readings else ["there is no metric"]
    asked: dict[Place, UtilizationNeed] = {}
    counts: list[int] = []
    for metric, reading in zip(hpa.metrics or (), readings, strict=True):
        by_total = utilization_metric(metric)
        if reading.proposal is None:
            continue
        if by_total is None:
            counts.append(reading.proposal)
            continue
        measured = list(_measured_by(context, by_total))
        if not measured:
            counts.append(reading.proposal)
        for one in measured:
            place = (one.container, by_total.resource)
            try:
                use = request_use(by_total.resource, one.container, by_total.target, look)
            except CannotRead as error:
                missing.append(str(error))
                continue
            if not _is_sized(context, *place):
                counts.append(utilization_count(use, by_total.target, look)[0])
                continue
            now = to_milli(by_total.resource, one.totals[by_total.resource])
            total = of_milli(by_total.resource, utilization_total(use, by_total.target, now))
            if samples_lag(context):
                total = max(total, one.totals[by_total.resource])
            asked[place] = asked.get(place, NO_NEED).with_metric(total, by_total.target)
            shown = max(asked[place].total, least_of(context, *place) * context.replicas)
            steps.append(_total_step(one, by_total, use, shown))
    totals, recent, calmed = _without_noise(context, asked)
    steps += calmed
    count = _bounded(hpa, max(counts)) if counts else None
    steps += _bound_steps(hpa, max(counts)) if counts else []
    # A total that is already there asks for no other count.
    has = {(one.container, resource): one.totals[resource] for one in context.current_sizes for resource in RESOURCES}
    bounded: dict[Place, Bound] = {place: "exactly" for place, total in totals.items() if total == has[place]}
    why = missing[0] if missing else ""
    return SizeProposal(NAME, tuple(steps), totals, replicas=count, bounded=bounded, recent=recent, missing=why)


class UtilizationNeed(NamedTuple):
    """The largest total that utilization metrics ask for, and the usage that it stands for."""

    total: int
    used: float

    def with_metric(self, total: int, target: int) -> "UtilizationNeed":
        return UtilizationNeed(max(self.total, total), max(self.used, float(total) * target / 100.0))


NO_NEED = UtilizationNeed(0, 0.0)


def _without_noise(
    context: HvpaContext, asked: Mapping[Place, UtilizationNeed]
) -> tuple[dict[Place, int], dict[str, RecentUse], list[Step]]:
    """The totals without what does not last, what to remember of them, and the steps that say so."""
    totals: dict[Place, int] = {}
    recent: dict[str, RecentUse] = {}
    steps: list[Step] = []
    sizes = {one.container: one.totals for one in context.current_sizes}
    window = scale_type(context.hvpa, "down").stabilization_seconds or 0.0
    last_down = context.vertical.last_down
    soon_after = last_down is not None and may_be_noise(last_down, window, context.seen.now)
    for place, need in asked.items():
        now, key = sizes[place[0]][place[1]], "/".join(place)
        recent[key] = after = _recent_use(need, context.vertical.recent.get(key), window, context.seen.now)
        needed = threshold(context.hvpa, "up", place[1], now)
        doubted = soon_after and not context.near_cap(place)
        total = without_noise(need.total, need.used, after.mean, after.peak, now, needed, doubted)
        if total != need.total:
            steps.append(_noise_step(place, need.total, total, window))
        kept = context.least_kept(place, now)
        if kept > total:
            steps.append(kept_step(place, kept))
        totals[place] = max(total, kept, least_of(context, *place) * context.replicas)
    return totals, recent, steps


def _recent_use(need: UtilizationNeed, before: RecentUse | None, window: float, now: float) -> RecentUse:
    if before is None:
        return RecentUse(float(need.total), now, need.used, now)
    mean = averaged(before.mean, before.at, need.total, window, now)
    if is_peak(need.used, before.peak, before.peak_at, window, now):
        return RecentUse(mean, now, need.used, now)
    return RecentUse(mean, now, before.peak, before.peak_at)


def _noise_step(place: Place, asked: int, total: int, window: float) -> Step:
    container, resource = place
    what = f"{resource} of {container} counts as {brief(resource, total)}, not as {brief(resource, asked)}"
    why = (
        f"a rise soon after a scale-down counts once the average over about {show_seconds(window)} shows it too, or "
        "once usage reaches the requests or nears what pods can get"
        if asked > total
        else f"usage had this peak in the last {show_seconds(window)}"
    )
    return Step("recommend", "without-noise", None, None, f"{what}: {why}.", {"asked": asked, "total": total})


def samples_lag(context: HvpaContext) -> bool:
    """Whether samples may still be of the time before replicas were removed, and so too low for those that remain."""
    recount = context.vertical.recount
    if recount is None:
        return False
    return lags_after_removal(recount.at, recount.before, recount.after, settle_time(context.hvpa), context.seen.now)


def _measured_by(context: HvpaContext, metric: UtilizationMetric) -> Iterator[CurrentSize]:
    """The containers that this metric measures and that have a request."""
    for one in context.current_sizes:
        if metric.container in {"", one.container} and one.totals[metric.resource]:
            yield one


def _is_sized(context: HvpaContext, container: str, resource: str) -> bool:
    return container not in context.switched_off and resource in allowed(context.hvpa, container).controlled


def least_of(context: HvpaContext, container: str, resource: str) -> int:
    """The least that the recommender would give each pod, so that an idle workload keeps a usable size."""
    knobs = knobs_for(context.hvpa, container, context.settings.vpa)
    sized = [one for one in context.current_sizes if one.container not in context.switched_off]
    return (knobs.pod_min_cpu if resource == CPU else knobs.pod_min_memory) // len(sized)


def _total_step(one: CurrentSize, metric: UtilizationMetric, use: RequestUse, total: int) -> Step:
    resource = metric.resource
    used = brief(resource, of_milli(resource, use.used))
    sentence = (
        f"{one.container} uses {used} of {resource} in total, over {count_of(use.matched, 'measured pod')}: at "
        f"{metric.target} % of its requests it needs {brief(resource, total)} in total."
    )
    return Step("recommend", "utilization-total", None, None, sentence, {"container": one.container, "total": total})


def _from_status(context: HvpaContext, hpa: HPA, advice: CountAdvice | Failure | None) -> SizeProposal:
    if advice is None or isinstance(advice, Failure):
        message = "there is no HorizontalPodAutoscaler for this workload" if advice is None else advice.message
        return _silent(message)
    if advice.current != context.replicas:
        return _silent(
            f"{advice.origin} was computed at {count_of(advice.current, 'replica')}, not at {context.replicas}"
        )
    sentence = f"According to {advice.origin} there should be {count_of(advice.desired, 'replica')}."
    step = Step("recommend", "count", context.replicas, advice.desired, sentence, {"origin": advice.origin})
    metrics = [utilization_metric(metric) for metric in hpa.metrics or ()]
    by_total = [metric for metric in metrics if metric is not None]
    count = _bounded(hpa, advice.desired)
    steps = (step, *_bound_steps(hpa, advice.desired))
    if len(by_total) < len(metrics):
        return SizeProposal(NAME, steps, replicas=count)
    if by_total and all((metric.resource, metric.container) in advice.utilization for metric in by_total):
        totals, recent, calmed = _without_noise(context, _reported_needs(context, advice, by_total))
        return SizeProposal(NAME, (step, *calmed), totals, replicas=None if totals else count, recent=recent)
    totals = _totals_of_count(context, count)
    # Without a container that may be sized only the count can change.
    return SizeProposal(NAME, steps, totals, exact=False, replicas=None if totals else count)


def _reported_needs(
    context: HvpaContext, advice: CountAdvice, metrics: list[UtilizationMetric]
) -> dict[Place, UtilizationNeed]:
    """The current totals, scaled by the utilization that the status reports."""
    needs: dict[Place, UtilizationNeed] = {}
    for metric in metrics:
        percent = advice.utilization[metric.resource, metric.container]
        for one in _measured_by(context, metric):
            place = (one.container, metric.resource)
            if _is_sized(context, *place):
                total = -(-one.totals[metric.resource] * percent // metric.target)
                needs[place] = needs.get(place, NO_NEED).with_metric(total, metric.target)
    return needs


def _totals_of_count(context: HvpaContext, desired: int) -> dict[Place, int]:
    """The current total of each container and resource, scaled from the current to the desired count."""
    return {
        (one.container, resource): one.totals[resource] * desired // context.replicas
        for one in context.current_sizes
        for resource in RESOURCES
        if one.container not in context.switched_off and one.totals[resource]
    }


def _bounded(hpa: HPA, count: int) -> int:
    """A vote for a count stays within the bounds of the HPA."""
    return min(max(count, hpa.min_replicas or 1), hpa.max_replicas or 1)


def _bound_steps(hpa: HPA, asked: int) -> list[Step]:
    """Says that a bound of the HPA limits a vote."""
    count, low, high = _bounded(hpa, asked), hpa.min_replicas or 1, hpa.max_replicas or 1
    limited = Limited(count, bounds.Bound.TOO_FEW if count > asked else bounds.Bound.TOO_MANY)
    return [] if count == asked else [limit_step(asked, limited, low, high, {})]


def _silent(message: str) -> SizeProposal:
    step = Step(
        "recommend", "no-count", None, None, f"No number of replicas is recommended: {message.removesuffix('.')}."
    )
    return SizeProposal(NAME, (step,), missing=message)
