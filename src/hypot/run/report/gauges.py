"""The last reconcile in the Prometheus text format. Nothing is stored: a series ends with its object."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import NamedTuple, get_args

from hypot.core.amount import CPU, MEMORY, to_unit
from hypot.core.bank.bank import SHADOW
from hypot.core.quantity import milli
from hypot.core.replicas.watermark import Side
from hypot.core.replicas.window import seconds_left
from hypot.kinds.autoscaler import WorkloadAutoscaler
from hypot.kinds.tortoise import Tortoise
from hypot.kinds.wpa import WPA, with_defaults
from hypot.kinds.wpa.fields import marks_of
from hypot.policy.model.autoscaler_state import AutoscalerState
from hypot.policy.model.decision import Decision, MetricReading, Step, condition_of
from hypot.policy.model.size import Size
from hypot.policy.model.tortoise_state import PERCENT, TortoiseState, key_of
from hypot.policy.stages.resolve import failures
from hypot.run.internal_errors import InternalErrors, Stage
from hypot.run.outcome import Outcome
from hypot.run.report import gauge_table as names
from hypot.serving.text_format import Sample, labelled, rendered, shown, sort_in

# The most series of one object. With all gauges of its kind, a WatermarkPodAutoscaler shows four metrics.
MOST_SERIES = 25
# How much is rendered before other tasks run: a few milliseconds of work.
OBJECTS_AT_ONCE = 20

# Steps that hold back a move; for a VerticalPodAutoscaler, the steps of pods that are left unchanged.
BLOCKING = frozenset(
    {
        "lifecycle-blocked",
        "forbidden-window",
        "delay",
        "hold-on-failure",
        "stabilise-up",
        "stabilise-down",
        "update-policy",
        "stabilization-window",
        "maintenance-window",
        "min-change",
        "paradoxical-scaling",
        "missing-data",
        "kept-count",
        "kept-size",
        "blind",
    }
)
BLOCKING_PODS = frozenset(
    {
        "no-controller",
        "replicas-unknown",
        "disruption-budget",
        "min-replicas",
        "eviction-requirements",
        "resize-not-allowed",
        "resize-deferred",
        "resize-infeasible",
        "resize-error",
        "older-vpa",
        "limits-unknown",
        "fits-nowhere",
        "pod-level-resources",
    }
)
# Steps that cut a size; for counts, a condition says it.
CUTTING = {"allowed": "CutAtAllowed", "fitted": "CutForPod"}


class Histogram(NamedTuple):
    """For each bound the number of values up to it, then the number of all values, and their sum."""

    buckets: Sequence[tuple[float, int]]
    number: int
    total: float


@dataclass(frozen=True, slots=True)
class MetricsSnapshot:
    """Everything that `/metrics` exposes now; `now` is the wall clock, ages and durations are in seconds."""

    now: float
    leads: bool = False
    outcomes: Sequence[Outcome] = ()
    # Whether to expose series for each object, or only those of the controller.
    of_objects: bool = True
    reconciles: int = 0
    reconcile_seconds: float | None = None
    decision_seconds: float | None = None
    reconcile_age: float | None = None
    # Verb, kind and class of the code (2xx, 4xx, none) -> how many.
    calls: Mapping[tuple[str, str, str], int] = field(default_factory=dict)
    stale_share: float | None = None
    governor_holding: int = 0
    state_unwritten: int | None = None
    state_used: float | None = None
    certificate_seconds: float | None = None
    # State -> how many.
    plans: Mapping[str, int] = field(default_factory=dict)
    webhook_seconds: Histogram | None = None
    errors: InternalErrors = field(default_factory=InternalErrors)


class SeriesGroup(NamedTuple):
    """Series that mean something only together, and what they are about."""

    about: str
    samples: Sequence[Sample]


def exposition(snapshot: MetricsSnapshot) -> Iterator[bytes]:
    """The text format, in slices: other tasks may run between two slices. A slice may be empty."""
    lines: dict[str, list[str]] = {}
    sort_in(controller_samples(snapshot), lines)
    outcomes = snapshot.outcomes if snapshot.of_objects else ()
    for first in range(0, len(outcomes), OBJECTS_AT_ONCE):
        for outcome in outcomes[first : first + OBJECTS_AT_ONCE]:
            try:
                sort_in(object_samples(outcome, snapshot.now), lines)
            except Exception as error:  # noqa: BLE001  the others are still exposed
                snapshot.errors.add(outcome.key, "report", error)
        yield b""
    yield from rendered(names.FAMILIES, lines)


def controller_samples(snapshot: MetricsSnapshot) -> Iterator[Sample]:
    """The series of the controller; unknown values are left out."""
    plain: dict[str, float | None] = {
        names.LEADER: int(snapshot.leads),
        names.RECONCILES: snapshot.reconciles,
        names.RECONCILE_SECONDS: snapshot.reconcile_seconds,
        names.DECISION_SECONDS: snapshot.decision_seconds,
        names.RECONCILE_AGE: snapshot.reconcile_age,
        names.STALE_SHARE: snapshot.stale_share,
        names.GOVERNOR_HOLDING: snapshot.governor_holding,
        names.STATE_UNWRITTEN: snapshot.state_unwritten,
        names.STATE_USED: snapshot.state_used,
        names.CERTIFICATE: snapshot.certificate_seconds,
    }
    yield from [Sample(name, "", value) for name, value in plain.items() if value is not None]
    for (verb, kind, code), count in sorted(snapshot.calls.items()):
        yield Sample(names.API_CALLS, labelled(verb=verb, kind=kind, code=code), count)
    for kind, count in sorted(Counter(outcome.key[0] for outcome in snapshot.outcomes).items()):
        yield Sample(names.OBJECTS, labelled(kind=kind), count)
    for stage in get_args(Stage):
        yield Sample(names.INTERNAL_ERRORS, labelled(stage=stage), snapshot.errors.total[stage])
    for state, count in sorted(snapshot.plans.items()):
        yield Sample(names.PLANS, labelled(state=state), count)
    if snapshot.webhook_seconds is not None:
        yield from _histogram(names.WEBHOOK_SECONDS, snapshot.webhook_seconds)


def _histogram(name: str, reported: Histogram) -> Iterator[Sample]:
    for bound, count in (*reported.buckets, (inf, reported.number)):
        yield Sample(name, labelled(le=shown(bound)), count, "_bucket")
    yield Sample(name, "", reported.total, "_sum")
    yield Sample(name, "", reported.number, "_count")


def object_samples(outcome: Outcome, now: float) -> list[Sample]:
    """The series of one object, at most MOST_SERIES."""
    kept, _ = _fitting(_groups(outcome, now))
    return [sample for group in kept for sample in group.samples]


def dropped_series(outcome: Outcome) -> list[str]:
    """What an object's series that do not fit are about."""
    if _most_series(outcome) <= MOST_SERIES:
        return []
    _, dropped = _fitting(_groups(outcome, 0.0))
    return [group.about for group in dropped]


def _most_series(outcome: Outcome) -> int:
    """At least as many as the object has; each reconcile asks for it, so nothing is formatted here.

    Two counts, one limit and six of the object's kind; one for each reason; four for each metric, six for a container.
    """
    decision = outcome.decision
    reasons = len(outcome.holds) + len(decision.steps)
    return 9 + reasons + 4 * len(decision.readings) + 6 * len(decision.sizes)


def _fitting(groups: Iterable[SeriesGroup]) -> tuple[list[SeriesGroup], list[SeriesGroup]]:
    """The groups that fit and those that do not: a value without its watermarks would mislead."""
    kept: list[SeriesGroup] = []
    dropped: list[SeriesGroup] = []
    room = MOST_SERIES
    for group in groups:
        fits = len(group.samples) <= room
        (kept if fits else dropped).append(group)
        room -= len(group.samples) if fits else 0
    return kept, dropped


def _groups(outcome: Outcome, now: float) -> Iterator[SeriesGroup]:
    """All series of one object, the most important first."""
    kind, namespace, name = outcome.key
    own = labelled(kind=kind, object_namespace=namespace, object_name=name)
    yield SeriesGroup("replicas", list(_counts(outcome.decision, own)))
    yield from _reasons(outcome, own)
    if isinstance(outcome.autoscaler, WPA):
        yield from _watermarks(outcome, outcome.autoscaler, now)
    past = outcome.state.tortoise
    if isinstance(outcome.autoscaler, Tortoise):
        yield SeriesGroup("phase", list(_phase(outcome.decision, own)))
        yield SeriesGroup("learned", list(_learned(outcome.decision, past, own)))
    if isinstance(outcome.autoscaler, WorkloadAutoscaler) and outcome.state.autoscaler is not None:
        about = outcome.autoscaler.readable()
        yield SeriesGroup("demand and prices", list(_prices(about, outcome.state.autoscaler, own)))
    yield from _containers(outcome.decision, {} if past is None else past.targets, own)


def _counts(decision: Decision, own: str) -> Iterator[Sample]:
    for name, count in ((names.CURRENT_REPLICAS, decision.current), (names.DESIRED_REPLICAS, decision.desired)):
        if count is not None:
            yield Sample(name, own, count)


def _reasons(outcome: Outcome, own: str) -> Iterator[SeriesGroup]:
    """What limits, blocks and holds; a reason that does not apply has no series."""
    reported = (
        (names.HELD, {hold.reason for hold in outcome.holds}),
        (names.LIMITED, limited_by(outcome.decision)),
        (names.BLOCKED, blocked_by(outcome.decision)),
    )
    for name, reasons in reported:
        for reason in sorted(reasons):
            yield SeriesGroup(f"{name} {reason}", [Sample(name, f"{own},{labelled(reason=reason)}", 1)])


def limited_by(decision: Decision) -> set[str]:
    """The bounds that cut the proposal."""
    limited = condition_of(decision.conditions, "ScalingLimited")
    reasons = {limited.reason} if limited is not None and limited.status == "True" else set()
    return reasons | {CUTTING[step.rule] for step in decision.steps if step.rule in CUTTING}


def blocked_by(decision: Decision) -> set[str]:
    """The rules that hold back a move now."""
    return {step.rule for step in decision.steps if _blocks(step)}


def _blocks(step: Step) -> bool:
    action = step.numbers.get("action")
    return step.rule in BLOCKING if action is None else action == "none" and step.rule in BLOCKING_PODS


def _phase(decision: Decision, own: str) -> Iterator[Sample]:
    phase = decision.reported.get("tortoisePhase")
    if isinstance(phase, str) and phase:
        yield Sample(names.PHASE, f"{own},{labelled(phase=phase)}", 1)


def _learned(decision: Decision, past: TortoiseState | None, own: str) -> Iterator[Sample]:
    """The bounds are those of the slot, before what else raises or holds them."""
    for step in decision.steps:
        if step.rule == "slot":
            yield Sample(names.LEARNED_LOW, own, int(step.numbers["minReplicas"]))
            yield Sample(names.LEARNED_HIGH, own, int(step.numbers["maxReplicas"]))
    if past is not None:
        yield Sample(names.LEARNED_SLOTS, own, min(each.known() for each in past.learned))
        yield Sample(names.LEFT_OUT_SLOTS, own, max(len(each.left_out) for each in past.learned))


def _prices(autoscaler: WorkloadAutoscaler, state: AutoscalerState, own: str) -> Iterator[Sample]:
    """The demand, and of each axis what is planned and what the deciding rule has cost."""
    learned, counts, sizes, proposal, _ = state.past
    if proposal.demand[0] >= 0.0:
        yield Sample(names.DEMAND, own, proposal.demand[0])
        yield Sample(names.KAPPA, own, learned.kappa[0])
    axes = (("replicas", autoscaler.counts, counts), ("size", autoscaler.sizes, sizes))
    for (axis, is_set, bank), planned in zip(axes, proposal.planned, strict=True):
        labels = f"{own},{labelled(axis=axis)}"
        if is_set and planned >= 0.0:
            yield Sample(names.PLANNED_DEMAND, labels, planned)
        if is_set and bank.priced[0] and bank.prices[SHADOW] > 0.0:
            yield Sample(names.RULE_PRICE, labels, bank.prices[bank.rule[0]] / bank.prices[SHADOW])


def _containers(decision: Decision, targets: Mapping[str, int], own: str) -> Iterator[SeriesGroup]:
    """The requested cores and bytes of each container, current and desired, and its targets."""
    desired = {size.container: size for size in decision.desired_sizes}
    for size in decision.sizes:
        both = (("current", size), ("desired", desired.get(size.container, size)))
        cpu = _requests(names.CONTAINER_CPU, CPU, both, own)
        memory = _requests(names.CONTAINER_MEMORY, MEMORY, both, own)
        aims = _targets(size.container, targets, own)
        yield SeriesGroup(f"container {size.container}", [*cpu, *memory, *aims])


def _targets(container: str, targets: Mapping[str, int], own: str) -> Iterator[Sample]:
    for resource in (CPU, MEMORY):
        percent = targets.get(key_of((container, resource)))
        if percent is not None:
            labels = f"{own},{labelled(container=container, resource=resource)}"
            yield Sample(names.TARGET_UTILIZATION, labels, percent / PERCENT)


def _requests(name: str, resource: str, sizes: Iterable[tuple[str, Size]], own: str) -> Iterator[Sample]:
    for at, size in sizes:
        amount = size.requests.get(resource)
        if amount is not None:
            labels = f"{own},{labelled(container=size.container, at=at)}"
            yield Sample(name, labels, to_unit(resource, amount))


def _watermarks(outcome: Outcome, wpa: WPA, now: float) -> Iterator[SeriesGroup]:
    """The gauges of this kind's original controller, under their original names."""
    decision, target = outcome.decision, outcome.decision.target
    own = labelled(
        wpa_name=wpa.name,
        wpa_namespace=wpa.namespace,
        resource_namespace=target.namespace,
        resource_name=target.name,
        resource_kind=target.kind,
    )
    if decision.desired is not None:
        yield SeriesGroup(names.EFFECTIVE, [Sample(names.EFFECTIVE, own, decision.desired)])
    yield SeriesGroup(names.RESTRICTED, list(_restricted(decision, own)))
    yield SeriesGroup(names.COUNTDOWN, list(_countdown(with_defaults(wpa), outcome.state.last_scale, now, own)))
    yield from _metrics(wpa, decision.readings, own)


def _restricted(decision: Decision, own: str) -> Iterator[Sample]:
    """Each reason is 1 or 0, so that it resets by itself; no series if a metric cannot be read."""
    readings = decision.readings
    if not readings or failures(readings):
        return
    rules = {step.rule for step in decision.steps}
    reasons = {
        "within_bounds": all(each.side == Side.WITHIN and not each.converging for each in readings),
        "upscale_capping": "scale-up-limit" in rules,
        "downscale_capping": "scale-down-limit" in rules,
    }
    for reason, restricts in reasons.items():
        yield Sample(names.RESTRICTED, f"{own},{labelled(reason=reason)}", int(restricts))


def _countdown(wpa: WPA, last_scale: float | None, now: float, own: str) -> Iterator[Sample]:
    """Both windows restart with any move; before the first move there is nothing to wait for."""
    if last_scale is None:
        return
    for transition, window in (("upscale", wpa.up_forbidden_window), ("downscale", wpa.down_forbidden_window)):
        if isinstance(window, int | float):
            left = seconds_left(last_scale, window, now)
            yield Sample(names.COUNTDOWN, f"{own},{labelled(transition=transition)}", left)


def _metrics(wpa: WPA, readings: Sequence[MetricReading], own: str) -> Iterator[SeriesGroup]:
    """Four series for each metric that could be read; of two metrics with one name, the first."""
    sources = [wpa.recommender] if wpa.recommender is not None else [metric.source for metric in wpa.metrics or ()]
    reported: set[str] = set()
    for source, reading in zip(sources, readings, strict=False):
        if source is None or reading.value is None or reading.proposal is None or reading.description in reported:
            continue
        reported.add(reading.description)
        labels = f"{own},{labelled(metric_name=reading.description)}"
        high, low = marks_of(source.high, source.low)
        if high is None or low is None:
            continue
        values = {
            names.VALUE: reading.value,
            names.HIGH: milli(high),
            names.LOW: milli(low),
            names.PROPOSAL: reading.proposal,
        }
        series = [Sample(name, labels, value) for name, value in values.items()]
        yield SeriesGroup(f"metric {reading.description}", series)
