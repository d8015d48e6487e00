"""The replica recommendation as a source: what the metrics of an HPA propose.

Only utilization of requests gives a total, because only there replicas times request is what is needed. Every other
metric votes for a number of replicas: multiplied by a request it would rise with every resize.
"""

from functools import lru_cache

from hypot.core.amount import RESOURCES
from hypot.kinds.hpa import HPA
from hypot.kinds.hpa.defaults import with_defaults
from hypot.kinds.hpa.fields import Metric
from hypot.kinds.hvpa import Hvpa, hpa_of
from hypot.kinds.node import Itself
from hypot.kinds.version import Version
from hypot.policy.horizontal.hpa import recommend
from hypot.policy.hvpa.proposal import HvpaContext, SizeProposal
from hypot.policy.model.decision import MetricReading, Step
from hypot.policy.model.seen import CountAdvice, Failure
from hypot.policy.model.size import Place

NAME = "hpa"


def count_proposal(context: HvpaContext) -> SizeProposal | None:
    """From our own reading of the metrics, or from an HPA's status if configured or if no metric can be read."""
    if not context.hvpa.uses_hpa:
        return None
    settings, advice = context.settings, context.seen.count_advice
    hpa = _counter(Itself(context.hvpa), settings.kubernetes, tuple(settings.gates.items()))
    if context.hvpa.recommendations == "objects":
        return _from_status(context, hpa, advice)
    readings = recommend(hpa, context.seen, settings)
    if advice is not None and all(reading.proposal is None for reading in readings):
        return _from_status(context, hpa, advice)
    return _from_readings(context, hpa, readings)


@lru_cache(4096)
def _counter(this: Itself[Hvpa], kubernetes: Version, gates: tuple[tuple[str, bool], ...]) -> HPA:
    """The HPA that an Hvpa describes; cached, because every decision needs it."""
    return with_defaults(hpa_of(this.value), kubernetes, dict(gates))


def makes_total(metric: Metric) -> bool:
    """Whether replicas times request is the total that this metric asks for."""
    source = metric.resource if metric.type == "Resource" else metric.container_resource
    if metric.type not in {"Resource", "ContainerResource"} or source is None or source.target is None:
        return False
    return source.target.type == "Utilization" or source.target.utilization is not None


def _from_readings(context: HvpaContext, hpa: HPA, readings: tuple[MetricReading, ...]) -> SizeProposal:
    steps = tuple([reading.step for reading in readings])
    broken = [reading for reading in readings if reading.proposal is None]
    missing = broken[0].error if broken else "" if readings else "there is no metric"
    pairs = list(zip(hpa.metrics or (), readings, strict=True))
    of_totals = [r.proposal for m, r in pairs if r.proposal is not None and makes_total(m)]
    of_counts = [r.proposal for m, r in pairs if r.proposal is not None and not makes_total(m)]
    return _proposal(context, hpa, steps, max(of_totals, default=None), max(of_counts, default=None), missing)


def _from_status(context: HvpaContext, hpa: HPA, advice: CountAdvice | Failure | None) -> SizeProposal:
    if advice is None or isinstance(advice, Failure):
        message = "there is no HorizontalPodAutoscaler for this workload" if advice is None else advice.message
        return _silent(message)
    if advice.current != context.replicas:
        return _silent(f"{advice.origin} was computed at {advice.current} replicas, not at {context.replicas}")
    sentence = f"According to {advice.origin} there should be {advice.desired} replicas."
    step = Step("recommend", "count", context.replicas, advice.desired, sentence, {"origin": advice.origin})
    if all(makes_total(metric) for metric in hpa.metrics or ()):
        return _proposal(context, hpa, (step,), advice.desired, None, "")
    return _proposal(context, hpa, (step,), None, advice.desired, "")


def _silent(message: str) -> SizeProposal:
    step = Step("recommend", "no-count", None, None, f"No number of replicas is recommended: {message}.")
    return SizeProposal(NAME, (step,), missing=message)


def _proposal(
    context: HvpaContext, hpa: HPA, steps: tuple[Step, ...], by_total: int | None, by_count: int | None, missing: str
) -> SizeProposal:
    low, high = hpa.min_replicas or 1, hpa.max_replicas or 1
    votes = [None if count is None else min(max(count, low), high) for count in (by_total, by_count)]
    totals = {} if votes[0] is None else _totals(context, votes[0])
    if votes[0] is not None and not totals:
        # Every container is switched off: that stops changes of sizes, not of the count.
        votes[1] = max(votes[0], votes[1] or 0)
    return SizeProposal(NAME, steps, totals, replicas=votes[1], missing=missing)


def _totals(context: HvpaContext, desired: int) -> dict[Place, int]:
    """The current total of each container and resource, scaled from the current to the desired count."""
    return {
        (one.container, resource): one.totals[resource] * desired // context.replicas
        for one in context.current_sizes
        for resource in RESOURCES
        if one.container not in context.switched_off and one.totals[resource]
    }
