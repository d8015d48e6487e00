"""What is tried instead of what a workload has today. All of it is `Auto`: what only reports would change nothing."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from hypot.kinds.autoscaler import WorkloadAutoscaler
from hypot.kinds.autoscaler.fields import (
    LATE_AFTER,
    LATE_AFTER_RANGE,
    LATE_PRICE,
    LATE_PRICE_RANGE,
)
from hypot.kinds.base import InvalidAutoscaler
from hypot.kinds.catalogue import Autoscaler, sets_sizes
from hypot.kinds.hpa import HPA
from hypot.kinds.hpa.fields import Metric, cpu
from hypot.kinds.node import replaced
from hypot.kinds.vpa.fields import ContainerPolicy
from hypot.replay.advice.calibration import demand_is_requests
from hypot.replay.advice.sizes import sizes_shown
from hypot.replay.advice.today import ScaledWorkload, cpu_targets
from hypot.replay.policies.make import hindrances, made
from hypot.replay.policies.policy import Policy
from hypot.replay.policies.start import Found
from hypot.replay.traces.trace import Trace
from hypot.replay.world.parameters import World

AUTOSCALER, ONE_AXIS, PAIR, TUNED, RIGHT_SIZED = "autoscaler", "autoscaler replicas", "pair", "tuned hpa", "right-sized"
HPA_TARGETS = range(50, 91, 10)
# How busy requests may keep a pod of a pair, on average.
PAIR_SHARES = (0.5, 0.65, 0.8)

# Makes the two autoscalers of a pair: requests per second of each pod.
PairOf = Callable[[str], tuple[Autoscaler, ...]]


class Candidates(NamedTuple):
    """What is tried, variants of one choice together, and what cannot be tried and why."""

    families: dict[str, tuple[Policy, ...]]
    left_out: tuple[str, ...]

    @property
    def policies(self) -> list[Policy]:
        return [one for some in self.families.values() for one in some]


def candidates(subject: ScaledWorkload, today: Policy, trace: Trace, world: World, pair_of: PairOf) -> Candidates:
    """Every choice that can be replayed and that differs from today."""
    making = _TryOut(subject, today, world)
    making.take(AUTOSCALER, lambda: [("", [_autoscaler(subject, world, both=True)])])
    making.take(ONE_AXIS, lambda: [("", [_autoscaler(subject, world, both=False)])])
    if demand_is_requests(trace, world):
        making.take(PAIR, lambda: [(rate, pair_of(rate)) for rate in _rates(today, world)])
    making.take(TUNED, lambda: [(f"cpu={one}", [_tuned(subject, today, one)]) for one in HPA_TARGETS])
    if not any(sets_sizes(one) for one in today.autoscalers):
        making.families[RIGHT_SIZED] = tuple(_right_sized(today, trace, world))
    return Candidates({name: some for name, some in making.families.items() if some}, tuple(making.left_out))


class _TryOut:
    def __init__(self, subject: ScaledWorkload, today: Policy, world: World) -> None:
        self._subject, self._today, self._world = subject, today, world
        self.families: dict[str, tuple[Policy, ...]] = {}
        self.left_out: list[str] = []

    def take(self, family: str, make: Callable[[], Iterable[tuple[str, Iterable[Autoscaler]]]]) -> None:
        """The variants of a choice: what tells each from the others, and its autoscalers."""
        found = list[Policy]()
        try:
            for tail, autoscalers in make():
                policy = self._policy(family, tail, tuple(autoscalers))
                if policy.autoscalers != self._today.autoscalers:
                    found.append(policy)
        except (InvalidAutoscaler, _HinderedError) as error:
            self.left_out.append(f"{family} is not tried: {error}")
            return
        self.families[family] = tuple(found)

    def _policy(self, family: str, tail: str, autoscalers: Sequence[Autoscaler]) -> Policy:
        start, placed = self._today.workload, [(one, None) for one in autoscalers]
        wrong = hindrances(family, placed, Found(start), self._world)
        if wrong:
            raise _HinderedError("; ".join(dict.fromkeys(one.message for one in wrong)))
        return replace(made(f"{family} {tail}".strip(), placed, start, ()), family=family)


class _HinderedError(Exception):
    """A choice that this world cannot replay."""


def _autoscaler(subject: ScaledWorkload, world: World, *, both: bool) -> WorkloadAutoscaler:
    """The one that the manifests have and that only reports, else a new one with the bounds of today."""
    written = [one for one in subject.autoscalers if isinstance(one, WorkloadAutoscaler)]
    if written and both:
        return replaced(written[0], update_mode="Auto")
    low, high = subject.bounds
    after = f"{round(1000 * _within(world.service.deadline, LATE_AFTER_RANGE))}ms"
    price = _within(world.prices.late, LATE_PRICE_RANGE)
    bounded = [one for one in map(_bounds, subject.containers) if one is not None] if both else []
    return WorkloadAutoscaler(
        subject.target,
        mode="Auto",
        axes=None if both else "Replicas",
        min_replicas=low,
        max_replicas=high,
        containers=bounded or None,
        late_after=None if after == LATE_AFTER else after,
        late_price=None if price == LATE_PRICE else price,
        namespace=subject.namespace or None,
    )


def _bounds(written: ContainerPolicy) -> ContainerPolicy | None:
    """What bounds a size; None if it bounds nothing."""
    if not (written.min_allowed or written.max_allowed or written.mode):
        return None
    return replaced(written, controlled_values=None)


def _within(value: float, span: tuple[float, float]) -> float:
    return min(max(value, span[0]), span[1])


def _rates(today: Policy, world: World) -> Iterator[str]:
    """Requests per second of a pod, as quantities."""
    full = today.workload.cpu / 1000.0 / world.service.work
    for share in PAIR_SHARES:
        thousandths = max(round(full * share * 1000), 1)
        yield str(round(thousandths / 1000)) if thousandths >= 10_000 else f"{thousandths}m"


def _tuned(subject: ScaledWorkload, today: Policy, target: int) -> HPA:
    """The HPA that there is, with another target, else a new one with the bounds of today."""
    metric = cpu(utilization=target)
    written = [one for one in today.autoscalers if isinstance(one, HPA)]
    if written:
        return replaced(written[0], metrics=_with_target(written[0], metric))
    low, high = subject.bounds
    return HPA(
        subject.target,
        min_replicas=low,
        max_replicas=high,
        metrics=[metric],
        namespace=subject.namespace or None,
    )


def _with_target(hpa: HPA, metric: Metric) -> tuple[Metric, ...]:
    """Its metrics, with this one instead of that of cpu. What has none goes by cpu alone."""
    if not cpu_targets(hpa) or not hpa.metrics:
        return (metric,)
    return tuple([metric if _is_cpu(one) else one for one in hpa.metrics])


def _is_cpu(metric: Metric) -> bool:
    return metric.resource is not None and metric.resource.name == "cpu"


def _right_sized(today: Policy, trace: Trace, world: World) -> Iterator[Policy]:
    """Today's autoscaler or count, on pods of the size that their usage shows."""
    start = today.workload
    for size in sizes_shown(today, trace, world):
        same = start.cpu_limit is not None and start.cpu_limit <= start.cpu
        limit = size if same else start.cpu_limit and max(start.cpu_limit, size)
        resized = replace(start, cpu=size, cpu_limit=limit)
        yield replace(today, name=f"{RIGHT_SIZED} {size}m", workload=resized, family=RIGHT_SIZED)
