"""Shows the simulated world as autoscalers see a cluster: as the same `Seen` that a dump or a real cluster gives."""

from collections.abc import Iterator
from math import inf
from typing import NamedTuple

from hypot.kinds.base import Ref
from hypot.kinds.metric_values import MetricValue
from hypot.policy.model.seen import (
    ClusterNode,
    Container,
    Controller,
    Ended,
    Failure,
    Owner,
    PendingResize,
    Pod,
    PodSample,
    Scale,
    Seen,
    UsageView,
)
from hypot.replay.policies.policy import Start
from hypot.replay.world.cohorts import PENDING, READY_STATES, STOPPING, WAITING, Cohorts
from hypot.replay.world.lifecycle import alive
from hypot.replay.world.parameters import Span
from hypot.replay.world.params import Params
from hypot.replay.world.signals import cpu_sample, is_sampled, memory_sample, pod_value, total_value
from hypot.replay.world.site import Site
from hypot.replay.world.tick import cap_of

NO_METRICS = Failure("the world has no metrics at this time")
# A removed pod may come back on a node that does not exist yet and is as large as needed.
ELSEWHERE = ClusterNode("elsewhere")


class Queries(NamedTuple):
    """The custom metrics that a policy asks for: from the name of the query to its signal."""

    pods: dict[str, int]
    objects: dict[str, int]
    external: dict[str, int]


class WorldObserver:
    """Observes one workload. Pods that did not change are not built again."""

    def __init__(
        self,
        target: Ref,
        first: Start,
        c: Cohorts,
        s: Site,
        p: Params,
        queries: Queries,
        gaps: tuple[Span, ...],
        epoch: float,
    ) -> None:
        self._c, self._s, self._p, self._queries, self._gaps, self._epoch = c, s, p, queries, gaps, epoch
        self._name, self._container = target.name or "", first.container
        self._owner = Owner("ReplicaSet", f"{self._name}-1")
        self._labels = dict(first.labels) or {"app": self._name}
        self._selector = first.selector or f"app={self._name}"
        self._restarting = first.restarts_on_resize
        unseen = {"used", "serials", "due", "started", "most_cpu", "backlog", "late", "heap", "share"}
        unseen |= {"cpu_seen", "heap_seen", "load_seen", "window_end", "peak", "oom_peak", "known_kill"}
        unseen |= {"stuck", "action", "taken", "leader", "mass"}
        self._findings = [column for name, column in zip(Cohorts._fields, c, strict=True) if name not in unseen]
        self._made: dict[tuple[object, ...], tuple[Pod, ...]] = {}

    @property
    def workload(self) -> str:
        return self._name

    def blind(self, now: float) -> bool:
        """Whether there are no metrics now."""
        return bool(self._gaps) and any(start <= now - self._epoch < end for start, end in self._gaps)

    def names(self, k: int) -> list[str]:
        """The pod names, in the order of their numbers."""
        c = self._c
        first = c.offset[k]
        return [f"{self._name}-1-{c.serial[k]:05}-{j:04}" for j in range(first, first + c.count[k])]

    def seen(self, i: int, now: float, usage: UsageView | None = None) -> Seen:
        """The observed state as of now, after tick `i`."""
        c, s = self._c, self._s
        pods = tuple(pod for k in range(c.used[0]) for pod in self._pods(k))
        replicas = s.asked[0]
        blind = self.blind(now)
        return Seen(
            now,
            Scale(replicas, alive(c), self._selector),
            pods,
            NO_METRICS if blind else dict(self._samples(i, now)),
            {key: NO_METRICS if blind else self._by_pod(signal, i, now) for key, signal in self._queries.pods.items()},
            {key: NO_METRICS if blind else self._total(signal, i) for key, signal in self._queries.objects.items()},
            {key: NO_METRICS if blind else (self._total(q, i),) for key, q in self._queries.external.items()},
            nodes={ELSEWHERE.name: ELSEWHERE, **dict(self._nodes())},
            controllers={(self._owner.kind, self._owner.name): Controller("ReplicaSet", self._owner.name, replicas)},
            template=(self._sized(s.written[0], s.written[1], s.written[2], s.written[3]),),
            usage=usage,
        )

    def _samples(self, i: int, now: float) -> Iterator[tuple[str, PodSample]]:
        c, p = self._c, self._p
        for k in range(c.used[0]):
            if not is_sampled(c, p, k, now):
                continue
            used = {"cpu": cpu_sample(c, p, k, i), "memory": memory_sample(c, p, k, i) * 1000}
            sample = PodSample(now - p.lag, p.window, ((self._container, used),), self._labels)
            for name in self.names(k):
                yield name, sample

    def _by_pod(self, signal: int, i: int, now: float) -> dict[str, MetricValue]:
        c, p = self._c, self._p
        found: dict[str, MetricValue] = {}
        for k in range(c.used[0]):
            if is_sampled(c, p, k, now):
                value = MetricValue(pod_value(c, self._s, p, signal, k, i), now - p.lag, p.window)
                found.update(dict.fromkeys(self.names(k), value))
        return found

    def _total(self, signal: int, i: int) -> int:
        return total_value(self._s, self._p, signal, i)

    def _nodes(self) -> Iterator[tuple[str, ClusterNode]]:
        """Each pod has the capacity that it can get to itself, so each pod has its own node here."""
        c = self._c
        for k in range(c.used[0]):
            if c.cpu_limit[k] >= 0 and c.memory_limit[k] >= 0:
                continue
            has = {"cpu": c.cpu[k], "memory": c.memory[k] * 1000}
            room = {"cpu": int(cap_of(c, self._p, k) * 1000), "memory": int(self._p.node_memory) * 1000}
            for name in self.names(k):
                yield name, ClusterNode(name, room, has)

    def _pods(self, k: int) -> tuple[Pod, ...]:
        key = tuple([column[k] for column in self._findings])
        found = self._made.get(key)
        if found is None:
            if len(self._made) > 4096:
                self._made.clear()
            containers = (self._contained(k),)
            found = self._made[key] = tuple([self._pod(k, name, containers) for name in self.names(k)])
        return found

    def _contained(self, k: int) -> Container:
        c, killed = self._c, self._c.killed_at[k]
        asked = self._sized(c.next_cpu[k], c.next_memory[k], c.next_cpu_limit[k], c.next_memory_limit[k])
        has = self._sized(c.cpu[k], c.memory[k], c.cpu_limit[k], c.memory_limit[k])
        return Container(
            self._container,
            asked.requests,
            asked.limits,
            has.requests,
            has.limits,
            Ended("OOMKilled", killed - c.killed_after[k], killed) if killed > -inf else None,
            c.crashes[k],
            self._restarting,
        )

    def _pod(self, k: int, name: str, containers: tuple[Container, ...]) -> Pod:
        c, life = self._c, self._c.life[k]
        pending, serves = life in PENDING, life in READY_STATES
        guaranteed = containers[0].actual_limits == containers[0].actual_requests
        return Pod(
            name,
            "Pending" if pending else "Running",
            life == STOPPING,
            None if life == WAITING else "True" if serves else "False",
            c.changed[k],
            None if life == WAITING else c.born[k],
            containers,
            labels=self._labels,
            owners=(self._owner,),
            uid=name,
            node="" if life == WAITING else name,
            resize=self._resize(k),
            qos="Guaranteed" if guaranteed else "Burstable",
        )

    def _resize(self, k: int) -> PendingResize | None:
        c = self._c
        if c.deferred[k] < inf:
            return PendingResize("deferred", c.deferred[k], "the node has no room")
        return PendingResize("in-progress") if c.resize_due[k] < inf else None

    def _sized(self, cpu: int, memory: int, cpu_limit: int, memory_limit: int) -> Container:
        limits = {"cpu": cpu_limit, "memory": memory_limit * 1000}
        return Container(
            self._container,
            {"cpu": cpu, "memory": memory * 1000},
            {resource: amount for resource, amount in limits.items() if amount >= 0},
        )
