"""A workload called web with its Tortoise: its pods, demand and HPA, and what was learned, pass by pass.

Demand is the usage of all pods together, in millicores. A target of 70 % turns it into a need.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from math import ceil
from typing import Any

from hypot.core.instant import show_time
from hypot.kinds.hpa import HPA
from hypot.policy.decide import decide
from hypot.policy.families import seen_by
from hypot.policy.model.decision import Decision
from hypot.policy.model.learned import Learned, SlotLayout
from hypot.policy.model.seen import Seen
from hypot.policy.model.settings import Settings
from hypot.policy.model.state import State
from hypot.policy.model.tortoise_state import TortoiseState
from hypot.policy.observe.snapshot import Snapshot
from unit.policy.sizes_world import DAY, HOUR, LABELS, MI, NOW, TARGET, advised, box, made, node, pod, vpa, workload

WEEK = 7 * DAY
NAME = "tortoise-hpa-web"
PREFIX = "hypot.dev/tortoise-"
# One change may shrink a pod by as much as it likes.
AT_ONCE = {f"{PREFIX}max-scaling-down-ratio": "0"}
# The settings of the published examples: 3 replicas at least, 10 preferred, 5 cores at most.
EXAMPLE = {**AT_ONCE, f"{PREFIX}preferred-max-replicas": "10", f"{PREFIX}maximum-cpu-request": "5"}
# cpu alone, by replicas.
BY_CPU = [{"containerName": "app", "policy": {"cpu": "Horizontal", "memory": "Off"}}]
PERCENT = 100


def settings_by(annotations: Mapping[str, str]) -> dict[str, str]:
    """The annotations that these settings have: `max_replicas` is `hypot.dev/tortoise-max-replicas`."""
    return {f"{PREFIX}{name.replace('_', '-')}": str(value) for name, value in annotations.items()}


def tortoise(mode="Auto", annotations=None, name="web", **spec):
    refs = {"scaleTargetRef": TARGET, **spec.pop("refs", {})}
    body = {"targetRefs": refs, "updateMode": mode, **spec}
    return made("autoscaling.mercari.com/v1beta3", "Tortoise", name, body, annotations=annotations or {})


def policy(container="app", cpu="Horizontal", memory="Off"):
    return {"containerName": container, "policy": {"cpu": cpu, "memory": memory}}


def least(container="app", most=None, **amounts):
    """The bounds of a container's requests."""
    bounds = {"minAllocatedResources": amounts} if amounts else {}
    return {"containerName": container, **bounds, **({"maxAllocatedResources": most} if most else {})}


def container_metric(container="app", percent=70, resource="cpu"):
    target = {"type": "Utilization", "averageUtilization": percent}
    source = {"name": resource, "container": container, "target": target}
    return {"type": "ContainerResource", "containerResource": source}


def external_metric(name, value="70"):
    return {"type": "External", "external": {"metric": {"name": name}, "target": {"type": "Value", "value": value}}}


def hpa(low=3, high=20, *metrics, name=NAME, status=None, annotations=None, **spec):
    body = {"scaleTargetRef": TARGET, "minReplicas": low, "maxReplicas": high, **spec}
    body["metrics"] = list(metrics) or [container_metric()]
    return made("autoscaling/v2", "HorizontalPodAutoscaler", name, body, status, annotations=annotations or {})


def without_metrics(since, reason="FailedGetContainerResourceMetric"):
    """The status of an HPA that has no metrics since a time."""
    condition = {"type": "ScalingActive", "status": "False", "reason": reason, "lastTransitionTime": show_time(since)}
    return {"conditions": [condition]}


def learned(needs: Iterable[Any], layout=None, until=NOW, place="app/cpu") -> Learned:
    """What is known after as many weeks as there are needs, each in millicores, or why it is unknown.

    A need may be a function of the time.
    """
    layout, needs = layout or SlotLayout(), list(needs)
    found = Learned.begun(layout, place, until - len(needs) * WEEK)
    step = layout.hours * HOUR
    begin = until - until % (24 * HOUR)
    for week, needed in enumerate(needs):
        at = begin - (len(needs) - week) * WEEK
        for _ in range(int(WEEK / step)):
            value = needed(at) if callable(needed) else needed
            found = found.observed(at, *((None, value) if isinstance(value, str) else (value, None)))
            at += step
    # The last slot ends.
    return found.observed(begin, None, "no-pods") if needs else found


def known(
    needs: Iterable[Any] = (2000,), *, phase="Working", layout=None, target=70, places=("app/cpu",), low=3, **more
):
    """The state of a Tortoise that has gathered long enough, with targets that were computed just now.

    The needs are those of the first place; of others nothing is known.
    """
    first = replace(learned(needs, layout, **more), tally=None)
    others = [Learned.begun(first.layout, place, first.since) for place in places if place != first.place]
    past = TortoiseState(
        (first, *others),
        phase,
        dict.fromkeys(places, NOW - 5 * WEEK),
        dict.fromkeys(places, target),
        NOW,
        low=low,
    )
    return State(tortoise=past)


@dataclass
class World:
    """The workload, as the next pass observes it."""

    replicas: int = 4
    # Of all pods together, in millicores, by container.
    demand: Mapping[str, int] = field(default_factory=lambda: {"app": 1400})
    # The request of each container, in millicores and bytes, and its limits.
    sizes: Mapping[str, Mapping[str, int]] = field(default_factory=lambda: {"app": {"cpu": 1000, "memory": 1024 * MI}})
    limits: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    # What a VPA recommends for each container; None for no VPA.
    peak: Mapping[str, Mapping[str, int]] | None = None
    tortoise: Mapping[str, Any] = field(default_factory=tortoise)
    hpa: Mapping[str, Any] | None = field(default_factory=hpa)
    state: State = field(default_factory=known)
    now: float = NOW
    settings: Settings = field(default_factory=Settings)
    more: tuple[Mapping[str, Any], ...] = ()
    # The memory that each container of a pod uses.
    memory: int = 512 * MI
    # How many pods have a sample; by default all that serve.
    measured: int | None = None
    # How many pods have just started: they have no sample and take no load yet.
    started: int = 0
    # The status of each pod, beyond what is usual.
    pod_status: Mapping[str, Any] = field(default_factory=dict)
    # Containers, pods and samples in the opposite order.
    backwards: bool = False

    def boxes(self) -> list[dict[str, Any]]:
        shown = {name: _shown(size) for name, size in self.sizes.items()}
        limits = {name: _shown(size) for name, size in self.limits.items()}
        return [
            {**box(name, **requests), "resources": {"requests": requests, "limits": limits.get(name, {})}}
            for name, requests in self._ordered(shown.items())
        ]

    @property
    def serving(self) -> int:
        return self.replicas - self.started

    def _ordered(self, items):
        return list(items)[::-1] if self.backwards else list(items)

    def objects(self) -> list[Mapping[str, Any]]:
        boxes = self.boxes()
        ready = {"type": "Ready", "status": "True", "lastTransitionTime": show_time(NOW - DAY)}
        status = {"conditions": [ready], "startTime": show_time(NOW - 2 * DAY), **self.pod_status}
        young = {**status, "startTime": show_time(self.now - 1)}
        pods = [pod(each, *boxes, status=status if each < self.serving else young) for each in range(self.replicas)]
        measured = self.serving if self.measured is None else self.measured
        samples = [self._sample(each) for each in range(measured)]
        found = [
            self.tortoise,
            workload("Deployment", self.replicas, *boxes),
            workload("ReplicaSet", self.replicas, *boxes, name="web-5d9c"),
            *self._ordered(pods),
            *self._ordered(samples),
            node(cpu="1000", memory="9Ti"),
            *self.more,
        ]
        if self.peak is not None:
            figures = [
                {"containerName": name, "target": _shown(each), "uncappedTarget": _shown(each)}
                for name, each in self._ordered(self.peak.items())
            ]
            found.append(vpa("Off", status=advised(*figures, RecommendationProvided="True")))
        return [*found, *([self.hpa] if self.hpa is not None else [])]

    def _sample(self, index: int) -> dict[str, Any]:
        """Demand is spread evenly; the first pods take what is left over."""
        used = [
            {
                "name": name,
                "usage": _shown({"cpu": total // self.serving + (index < total % self.serving), "memory": self.memory}),
            }
            for name, total in self._ordered(self.demand.items())
        ]
        body = {"timestamp": show_time(self.now - 15), "window": "15s", "containers": used}
        return {**made("metrics.k8s.io/v1beta1", "PodMetrics", f"web-{index}", labels=LABELS), **body}

    def seen(self) -> tuple[Any, Seen]:
        snapshot = Snapshot(self.objects())
        chosen = next(one for one in snapshot.autoscalers() if one.KIND == "Tortoise")
        return chosen, seen_by(snapshot, chosen, self.now, self.settings)

    def decided(self) -> Decision:
        """Decide, without doing anything."""
        return decide(*self.seen(), self.state, self.settings)[0]

    def step(self, seconds: float = 0.0) -> Decision:
        """Decide, do what was decided, and go on by some seconds."""
        chosen, seen = self.seen()
        decision, self.state = decide(chosen, seen, self.state, self.settings)
        if not decision.dry_run:
            self._do(decision)
        self.now += seconds
        return decision

    def _do(self, decision: Decision) -> None:
        self.state = self.state.acted(decision, self.now)
        if decision.desired is not None:
            self.replicas = decision.desired
        for size in decision.desired_sizes:
            self.sizes = {**self.sizes, size.container: size.requests}
            if size.limits:
                self.limits = {**self.limits, size.container: size.limits}
        if decision.hpa is not None:
            self.hpa = decision.hpa.after.to_dict()

    def follow(self, tolerance: float = 0.1) -> None:
        """The controller of the HPA sets the count: by its targets and bounds, without its rate limits."""
        read = HPA.from_dict(self.hpa)
        asked = []
        for metric in read.metrics or ():
            source = metric.container_resource
            size, percent = self.sizes[source.container]["cpu"], source.target.utilization
            ratio = self.demand[source.container] * PERCENT / (self.replicas * size * percent)
            asked.append(ceil(ratio * self.replicas) if abs(ratio - 1) > tolerance else self.replicas)
        self.replicas = min(max(*asked, read.min_replicas), read.max_replicas)


def _shown(amounts: Mapping[str, int]) -> dict[str, str]:
    return {r: f"{amount}m" if r == "cpu" else str(amount) for r, amount in amounts.items()}


def bounds(decision: Decision) -> tuple[int | None, int | None]:
    """The bounds that the HPA is to have."""
    return decision.hpa.after.min_replicas, decision.hpa.after.max_replicas


def targets(decision: Decision) -> list[int]:
    """The targets that its container metrics are to have, in percent."""
    metrics = [metric.container_resource for metric in decision.hpa.after.metrics or ()]
    return [each.target.utilization for each in metrics if each is not None]


def phase(decision: Decision) -> str:
    return decision.status["tortoisePhase"]


def cpu(decision: Decision, container="app") -> int:
    return next(size.requests["cpu"] for size in decision.desired_sizes if size.container == container)


def memory(decision: Decision, container="app") -> int:
    return next(size.requests["memory"] for size in decision.desired_sizes if size.container == container) // MI


def rules(decision: Decision) -> list[str]:
    return [step.rule for step in decision.steps]


def conditions_of(decision: Decision) -> dict[str, str]:
    return {each.type: each.status for each in decision.conditions}
